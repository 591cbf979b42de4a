// What plays the scenarios of conformance in a page: the launcher of participants, and frames for it.

import { IsolatedParticipants } from "../../web/src/isolated-participants.ts";
import { ParticipantLauncher } from "../../web/src/participant-launcher.ts";

/** A launcher of participants of the package at `/pkg/`, and the end of all it launched. */
export function launching(): { launcher: ParticipantLauncher; close(): void } {
  const program = new URL("/pkg/participant-program.js", location.href);
  const wasm = new URL("/pkg/wellwritten_participant_bg.wasm", location.href);
  const { port1, port2 } = new MessageChannel();
  const frames = new IsolatedParticipants(port1, program, wasm);
  const files = { program: program.href, wasm: wasm.href, frames: port2 };
  const launcher = new ParticipantLauncher(files, 30_000);
  const close = () => {
    launcher.endAll();
    frames.close();
  };
  return { launcher, close };
}
