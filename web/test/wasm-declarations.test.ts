/// <reference types="vite/client" />
// Oracle: the declarations of the wasm modules, taken apart by their text alone. Both come from one crate, so a type
// that both declare must be one type: TypeScript compares shapes, and would notice too late or not at all.

import { expect, it } from "vitest";
import pageDeclarations from "../../dist/wasm/wellwritten_page.d.ts?raw";
import participantDeclarations from "../../dist/wasm/wellwritten_participant.d.ts?raw";
import sessionDeclarations from "../../dist/wasm/wellwritten_session.d.ts?raw";
import storeDeclarations from "../../dist/wasm/wellwritten_store.d.ts?raw";

const sources = import.meta.glob<string>("../src/**/*.ts", {
  query: "?raw",
  import: "default",
  eager: true,
});

/** The text of every exported type of the module's own, by name; what wasm-bindgen adds to each module is not. */
function typesIn(declarations: string): Map<string, string> {
  const own = declarations.split("export type InitInput", 1)[0] ?? "";
  const parts = own.split(/^export (?:interface|type) (?=\w)/m).slice(1);
  return new Map(
    parts.map((part) => {
      const [name = ""] = /^\w+/.exec(part) ?? [];
      return [name, part.split(/^(?:\/\*\*|export )/m, 1)[0]?.trim() ?? ""];
    }),
  );
}

const page = typesIn(pageDeclarations);
const session = typesIn(sessionDeclarations);
const participant = typesIn(participantDeclarations);
const store = typesIn(storeDeclarations);
const shared = [...page.keys()].filter((name) => session.has(name));

/** Names that `source` imports from the session's module though the page's declares them. */
function misplaced(source: string): string[] {
  const imports = source.matchAll(/\{([^}]*)\}\s*from\s*"#wasm\/session"/g);
  const names = [...imports].flatMap(([, list = ""]) => list.match(/\w+/g) ?? []);
  return names.filter((name) => page.has(name));
}

it("declares the same in both modules under the same name", () => {
  expect(shared.length).toBeGreaterThan(40);
  expect(page.get("TaintState")).toContain('"never-written"');
  for (const name of shared) expect(session.get(name), name).toBe(page.get(name));
});

it("declares nothing of its own in the participant's module", () => {
  expect(participant.size).toBeGreaterThan(10);
  for (const [name, declared] of participant)
    expect(session.get(name) ?? page.get(name), name).toBe(declared);
});

it("declares nothing of its own in the store's module", () => {
  expect(store.size).toBeGreaterThan(10);
  expect(store.has("StoreStart")).toBe(true);
  for (const [name, declared] of store)
    expect(session.get(name) ?? page.get(name), name).toBe(declared);
});

it("keeps sessions out of the page's module", () => {
  expect([...session.keys()]).toEqual(expect.arrayContaining(["SessionStatus", "RestoreReport"]));
  for (const name of ["SessionStatus", "RestoreReport", "OpenReport", "FaultInfo"])
    expect(page.has(name), name).toBe(false);
});

it("imports what both declare from the page's module alone", () => {
  expect(Object.keys(sources).length).toBeGreaterThan(20);
  for (const [file, source] of Object.entries(sources)) expect(misplaced(source), file).toEqual([]);
  const canary = 'import type {\n  SessionStatus,\n  TaintSpan,\n} from "#wasm/session";';
  expect(misplaced(canary)).toEqual(["TaintSpan"]);
});
