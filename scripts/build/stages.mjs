// The whole build, in order.

import { readableDuration } from "../duration.mjs";
import { packageStage } from "./package.mjs";
import { pageStage } from "./page.mjs";
import { compareWithBudget, WASM_BUDGETS, weigh } from "./size-budget.mjs";
import { bringUpToDate } from "./stage.mjs";
import { wasmModules, wasmStage } from "./wasm.mjs";

/** Brings the wasm modules up to date and holds each against its size budget. */
export async function buildWasm() {
  await bringUpToDate(wasmStage);
  for (const { name, path } of wasmModules)
    console.log(`    ${compareWithBudget(name, weigh(path), WASM_BUDGETS[name])}`);
}

/** Brings everything up to date and says how long it took. */
export async function buildAll() {
  console.log("Build");
  const start = performance.now();
  await buildWasm();
  await bringUpToDate(packageStage);
  await bringUpToDate(pageStage);
  console.log(`  build took ${readableDuration(performance.now() - start)}\n`);
}
