import assert from "node:assert/strict";
import { test } from "node:test";
import { compareWithBudget, WASM_BUDGETS } from "./size-budget.mjs";
import { wasmModules } from "./wasm.mjs";

const budget = { goal: 300_000, ceiling: 400_000 };
const compare = (plain, gzipped) => compareWithBudget("page", { plain, gzipped }, budget);

test("a module within the goal passes and says so", () => {
  const line = compare(800_000, 240_000);
  assert.equal(line, "wasm page: 240.0 KB gzipped (800.0 KB plain), within the goal of 300.0 KB");
});

test("a module above the goal says by how much", () => {
  assert.match(compare(900_000, 350_000), /50\.0 KB above the goal of 300\.0 KB/);
});

test("a module above the ceiling stops the build", () => {
  assert.equal(typeof compare(1, 400_000), "string");
  assert.throws(() => compare(1, 400_001), /module page is too big: 400\.0 KB gzipped/);
});

test("every module that is built has a budget, and no other", () => {
  assert.deepEqual(
    Object.keys(WASM_BUDGETS),
    wasmModules.map(({ name }) => name),
  );
});
