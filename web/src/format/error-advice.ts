import type { WellwrittenError } from "../wellwritten-error.ts";

/** What a person is told about an error: what happened, what is still safe, and what to do. */
export interface Advice {
  readonly happened: string;
  readonly safe: string;
  readonly todo: string;
}

const SAFE_NOTHING_CHANGED = "Nothing was changed.";
const SAFE_GENERATIONS = "Every generation in the store is still there.";

const TRY_RESTORE = "Restore the last durable generation.";

/** By code; a code without advice of its own gets {@link OTHERWISE}. */
const BY_CODE: Readonly<Record<string, Omit<Advice, "happened">>> = {
  UNWRITTEN: {
    safe: "No stale byte was returned or stored, and every other range still reads.",
    todo: "Pick the range to see the failure at its root, then rewrite the buffer.",
  },
  DEVICE_LOST: {
    safe: SAFE_GENERATIONS,
    todo: "Restore a generation: that recovers the device too.",
  },
  NO_ADAPTER: {
    safe: SAFE_NOTHING_CHANGED,
    todo: "Choose the CPU backend, which gives the same bytes.",
  },
  LIMIT_EXCEEDED: { safe: SAFE_NOTHING_CHANGED, todo: "Ask for less, or for higher limits." },
  STORE_LOCKED: {
    safe: "The other tab keeps its session, and nothing was written here.",
    todo: "Close the other tab, then try again.",
  },
  STORE_FAILED: {
    safe: "The last durable generation was not touched.",
    todo: "Export a generation, close other tabs of this site, then try again.",
  },
  STORE_FULL: {
    safe: SAFE_GENERATIONS,
    todo: "Free space for this site, or drop generations, then try again.",
  },
  STORE_READ_ONLY: { safe: SAFE_NOTHING_CHANGED, todo: "Open the store as its owner." },
  SAVES_LOST: {
    safe: "Every generation that was committed before is still there.",
    todo: "Open the session again; it goes on from the last one that is.",
  },
  NO_GENERATION: {
    safe: SAFE_NOTHING_CHANGED,
    todo: "Write a checkpoint first, or choose another.",
  },
  INVALID_ARGUMENT: { safe: SAFE_NOTHING_CHANGED, todo: "Correct the value and try again." },
  INVALID_PHASE: {
    safe: SAFE_NOTHING_CHANGED,
    todo: "Wait for a phase in which it is legal; the phase machine shows them.",
  },
  BUSY: { safe: SAFE_NOTHING_CHANGED, todo: "Try again when the work in progress is done." },
  CANCELLED: {
    safe: "The session is paused at a committed boundary.",
    todo: "Go on from there, or seek again.",
  },
  DIVERGED: {
    safe: SAFE_GENERATIONS,
    todo: "Find out which participant does not do the same twice; its module may use time or chance.",
  },
  UNSUPPORTED: { safe: SAFE_NOTHING_CHANGED, todo: "Choose what this session supports." },
  INCOMPATIBLE: {
    safe: `The running group was not touched. ${SAFE_GENERATIONS}`,
    todo: "Restore another generation.",
  },
  EPOCH_FAILED: { safe: `Nothing half-done runs on. ${SAFE_GENERATIONS}`, todo: TRY_RESTORE },
  SESSION_ENDED: { safe: SAFE_GENERATIONS, todo: "Open a new session; it offers to resume." },
  CLOSED: { safe: SAFE_GENERATIONS, todo: "Open a new session; it offers to resume." },
  LOAD_FAILED: {
    safe: SAFE_GENERATIONS,
    todo: "Reload the page; if that does not help, the site lacks its wasm file.",
  },
  NOT_LOADED: { safe: SAFE_NOTHING_CHANGED, todo: "Wait until the module is loaded." },
};

const OTHERWISE: Omit<Advice, "happened"> = {
  safe: SAFE_GENERATIONS,
  todo: "Try again; if it persists, restore the last durable generation.",
};

/** The advice on an error. The first sentence is the error's own. */
export function adviseOn(error: WellwrittenError): Advice {
  return { happened: sentence(error.message), ...(BY_CODE[error.code] ?? OTHERWISE) };
}

/**
 * The first line of `text` as a sentence: a capital first, a full stop last. What follows it, such as the
 * lines of source that a shader compiler quotes, is {@link quoted}.
 */
export function sentence(text: string): string {
  const [first = ""] = text.trim().split("\n", 1);
  if (first === "") return "Something failed without saying what.";
  const capital = first.charAt(0).toUpperCase() + first.slice(1);
  return /[.!?:]$/.test(capital) ? capital : `${capital}.`;
}

/** The lines of `text` after the first, without the blank ones around them; empty if there are none. */
export function quoted(text: string): string {
  const lines = text.trim().split("\n").slice(1);
  while (lines[0]?.trim() === "") lines.shift();
  return lines.join("\n").trimEnd();
}
