// Reads from what a test runner printed how many tests passed, failed and were skipped. Each reader returns
// `{ passed, failed, skipped, named }`, where `named` lists the skipped ones it could name, with their reason.

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminal colours begin with the escape character.
const COLOUR = /\u001b\[[0-9;]*m/g;

const plain = (output) => output.replace(COLOUR, "").replace(/\r\n/g, "\n");

/** Sums the numbers that the groups of `pattern` find all over `text`. */
function sum(text, pattern) {
  const totals = [];
  for (const [, ...groups] of text.matchAll(pattern)) {
    for (const [index, group] of groups.entries())
      totals[index] = (totals[index] ?? 0) + Number(group);
  }
  return totals;
}

/**
 * Reads `cargo test` and `wasm-pack test`, which end every test program with a "test result" line. A test that finds
 * out only while it runs that it cannot (a fixture, a permission) says so on a line `SKIPPED name: reason`; its runner
 * counts it as passed, this does not.
 */
export function readCargoCounts(output) {
  const text = plain(output);
  const pattern = /^\s*test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/gm;
  const [passed = 0, failed = 0, ignored = 0] = sum(text, pattern);
  const named = [...text.matchAll(/^\s*test (.+?) \.\.\. ignored(?:, (.*))?$/gm)].map(
    ([, name, reason]) => ({
      name,
      reason: reason ?? "marked #[ignore]",
    }),
  );
  const found = [...text.matchAll(/^SKIPPED (.+?): (.+)$/gm)];
  const unable = new Map(found.map(([, name, reason]) => [name, reason]));
  for (const [name, reason] of unable) named.push({ name, reason });
  return { passed: passed - unable.size, failed, skipped: ignored + unable.size, named };
}

/**
 * Whether the runner of wasm tests says that it left tests for the other place, Node or the browser. Running none is
 * then no surprise.
 */
export function leavesTestsElsewhere(output) {
  return /this test suite is only configured to run in /i.test(output);
}

/** Reads the TAP report of `node --test`. */
export function readNodeCounts(output) {
  const text = plain(output);
  const of = (word) => sum(text, new RegExp(`^# ${word} (\\d+)$`, "gm"))[0] ?? 0;
  const named = [...text.matchAll(/^\s*(?:not )?ok \d+ - (.*?) # (?:SKIP|TODO) ?(.*)$/gm)].map(
    ([, name, reason]) => ({ name, reason: reason || "no reason given" }),
  );
  return {
    passed: of("pass"),
    failed: of("fail") + of("cancelled"),
    skipped: of("skipped") + of("todo"),
    named,
  };
}

/** Reads the JSON report of Vitest. */
export function readVitestCounts(json) {
  const report = JSON.parse(json);
  const tests = report.testResults.flatMap((file) => file.assertionResults);
  const named = tests
    .filter((test) => ["pending", "skipped", "todo", "disabled"].includes(test.status))
    .map((test) => ({ name: test.fullName, reason: `marked ${test.status}` }));
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    named,
  };
}

/**
 * What a suite is worth, given what its runner counted, the exit status it ended with, and whether there are tests
 * to run. Trust in the counts ends where they and the exit status disagree: a runner that failed without naming a
 * failed test (it crashed, or did not compile) has failed once, and so has one that ran nothing.
 */
export function judge(counts, { code, testsExist }) {
  if (code !== 0 && counts.failed === 0) {
    return {
      ...counts,
      failed: 1,
      complaint: `it ended with status ${code} but names no failed test`,
    };
  }
  if (counts.passed + counts.failed === 0 && testsExist) {
    return { ...counts, failed: 1, complaint: "it ran no test although there are some" };
  }
  return counts;
}

/** The closing line: `N passed, N failed`, with `, N skipped` after it if any. */
export function closingLine(results) {
  const total = (key) => results.reduce((sum, result) => sum + result[key], 0);
  const line = `${total("passed")} passed, ${total("failed")} failed`;
  return total("skipped") > 0 ? `${line}, ${total("skipped")} skipped` : line;
}

/** Whether a whole run counts as good: nothing failed, and something ran. */
export function isGood(results) {
  return (
    results.every((result) => result.failed === 0) && results.some((result) => result.passed > 0)
  );
}
