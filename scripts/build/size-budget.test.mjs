// Oracle: weights on both sides of a budget, and at it.

import assert from "node:assert/strict";
import test from "node:test";
import { compareWithBudget } from "./size-budget.mjs";

test("a module within its budget is described", () => {
  const line = "wasm: 92.0 KB gzipped, 31 % of the budget of 300.0 KB (200.0 KB plain)";
  assert.equal(compareWithBudget({ plain: 200_000, gzipped: 92_000 }), line);
  assert.doesNotThrow(() => compareWithBudget({ plain: 2, gzipped: 10 }, 10));
});

test("canary: one byte over the budget stops the build", () => {
  assert.throws(() => compareWithBudget({ plain: 2, gzipped: 11 }, 10), /too big/);
});
