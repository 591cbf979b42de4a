/** Where the program of participants lies, and its wasm module. A build puts both beside the script this ends up in. */

export const participantProgram = (): URL => new URL("./participant-program.ts", import.meta.url);

export const participantWasm = (): URL =>
  new URL("./wellwritten_participant_bg.wasm", import.meta.url);
