// The whole build, in order.

import { readableDuration } from "../duration.mjs";
import { packageStage } from "./package.mjs";
import { pageStage } from "./page.mjs";
import { compareWithBudget, weigh } from "./size-budget.mjs";
import { bringUpToDate } from "./stage.mjs";
import { wasmModule, wasmStage } from "./wasm.mjs";

/** Brings the wasm module up to date and holds it against its size budget. */
export async function buildWasm() {
  await bringUpToDate(wasmStage);
  console.log(`    ${compareWithBudget(weigh(wasmModule))}`);
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
