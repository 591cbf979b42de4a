/**
 * What runs in a participant's worker or isolated frame, as one script without imports. It waits to be told who it is, then
 * serves one participant over the port it was given until that closes.
 */

import start, { onPanic, serveParticipant } from "#wasm/participant";
import { declarationOf, definitionIn } from "./participant-definition.ts";
import type { ProgramNotice, ProgramStart } from "./participant-start.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

/** Whoever started this program: the window around the frame, or the worker that made this one. */
const frame = "document" in globalThis ? globalThis.parent : undefined;

function tell(notice: ProgramNotice): void {
  // The frame has no origin, and nothing in a notice is secret.
  if (frame !== undefined) frame.postMessage(notice, "*");
  else (globalThis as unknown as { postMessage(notice: ProgramNotice): void }).postMessage(notice);
}

function failed(thrown: unknown): void {
  tell({ wellwritten: "failed", message: WellwrittenError.from(thrown).message });
}

async function serve({ start: identity, wasm, module, port }: ProgramStart): Promise<void> {
  await start({ module_or_path: wasm });
  onPanic((message: string) => failed(message));
  let handlers: object | undefined;
  let declaration: unknown;
  if (module !== null) {
    const { role } = identity;
    const url = "text" in module ? blobOf(module.text) : module.url;
    handlers = await definitionIn(url, role);
    declaration = await declarationOf(handlers, role, identity);
  }
  const serving = serveParticipant(identity, port, declaration, handlers);
  tell({ wellwritten: "serving" });
  await serving;
  tell({ wellwritten: "stopped" });
}

function blobOf(text: string): string {
  return URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
}

let started = false;
globalThis.addEventListener("message", (event) => {
  const message = (event as MessageEvent<ProgramStart>).data;
  if (frame !== undefined && (event as MessageEvent).source !== frame) return;
  if (started || message?.wellwritten !== "start") return;
  started = true;
  serve(message).catch(failed);
});
// An error that nobody caught leaves the participant in a state that nobody knows, be it a trap in wasm or its own timer.
globalThis.addEventListener("error", (event) => {
  event.preventDefault();
  failed((event as ErrorEvent).error ?? (event as ErrorEvent).message);
});
globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  failed((event as PromiseRejectionEvent).reason);
});
tell({ wellwritten: "loaded" });
