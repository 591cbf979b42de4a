// What each command needs of this machine, in the order in which it is provided.

import { readableDuration } from "../duration.mjs";
import { cargoFuzz } from "./cargo-fuzz.mjs";
import { chromedriver, chromium } from "./chromium.mjs";
import { cppCompiler } from "./cpp-compiler.mjs";
import { nodePackages } from "./node-packages.mjs";
import { rust } from "./rust.mjs";
import { take } from "./step.mjs";
import { wasmBindgen } from "./wasm-bindgen.mjs";
import { wasmPack } from "./wasm-pack.mjs";
import { wasmTarget } from "./wasm-target.mjs";

/** What building and serving the page needs. */
export const forBuilding = [nodePackages, rust, wasmTarget, wasmBindgen];
/** What the tests in a browser need beyond that. */
export const forBrowserTests = [wasmPack, chromium, chromedriver];
/** What fuzzing needs, and nothing else does. */
export const forFuzzing = [rust, cppCompiler, cargoFuzz];

/** Does the steps that are not done yet and says how long it took; throws `SetUpFailed` at the first that fails. */
export async function setUp(steps) {
  console.log("Set-up");
  let milliseconds = 0;
  for (const step of steps) milliseconds += await take(step);
  console.log(`  set-up took ${readableDuration(milliseconds)}\n`);
}
