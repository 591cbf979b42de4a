import type {
  BrokenRule,
  DoomedWindow,
  ExceededLimit,
  UnwrittenReport,
  WellwrittenErrorCode,
} from "#wasm/page";

/** The codes raised on this side, before or around wasm; Rust's own are `WellwrittenErrorCode`. */
export type HostErrorCode =
  /** A synchronous function was called before `loadWellwritten()` resolved. */
  | "NOT_LOADED"
  /** The wasm module could not be fetched, compiled or started. */
  | "LOAD_FAILED"
  /** The session's worker is gone: closed, crashed, or ended by a panic in wasm. */
  | "SESSION_ENDED"
  /** Something threw that is not one of ours; `context` keeps its name and stack. */
  | "INTERNAL";

/** Every code an error of this package can have. */
export type ErrorCode = HostErrorCode | WellwrittenErrorCode;

/** The facts that come with a code, where their shape is fixed; those of other codes are `unknown`. */
export interface ErrorContexts {
  /** Root failures, and the path from each to the bytes. */
  UNWRITTEN: UnwrittenReport;
  /** The limit, what was asked for and what is granted. */
  LIMIT_EXCEEDED: ExceededLimit;
  /** What failed or was skipped in the window, and the root failure. */
  WINDOW_DOOMED: DoomedWindow;
  /** The rule a file breaks, where, and both values. */
  ENVELOPE_INVALID: BrokenRule;
  /** The rule by which a reader would refuse what was not written; null where it is too large for this machine. */
  ENVELOPE_NOT_ENCODABLE: BrokenRule | null;
  /** The URL that was asked for, null for the module beside the script. */
  LOAD_FAILED: { readonly wasmUrl: string | null };
  /** What was thrown. */
  INTERNAL: { readonly name: string; readonly stack: string | null };
}

/** The context of an error with code `C`. */
export type ContextOf<C extends ErrorCode> = C extends keyof ErrorContexts
  ? ErrorContexts[C]
  : unknown;

/**
 * The one error type this package rejects and throws with: a value a program can branch on (`code`), a sentence
 * a person can read (`message`) and the facts behind it (`context`, whose shape depends on the code: for
 * `UNWRITTEN` the report).
 */
export class WellwrittenError extends Error {
  override readonly name = "WellwrittenError";
  readonly code: ErrorCode;
  readonly context: unknown;

  constructor(code: ErrorCode, message: string, context: unknown = null) {
    super(message);
    this.code = code;
    this.context = context;
  }

  /** Whether this is the error `code`, whose context then has its type. */
  is<C extends ErrorCode>(
    code: C,
  ): this is WellwrittenError & { readonly code: C; readonly context: ContextOf<C> } {
    return this.code === code;
  }

  /**
   * Any thrown value as a `WellwrittenError`. An error made in Rust already has the right fields but not
   * this class; anything foreign (a `DOMException`, a `TypeError`) keeps its name in `context`.
   */
  static from(thrown: unknown): WellwrittenError {
    if (thrown instanceof WellwrittenError) return thrown;
    if (thrown instanceof Error) {
      const { code, context } = thrown as Error & { code?: unknown; context?: unknown };
      if (thrown.name === "WellwrittenError" && typeof code === "string") {
        const error = new WellwrittenError(code as ErrorCode, thrown.message, context ?? null);
        if (thrown.stack !== undefined) error.stack = thrown.stack;
        return error;
      }
      return new WellwrittenError("INTERNAL", thrown.message, {
        name: thrown.name,
        stack: thrown.stack ?? null,
      });
    }
    return new WellwrittenError("INTERNAL", String(thrown), { name: typeof thrown, stack: null });
  }
}
