import { isNotice, type ProgramStart } from "./participant-start.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

/** What the session's worker asks of the page, which alone can make frames. */
export type FrameRequest =
  | {
      readonly ask: "launch";
      readonly frame: string;
      readonly start: ProgramStart["start"];
      readonly module: string | null;
      readonly port: MessagePort;
    }
  | { readonly ask: "end"; readonly frame: string };

/** What the page answers: how it goes with a frame. */
export type FrameAnswer =
  | { readonly frame: string; readonly state: "serving" | "stopped" }
  | { readonly frame: string; readonly state: "failed"; readonly message: string };

/**
 * The frames in which the isolated participants of one session run. Each has `sandbox="allow-scripts"`: no origin, so no
 * storage, no cookies and no way to the page around it but messages. Its script and its wasm come from the page, so that
 * no server needs to allow requests without an origin.
 */
export class IsolatedParticipants {
  readonly #frames = new Map<string, HTMLIFrameElement>();
  readonly #listening = new AbortController();
  /** Tells of a frame that somebody else removes; the end of its port may be noticed much later. */
  readonly #removals = new MutationObserver(() => this.#missRemoved());
  readonly #program: URL;
  readonly #wasm: URL;
  readonly #port: MessagePort;
  #bytes: Promise<ArrayBuffer> | undefined;

  /** Serves the session's worker at the other end of `port`. */
  constructor(port: MessagePort, program: URL, wasm: URL) {
    this.#port = port;
    this.#program = program;
    this.#wasm = wasm;
    port.onmessage = ({ data }: MessageEvent<FrameRequest>) => {
      if (data.ask === "end") this.#remove(data.frame);
      else this.#launch(data);
    };
  }

  /** Removes every frame. */
  close(): void {
    this.#listening.abort();
    this.#removals.disconnect();
    this.#port.close();
    for (const frame of [...this.#frames.keys()]) this.#remove(frame);
  }

  #launch(request: FrameRequest & { ask: "launch" }): void {
    const name = request.frame;
    const element = document.createElement("iframe");
    element.sandbox.add("allow-scripts");
    element.hidden = true;
    element.title = `participant ${request.start.participantId} of session ${request.start.sessionId}`;
    element.srcdoc = `<!doctype html><script src="${attribute(this.#program.href)}"></script>`;
    this.#frames.set(name, element);
    const { signal } = this.#listening;
    const hear = ({ data, source }: MessageEvent) => {
      if (source === null || source !== element.contentWindow || !isNotice(data)) return;
      if (data.wellwritten === "loaded") {
        this.#start(element, request).catch((thrown: unknown) => this.#failed(name, thrown));
      } else if (data.wellwritten === "failed") {
        this.#tell({ frame: name, state: "failed", message: data.message });
      } else {
        this.#tell({ frame: name, state: data.wellwritten });
      }
    };
    addEventListener("message", hear, { signal });
    const place = document.body ?? document.documentElement;
    place.append(element);
    this.#removals.observe(place, { childList: true });
  }

  #missRemoved(): void {
    for (const [frame, element] of this.#frames) {
      if (element.isConnected) continue;
      this.#frames.delete(frame);
      this.#tell({ frame, state: "failed", message: "its frame was removed from the page" });
    }
  }

  async #start(
    element: HTMLIFrameElement,
    { start, module, port }: FrameRequest & { ask: "launch" },
  ): Promise<void> {
    this.#bytes ??= fetched(this.#wasm).then((response) => response.arrayBuffer());
    const text = module === null ? null : await (await fetched(module)).text();
    const message: ProgramStart = {
      wellwritten: "start",
      start,
      wasm: await this.#bytes,
      module: text === null ? null : { text },
      port,
    };
    element.contentWindow?.postMessage(message, "*", [port]);
  }

  #failed(frame: string, thrown: unknown): void {
    this.#tell({ frame, state: "failed", message: WellwrittenError.from(thrown).message });
  }

  #tell(answer: FrameAnswer): void {
    this.#port.postMessage(answer);
  }

  #remove(name: string): void {
    this.#frames.get(name)?.remove();
    this.#frames.delete(name);
  }
}

async function fetched(url: string | URL): Promise<Response> {
  const response = await fetch(url);
  if (response.ok) return response;
  const message = `${url} could not be fetched: ${response.status} ${response.statusText}`;
  throw new WellwrittenError("LOAD_FAILED", message, { wasmUrl: String(url) });
}

function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
}
