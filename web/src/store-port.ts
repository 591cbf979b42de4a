import type { OpenReport, StoreStart } from "#wasm/session";
import type { WasmStore } from "#wasm/store";
import type { Outcome } from "./outcome.ts";

/** The methods of the wasm store that may be called from elsewhere. */
export type StoreMethod = {
  [Name in keyof WasmStore]: WasmStore[Name] extends (...args: never[]) => unknown ? Name : never;
}[Exclude<keyof WasmStore, "free" | typeof Symbol.dispose>];

export type StoreArguments<Name extends StoreMethod> = Parameters<WasmStore[Name]>;
export type StoreResult<Name extends StoreMethod> = Awaited<ReturnType<WasmStore[Name]>>;

/** What a store's worker exposes over Comlink, for one opener. Nothing here ever rejects: errors are outcomes. */
export interface StorePort {
  /** Opens a store for a session, and serves it over `session` from then on. */
  serve(
    which: StoreStart,
    wasmUrl: string | null,
    session: MessagePort,
  ): Promise<Outcome<OpenReport>>;
  /** Opens a store to be called. */
  open(which: StoreStart, wasmUrl: string | null): Promise<Outcome<null>>;
  call<Name extends StoreMethod>(
    method: Name,
    args: StoreArguments<Name>,
  ): Promise<Outcome<StoreResult<Name>>>;
}

/** What the worker says unasked: wasm panicked, or its script broke. Nothing is answered any more. */
export interface StoreNotice {
  readonly notice: "store-ended";
  readonly message: string;
}

/** Whether something that was heard is a notice; Comlink's replies are none. */
export function isStoreNotice(data: unknown): data is StoreNotice {
  return (
    typeof data === "object" &&
    data !== null &&
    (data as { notice?: unknown }).notice === "store-ended"
  );
}
