import type { SessionConfig, WasmSession, WebSessionEvent } from "#wasm/session";
import type { Outcome, WireError } from "./outcome.ts";
import type { ProgramFiles } from "./participant-launcher.ts";

/** The methods of the wasm session that the page may call. */
export type SessionMethod = {
  [Name in keyof WasmSession]: WasmSession[Name] extends (...args: never[]) => unknown
    ? Name
    : never;
}[Exclude<keyof WasmSession, "free" | typeof Symbol.dispose>];

export type MethodArguments<Name extends SessionMethod> = Parameters<WasmSession[Name]>;
export type MethodResult<Name extends SessionMethod> = Awaited<ReturnType<WasmSession[Name]>>;

/** Where wasm modules are that do not lie beside this package's scripts: that of the session, and that of its store. */
export interface SessionWasm {
  readonly session: string | null;
  readonly store: string | null;
}

/** What the worker exposes over Comlink. Nothing here ever rejects: errors are outcomes. */
export interface SessionPort {
  open(config: SessionConfig, wasm: SessionWasm, programs: ProgramFiles): Promise<Outcome<string>>;
  call<Name extends SessionMethod>(
    method: Name,
    args: MethodArguments<Name>,
  ): Promise<Outcome<MethodResult<Name>>>;
}

/**
 * What the worker says unasked. These go through the same port as Comlink's replies and carry no `id`,
 * so Comlink ignores them and they arrive before the reply of the call that caused them.
 */
export type WorkerNotice =
  | { readonly notice: "event"; readonly event: WebSessionEvent }
  /** wasm panicked or the worker broke: no later call can succeed. */
  | { readonly notice: "ended"; readonly error: WireError };
