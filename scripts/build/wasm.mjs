// Stage 1: the Rust workspace as one wasm module with its JavaScript glue and TypeScript types, in dist/wasm.

import { renameSync, rmSync } from "node:fs";
import { answerOf, mustRun, toolEnvironment } from "../command.mjs";
import { project } from "../project.mjs";
import { wasmEnvironment } from "../setup/wasm-target.mjs";
import { digestOf } from "./stage.mjs";

export const wasmModule = `${project.wasmOut}/wellwritten_web_bg.wasm`;

/** What the compiler may have used; wasm-opt refuses a feature that is not named here. */
const WASM_FEATURES = [
  "simd",
  "bulk-memory",
  "nontrapping-float-to-int",
  "sign-ext",
  "mutable-globals",
  "reference-types",
  "multivalue",
].map((feature) => `--enable-${feature}`);

/** Where cargo puts what it builds. */
function targetFolder(env) {
  const metadata = answerOf("cargo", ["metadata", "--no-deps", "--format-version", "1"], { env });
  return JSON.parse(metadata).target_directory;
}

/** @type {import('./stage.mjs').Stage} */
export const wasmStage = {
  name: "wasm module",
  usually: "1 to 2 min from nothing, 20 s after a change",
  outputs: [
    wasmModule,
    `${project.wasmOut}/wellwritten_web.js`,
    `${project.wasmOut}/wellwritten_web.d.ts`,
  ],
  digest() {
    const inputs = [
      "Cargo.toml",
      "Cargo.lock",
      ".cargo",
      "crates",
      "package-lock.json",
      "scripts/build/wasm.mjs",
    ];
    const compiler =
      answerOf("rustc", ["--version"], { env: toolEnvironment(wasmEnvironment()) }) ?? "";
    // What is left out never reaches the module.
    return digestOf(inputs, {
      also: [compiler],
      leaveOut: /^crates\/[^/]+\/(tests|benches|fuzz|target)$|^crates\/native$/,
    });
  },
  async build() {
    rmSync(project.wasmOut, { recursive: true, force: true });
    // Not through wasm-pack, which builds the crate as a Rust library too, and then without link-time optimisation.
    const env = toolEnvironment(wasmEnvironment());
    const target = "wasm32-unknown-unknown";
    const crate = [
      "--manifest-path",
      `${project.wasmCrate}/Cargo.toml`,
      "--lib",
      "--crate-type",
      "cdylib",
    ];
    await mustRun("cargo", ["rustc", "--release", "--target", target, ...crate], { env });
    const built = `${targetFolder(env)}/${target}/release/wellwritten_web.wasm`;
    await mustRun("wasm-bindgen", ["--target", "web", "--out-dir", project.wasmOut, built], {
      env,
    });
    const optimised = `${wasmModule}.optimised`;
    const wasmOpt = `${project.nodeModules}/.bin/wasm-opt`;
    // Functions in the order of their names: copies of a generic one lie side by side, where gzip finds them.
    const passes = ["-Oz", "--reorder-functions-by-name", "--strip-producers"];
    await mustRun(wasmOpt, [...passes, ...WASM_FEATURES, wasmModule, "-o", optimised]);
    renameSync(optimised, wasmModule);
  },
};
