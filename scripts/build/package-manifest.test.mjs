// Oracle: declarations as the compiler emits them, with the packages and paths in them read off by hand.

import assert from "node:assert/strict";
import test from "node:test";
import { packageManifest, packagesImportedBy, withExtensions } from "./package-manifest.mjs";

const declarations = `
import { LitElement } from "lit";
import type { Port } from './session-worker.ts';
import init from "#wasm/page";
import "@scope/side/effect.js";
export * from "../format/byte-state";
export declare const s: import("@preact/signals-core").Signal<number>;
export declare const from: "a string", other: import("./deep.js").Other;
`;
const packages = ["@preact/signals-core", "@scope/side", "lit"];

test("packages are found in every form of import, and nothing else is", () => {
  assert.deepEqual(packagesImportedBy(declarations), packages);
});

test("relative imports end in .js, once", () => {
  const paths = [...withExtensions(declarations).matchAll(/["'](\.{1,2}\/[^"']+)["']/g)].map(
    ([, path]) => path,
  );
  assert.deepEqual(paths, ["./session-worker.js", "../format/byte-state.js", "./deep.js"]);
  assert.equal(withExtensions(withExtensions(declarations)), withExtensions(declarations));
  assert.ok(withExtensions(declarations).includes('from "lit"'));
});

test("the package depends on what its types name, as locked, and refuses what is not a runtime dependency", () => {
  const workspace = { version: "0.1.0", license: "MIT OR Apache-2.0" };
  const lock = { packages: {} };
  for (const name of packages) lock.packages[`node_modules/${name}`] = { version: "1.2.3" };
  const expected = Object.fromEntries(packages.map((name) => [name, "1.2.3"]));
  assert.deepEqual(packageManifest(workspace, lock, [declarations]).dependencies, expected);

  lock.packages["node_modules/lit"].dev = true;
  assert.throws(() => packageManifest(workspace, lock, [declarations]), /import lit/);
});
