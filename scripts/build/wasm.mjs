// Stage 1: the Rust workspace as wasm modules with their JavaScript glue and TypeScript types, in dist/wasm.

import { copyFileSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { answerOf, mustRun, toolEnvironment } from "../command.mjs";
import { project } from "../project.mjs";
import { wasmEnvironment } from "../setup/wasm-target.mjs";
import { digestOf } from "./stage.mjs";

/** The wasm modules that are made from crates/web: each is one of its features, `#wasm/NAME` in TypeScript. */
export const wasmModules = ["page", "session", "participant", "store"].map((name) => {
  const stem = `wellwritten_${name}`;
  return { name, stem, path: `${project.wasmOut}/${stem}_bg.wasm` };
});

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

/** Compiles crates/web with one of its features alone and returns the path of a copy of the module. */
async function compile(feature, env) {
  // Not through wasm-pack, which builds the crate as a Rust library too, and then without link-time optimisation.
  const target = "wasm32-unknown-unknown";
  const crate = [
    "--manifest-path",
    `${project.wasmCrate}/Cargo.toml`,
    "--lib",
    "--crate-type",
    "cdylib",
  ];
  const features = ["--no-default-features", "--features", feature];
  await mustRun("cargo", ["rustc", "--release", "--target", target, ...crate, ...features], {
    env,
  });
  // The next feature's module takes the same place.
  const copy = `${project.wasmOut}/${feature}.unbound.wasm`;
  copyFileSync(`${targetFolder(env)}/${target}/release/wellwritten_web.wasm`, copy);
  return copy;
}

/** Makes the glue and the types of a compiled module, and optimises it. */
async function finish(compiled, { stem, path }, env) {
  const out = ["--out-dir", project.wasmOut, "--out-name", stem];
  await mustRun("wasm-bindgen", ["--target", "web", ...out, compiled], { env });
  rmSync(compiled);
  const optimised = `${path}.optimised`;
  const wasmOpt = `${project.nodeModules}/.bin/wasm-opt`;
  // Functions in the order of their names: copies of a generic one lie side by side, where gzip finds them.
  const passes = ["-Oz", "--reorder-functions-by-name", "--strip-producers"];
  await mustRun(wasmOpt, [...passes, ...WASM_FEATURES, path, "-o", optimised]);
  renameSync(optimised, path);
}

/** Builds modules, each of which is finished while the next one compiles: either keeps one core busy. */
async function buildEach([module, ...others], env) {
  if (module === undefined) return;
  const compiled = await compile(module.name, env);
  await Promise.all([finish(compiled, module, env), buildEach(others, env)]);
}

/** Compiles crates/web with a feature that is for tests only, not optimised any further, into a folder. */
export async function buildForTests(feature, folder) {
  const env = toolEnvironment(wasmEnvironment());
  const compiled = await compile(feature, env);
  const out = ["--out-dir", folder, "--out-name", feature];
  await mustRun("wasm-bindgen", ["--target", "web", ...out, compiled], { env });
  rmSync(compiled);
}

/** @type {import('./stage.mjs').Stage} */
export const wasmStage = {
  name: "wasm modules",
  usually: "1 to 3 min from nothing, 1 min after a change",
  outputs: wasmModules.flatMap(({ stem, path }) => [
    path,
    `${project.wasmOut}/${stem}.js`,
    `${project.wasmOut}/${stem}.d.ts`,
  ]),
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
    // What is left out never reaches a module.
    return digestOf(inputs, {
      also: [compiler],
      leaveOut: /^crates\/[^/]+\/(tests|benches|fuzz|target)$|^crates\/native$/,
    });
  },
  async build() {
    rmSync(project.wasmOut, { recursive: true, force: true });
    mkdirSync(project.wasmOut, { recursive: true });
    const env = toolEnvironment(wasmEnvironment());
    await buildEach(wasmModules, env);
  },
};
