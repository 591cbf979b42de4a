// Oracle: outputs copied from each runner, with counts read off by hand. The canaries feed failing and empty runs
// and require them to count as failed: a reader that always answered "all passed" would pass everything else.

import assert from "node:assert/strict";
import test from "node:test";
import {
  closingLine,
  isGood,
  judge,
  leavesTestsElsewhere,
  readCargoCounts,
  readNodeCounts,
  readVitestCounts,
} from "./counts.mjs";

const cargoOutput = `
     Running unittests src/lib.rs (target/debug/deps/wellwritten_memory-0a)

running 3 tests
test pool::reuse ... ok
test pool::huge ... ignored, takes minutes; set WELLWRITTEN_LONG
test pool::tiny ... ignored

test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.01s

     Running tests/taint.rs (target/debug/deps/taint-1b)
test result: \u001b[31mFAILED\u001b[0m. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
   Doc-tests wellwritten_memory
test result: ok. 10 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.30s
`;

const unableOutput = `
running 3 tests
test reads ... ok

SKIPPED the_fixture: fixture not found at /nowhere: nor elsewhere

SKIPPED the_fixture: fixture not found at /nowhere: nor elsewhere
test the_fixture ... ok
test permissions ...
SKIPPED permissions: this user may read everything
ok

test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.03s
`;

const browserOutput = `
running 2 tests
test adds ... ok
test misses ... FAIL

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 filtered out; finished in 0.03s
`;

const tapOutput = `TAP version 13
# Subtest: page
ok 1 - page
    # Subtest: inner
    ok 1 - inner # SKIP no adapter
ok 2 - later # TODO
not ok 3 - broken
1..3
# tests 7
# suites 0
# pass 2
# fail 1
# cancelled 2
# skipped 1
# todo 1
# duration_ms 2191.38
`;

const vitestReport = JSON.stringify({
  numPassedTests: 5,
  numFailedTests: 2,
  numPendingTests: 1,
  numTodoTests: 1,
  testResults: [
    {
      assertionResults: [
        { status: "passed", fullName: "a" },
        { status: "skipped", fullName: "b c" },
        { status: "todo", fullName: "d" },
      ],
    },
  ],
});

const nothing = { passed: 0, failed: 0, skipped: 0, named: [] };
const run = { code: 0, testsExist: true };

test("a test that says while it runs that it cannot counts as skipped, once, and not as passed", () => {
  assert.deepEqual(readCargoCounts(unableOutput), {
    passed: 1,
    failed: 0,
    skipped: 2,
    named: [
      { name: "the_fixture", reason: "fixture not found at /nowhere: nor elsewhere" },
      { name: "permissions", reason: "this user may read everything" },
    ],
  });
});

test("cargo: adds up all test programs, colours or not, and names what is ignored", () => {
  assert.deepEqual(readCargoCounts(cargoOutput), {
    passed: 15,
    failed: 2,
    skipped: 2,
    named: [
      { name: "pool::huge", reason: "takes minutes; set WELLWRITTEN_LONG" },
      { name: "pool::tiny", reason: "marked #[ignore]" },
    ],
  });
});

test("cargo: reads the browser's runner as well", () => {
  assert.deepEqual(readCargoCounts(browserOutput), { ...nothing, passed: 1, failed: 1 });
});

test("wasm: a program of the other place is told from one that lost its tests", () => {
  const forBrowser = `     Running tests/webgpu.rs (target/wasm32-unknown-unknown/debug/deps/webgpu-1a.wasm)
this test suite is only configured to run in a browser, but we're only testing node.js tests so skipping
`;
  const empty = `     Running unittests src/lib.rs (target/wasm32-unknown-unknown/debug/deps/memory-2b.wasm)
no tests to run!
`;
  assert.equal(leavesTestsElsewhere(empty + forBrowser), true);
  assert.equal(leavesTestsElsewhere(empty), false);
  assert.equal(leavesTestsElsewhere(browserOutput), false);
});

test("node: counts cancelled as failed and to do as skipped", () => {
  assert.deepEqual(readNodeCounts(tapOutput), {
    passed: 2,
    failed: 3,
    skipped: 2,
    named: [
      { name: "inner", reason: "no adapter" },
      { name: "later", reason: "no reason given" },
    ],
  });
});

test("vitest: reads its report", () => {
  assert.deepEqual(readVitestCounts(vitestReport), {
    passed: 5,
    failed: 2,
    skipped: 2,
    named: [
      { name: "b c", reason: "marked skipped" },
      { name: "d", reason: "marked todo" },
    ],
  });
});

test("canary: a failed test in any runner's output makes the run bad", () => {
  for (const counts of [
    readCargoCounts(cargoOutput),
    readCargoCounts(browserOutput),
    readNodeCounts(tapOutput),
    readVitestCounts(vitestReport),
  ]) {
    assert.ok(counts.failed > 0);
    assert.equal(isGood([{ ...nothing, passed: 100 }, judge(counts, { ...run, code: 1 })]), false);
  }
});

test("canary: a runner that fails without naming a test has failed once", () => {
  const judged = judge(readCargoCounts("error: could not compile `x`"), {
    code: 101,
    testsExist: true,
  });
  assert.equal(judged.failed, 1);
  assert.match(judged.complaint, /status 101/);
  // Ended by a signal, a program has no status.
  assert.equal(judge({ ...nothing, passed: 9 }, { code: null, testsExist: true }).failed, 1);
});

test("canary: running nothing where there are tests is a failure, and nowhere a success", () => {
  assert.equal(judge(nothing, run).failed, 1);
  assert.equal(judge(nothing, { ...run, testsExist: false }).failed, 0);
  assert.equal(isGood([nothing]), false);
  assert.equal(isGood([]), false);
  assert.equal(isGood([{ ...nothing, passed: 1 }]), true);
});

test("the closing line mentions skipped tests only when there are some", () => {
  const results = [
    { ...nothing, passed: 3 },
    { ...nothing, passed: 4, failed: 1 },
  ];
  assert.equal(closingLine(results), "7 passed, 1 failed");
  assert.equal(
    closingLine([...results, { ...nothing, skipped: 2 }]),
    "7 passed, 1 failed, 2 skipped",
  );
});
