// Oracle: figures worked out by hand from rounds of a few milliseconds. A goal that is missed, or was never asked,
// must not pass.

import assert from "node:assert/strict";
import { test } from "node:test";
import { lowerQuartile, median, nameOf, ratio, report, summarize } from "./device-report.mjs";

/** Rounds of a case in which the guarded device takes `guarded` ms and raw wgpu and JavaScript 2 and 1 ms. */
const measured = (launches, guarded, read) => ({
  launches,
  read,
  rounds: guarded.length,
  submissions: 1,
  times: {
    guarded: guarded.map((time) => [time / 2, time]),
    wgpu: guarded.map(() => [1, 2]),
    script: guarded.map(() => [0.5, 1]),
    wgpuAgain: guarded.map(() => [1, 2.02]),
  },
});

test("medians and ratios are taken round by round", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.equal(lowerQuartile([8, 7, 6, 5, 4, 3, 2, 1]), 3);
  // A busy moment triples both times of the second round.
  assert.equal(ratio([2, 6, 2], [1, 3, 1]), 2);
  const { thread, whole } = summarize(measured(16, [2, 2.1, 2.2]));
  assert.equal(whole.medians.guarded, 2.1);
  assert.equal(whole.ofWgpu, 1.05);
  assert.equal(whole.ofScript, 2.1);
  assert.equal(thread.ofWgpu, 1.05);
  assert.equal(whole.chance, 1.01);
  assert.equal(whole.quick, 1);
});

test("the goal is asked from 16 launches on", () => {
  assert.equal(summarize(measured(1, [9])).met, undefined);
  assert.equal(summarize(measured(0, [9], "16 MiB")).met, undefined);
  assert.equal(summarize(measured(16, [2.1])).met, true);
  assert.equal(summarize(measured(256, [2.2])).met, false);
});

test("canary: one goal missed, or none asked, is not a success", () => {
  const conclude = (cases) =>
    report({ adapter: "an adapter", cases, otherwise: [], profiles: [] }, "1");
  assert.equal(conclude([measured(16, [2]), measured(256, [2])]).met, true);
  const missed = conclude([measured(16, [2]), measured(256, [2.2], "4 KiB")]);
  assert.equal(missed.met, false);
  assert.match(missed.text, /missed {2}256 launches, read 4 KiB: 1\.10x of wgpu/);
  assert.equal(conclude([measured(1, [2])]).met, false);
});

test("a case is named by what it does", () => {
  assert.equal(nameOf({ launches: 1 }), "1 launch");
  assert.equal(nameOf({ launches: 16, read: "4 KiB" }), "16 launches, read 4 KiB");
  assert.equal(nameOf({ launches: 0, read: "16 MiB" }), "read 16 MiB");
});
