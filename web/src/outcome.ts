import { type ErrorCode, WellwrittenError } from "./wellwritten-error.ts";

/**
 * How a result crosses from the worker to the page. Structured clone keeps only `name` and `message` of
 * an `Error`, and Comlink's own handling keeps little more, so an error travels as plain data and is
 * made into a `WellwrittenError` again on the other side.
 */
export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: WireError };

/** A `WellwrittenError` as structured-cloneable data. */
export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly context: unknown;
  readonly stack: string | null;
}

/** The plain data of any thrown value. A context that cannot be cloned is sent as its text. */
export function toWire(thrown: unknown): WireError {
  const error = WellwrittenError.from(thrown);
  return {
    code: error.code,
    message: error.message,
    context: cloneable(error.context),
    stack: error.stack ?? null,
  };
}

/** The inverse of {@link toWire}: same code, message and context, and the worker's stack. */
export function fromWire(wire: WireError): WellwrittenError {
  const error = new WellwrittenError(wire.code, wire.message, wire.context);
  if (wire.stack !== null) error.stack = wire.stack;
  return error;
}

/** Runs `work` and wraps how it ended. Never rejects. */
export async function settle<T>(work: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (thrown) {
    return { ok: false, error: toWire(thrown) };
  }
}

/** The value of an outcome; throws its error. */
export function unwrap<T>(outcome: Outcome<T>): T {
  if (outcome.ok) return outcome.value;
  throw fromWire(outcome.error);
}

function cloneable(context: unknown): unknown {
  try {
    return structuredClone(context);
  } catch {
    return String(context);
  }
}
