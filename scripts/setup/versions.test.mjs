// Oracle: versions compared and looked up by hand.

import assert from "node:assert/strict";
import test from "node:test";
import { isAtLeast } from "./rust.mjs";
import { lockedVersion } from "./wasm-bindgen.mjs";

test("versions compare number by number, not as text", () => {
  for (const [found, wanted] of [
    ["1.95.0", "1.95"],
    ["1.100.0", "1.95"],
    ["2.0.0", "1.95"],
    ["20.19.0", "20.19.0"],
  ]) {
    assert.equal(isAtLeast(found, wanted), true, `${found} is at least ${wanted}`);
  }
  for (const [found, wanted] of [
    ["1.94.9", "1.95"],
    ["1.9.0", "1.95"],
    ["20.9.5", "20.19.0"],
    ["1", "1.1"],
  ]) {
    assert.equal(isAtLeast(found, wanted), false, `${found} is older than ${wanted}`);
  }
});

test("the lock file's version is that of exactly the crate asked for", () => {
  const lock = `
[[package]]
name = "wasm-bindgen-futures"
version = "0.4.80"
dependencies = [
 "wasm-bindgen",
]

[[package]]
name = "wasm-bindgen"
version = "0.2.130"
`;
  assert.equal(lockedVersion(lock, "wasm-bindgen"), "0.2.130");
  assert.equal(lockedVersion(lock, "wasm"), undefined);
});
