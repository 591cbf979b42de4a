import assert from "node:assert/strict";
import { test } from "node:test";
import { compareWithBudget, WASM_CEILING_BYTES, WASM_GOAL_BYTES } from "./size-budget.mjs";

const limits = { goal: 300_000, ceiling: 400_000 };

test("a module within the goal passes and says so", () => {
  const line = compareWithBudget({ plain: 800_000, gzipped: 240_000 }, limits);
  assert.equal(line, "wasm: 240.0 KB gzipped (800.0 KB plain), within the goal of 300.0 KB");
});

test("a module above the goal says by how much", () => {
  const line = compareWithBudget({ plain: 900_000, gzipped: 350_000 }, limits);
  assert.match(line, /50\.0 KB above the goal of 300\.0 KB/);
});

test("a module above the ceiling stops the build", () => {
  assert.equal(typeof compareWithBudget({ plain: 1, gzipped: 400_000 }, limits), "string");
  assert.throws(
    () => compareWithBudget({ plain: 1, gzipped: 400_001 }, limits),
    /too big: 400\.0 KB gzipped/,
  );
});

test("the ceiling is not below the goal", () => {
  assert.ok(WASM_CEILING_BYTES >= WASM_GOAL_BYTES);
});
