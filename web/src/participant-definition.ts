import { WellwrittenError } from "./wellwritten-error.ts";

/** What a module defined, however it did so. */
export interface Definition {
  readonly role: "agent" | "environment" | "task";
  readonly handlers: object;
}

/** Where a definition waits to be taken by whoever imported its module. Shared between copies of this package. */
const slot = Symbol.for("wellwritten.definition");
const place = globalThis as { [slot]?: Definition };

const REQUIRED = {
  agent: ["initialize", "prepare", "commit", "capture", "stageRestore", "activateRestore"],
  environment: ["initialize", "advance", "capture", "stageRestore", "activateRestore"],
  task: ["bootstrap", "evaluate"],
} as const;

const DECLARATION = { agent: "profile", environment: "descriptor", task: "schemas" } as const;

/** What is missing from `handlers` to be a participant of this role, by name. */
function missing(role: Definition["role"], handlers: object): string[] {
  const found = handlers as Record<string, unknown>;
  const functions = REQUIRED[role].filter((name) => typeof found[name] !== "function");
  const declaration = found[DECLARATION[role]];
  const declared = typeof declaration === "function" || typeof declaration === "object";
  return declared && declaration !== null ? functions : [DECLARATION[role], ...functions];
}

/** Checks that everything is there and leaves it for whoever imported the module. */
export function leave<T extends object>(role: Definition["role"], handlers: T): T {
  if (typeof handlers !== "object" || handlers === null) {
    throw new WellwrittenError("INVALID_ARGUMENT", `the ${role}'s functions are no object.`);
  }
  const absent = missing(role, handlers);
  if (absent.length > 0) {
    throw new WellwrittenError("INVALID_ARGUMENT", `the ${role} lacks ${absent.join(", ")}.`);
  }
  place[slot] = { role, handlers };
  return handlers;
}

/**
 * Imports a module and takes what it defines: by a call of `defineAgent`, `defineEnvironment` or `defineTask`, or as its
 * default export, for modules that import nothing.
 */
export async function definitionIn(url: string, role: Definition["role"]): Promise<object> {
  delete place[slot];
  const module: { default?: unknown } = await import(/* @vite-ignore */ url);
  const left = place[slot];
  delete place[slot];
  if (left !== undefined && left.role !== role) {
    const message = `${url} defines an ${left.role}, where the composition has an ${role}.`;
    throw new WellwrittenError("INVALID_ARGUMENT", message);
  }
  const handlers = left?.handlers ?? module.default;
  if (typeof handlers !== "object" || handlers === null) {
    const message = `${url} defines no ${role}: it neither calls its define function nor exports it by default.`;
    throw new WellwrittenError("INVALID_ARGUMENT", message);
  }
  const absent = missing(role, handlers);
  if (absent.length > 0) {
    throw new WellwrittenError(
      "INVALID_ARGUMENT",
      `${url}: the ${role} lacks ${absent.join(", ")}.`,
    );
  }
  return handlers;
}

/** What a participant says it is: the value, or what the function gives for whom it is to be. */
export function declarationOf(
  handlers: object,
  role: Definition["role"],
  identity: object,
): Promise<unknown> {
  const declaration = (handlers as Record<string, unknown>)[DECLARATION[role]];
  return Promise.resolve(
    typeof declaration === "function" ? declaration.call(handlers, identity) : declaration,
  );
}
