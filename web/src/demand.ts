import { WellwrittenError } from "./wellwritten-error.ts";

/**
 * Throws `INVALID_ARGUMENT` unless `holds`, saying what the argument is and what it must be. What crosses into wasm is
 * checked here first: there, a number in a string is a number, an array of them is bytes, and a number where a text
 * should be reads memory that is not its own.
 */
export function demand(
  holds: boolean,
  what: string,
  value: unknown,
  wanted: string,
): asserts holds {
  if (holds) return;
  throw new WellwrittenError(
    "INVALID_ARGUMENT",
    `${what} is ${inWords(value)}; it must be ${wanted}.`,
  );
}

/** Throws `INVALID_ARGUMENT` unless `value` is a number; which numbers will do, its taker says. */
export function demandNumber(what: string, value: unknown): asserts value is number {
  demand(typeof value === "number", what, value, "a number");
}

/** Throws `INVALID_ARGUMENT` unless `value` is a text. */
export function demandText(what: string, value: unknown): asserts value is string {
  demand(typeof value === "string", what, value, "a text");
}

function inWords(value: unknown): string {
  switch (typeof value) {
    case "string":
      return `the text ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
    case "object":
      return value === null ? "null" : objectInWords(value);
    case "function":
      return "a function";
    case "bigint":
      return `the bigint ${value}`;
    default:
      return String(value);
  }
}

function objectInWords(value: object): string {
  try {
    if (Array.isArray(value)) return `an array of ${value.length}`;
    return `an object of class ${value.constructor?.name ?? "none"}`;
  } catch {
    // Its own code answers what it is asked, and may throw.
    return "an object that cannot be looked into";
  }
}
