// Oracle: what libFuzzer prints when a run ends well and when it ends in a crash, copied from it.

import assert from "node:assert/strict";
import test from "node:test";
import { foundInputs } from "./findings.mjs";

const crash = `
thread '<unnamed>' (201) panicked at fuzz_targets/operations.rs:6:5:
seed 3, operation 4: byte 7 of 1: manager Clean, model Pending
==201== ERROR: libFuzzer: deadly signal
SUMMARY: libFuzzer: deadly signal
MS: 1 ShuffleBytes-; base unit: adc83b19e793491b1c6ea0fd8b46cd9f32e592fc
artifact_prefix='/project/crates/memory/fuzz/artifacts/operations/'; Test unit written to /project/crates/memory/fuzz/artifacts/operations/crash-0a1b2c
Base64: YmFk
────────────────────────────────────────────────────────────────────────────────
Failing input:

\tartifacts/operations/crash-0a1b2c
`;

const good = `
#40234159\tDONE   cov: 9 ft: 10 corp: 2/4b lim: 4096 exec/s: 1915912 rss: 30Mb
Done 40234159 runs in 21 second(s)
`;

test("a found input is read off the line that says where it was written", () => {
  const file = "/project/crates/memory/fuzz/artifacts/operations/crash-0a1b2c";
  assert.deepEqual(foundInputs(crash), [file]);
  assert.deepEqual(foundInputs(crash + crash), [file]);
});

test("canary: a run that found nothing names nothing", () => {
  assert.deepEqual(foundInputs(good), []);
});
