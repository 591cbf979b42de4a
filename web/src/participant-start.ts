import type { ParticipantStart } from "#wasm/session";

/** What a participant's program is told first, and once. */
export interface ProgramStart {
  readonly wellwritten: "start";
  /** Who it is to be. */
  readonly start: ParticipantStart;
  /** The wasm module of participants: compiled, or its bytes, since compiled modules do not cross into a frame without an origin. */
  readonly wasm: WebAssembly.Module | ArrayBuffer;
  /** The participant's own module, where it is not built in. */
  readonly module: { readonly url: string } | { readonly text: string } | null;
  /** Where its coordinator is. */
  readonly port: MessagePort;
}

/** What a participant's program says to whoever started it. */
export type ProgramNotice =
  | { readonly wellwritten: "loaded" }
  | { readonly wellwritten: "serving" }
  | { readonly wellwritten: "stopped" }
  | { readonly wellwritten: "failed"; readonly message: string };

/** Whether something that was heard is a notice. */
export function isNotice(data: unknown): data is ProgramNotice {
  return typeof data === "object" && data !== null && "wellwritten" in data;
}
