// `npm test`: every suite, and one closing line over all of them.

import { buildAll, buildWasm } from "./build/stages.mjs";
import { readableDuration } from "./duration.mjs";
import { readArguments, runCommand, UsageError } from "./entry.mjs";
import { forBrowserTests, forBuilding, setUp } from "./setup/steps.mjs";
import { closingLine, isGood } from "./test/counts.mjs";
import { suites } from "./test/suites.mjs";

const list = suites.map(
  ({ name, about, alone }) => `  ${name.padEnd(10)}${about}${alone ? " (only when named)" : ""}`,
);
const help = `npm test [-- --long] [-- SUITE...]

Sets up what is missing, runs the suites, and ends with "N passed, N failed" over all of them.
One suite alone: npm run test:SUITE. The suites, in order:
${list.join("\n")}

  --long   also what takes minutes: more seeds, longer runs`;

/** Builds what suites need, once; a build that failed is not tried again. */
class Builds {
  #done = new Map();

  /** Resolves to why `what` could not be built, or to `undefined` when it is there. */
  async ready(what) {
    if (what === "nothing") return undefined;
    if (!this.#done.has(what)) {
      const build = what === "all" ? buildAll : buildWasm;
      this.#done.set(
        what,
        await build().then(
          () => undefined,
          (error) => error.message,
        ),
      );
    }
    return this.#done.get(what);
  }
}

/** The suites that were asked for. */
function chosen(names) {
  const unknown = names.filter((name) => !suites.some((suite) => suite.name === name));
  if (unknown.length > 0) throw new UsageError(`There is no suite "${unknown[0]}".\n\n${help}`);
  return suites.filter((suite) => (names.length > 0 ? names.includes(suite.name) : !suite.alone));
}

const skippedWhole = (name, reason) => ({
  passed: 0,
  failed: 0,
  skipped: 1,
  named: [{ name: `suite ${name}`, reason }],
});

/** Runs one suite, building first what it needs. */
async function runSuite(suite, builds) {
  const absence = suite.absent();
  if (absence) return skippedWhole(suite.name, absence);
  const obstacle = await builds.ready(suite.build);
  if (obstacle) {
    const complaint = `it was not run, since the build failed: ${obstacle}`;
    return { passed: 0, failed: 1, skipped: 0, named: [], complaint };
  }
  return suite.run();
}

/** Says, per suite, what came of it and how long it took; then what was skipped and why; then the closing line. */
function report(results) {
  console.log("\nSummary");
  for (const { suite, duration, ...result } of results) {
    const mark = result.failed > 0 ? "✗" : result.passed > 0 ? "✓" : "-";
    console.log(
      `  ${mark} ${suite.name.padEnd(10)}${closingLine([result])}  (${readableDuration(duration)})`,
    );
    if (result.complaint) console.log(`    ${result.complaint}`);
    for (const part of result.parts ?? [])
      console.log(`    ${suite.name} ${part.name}: ${closingLine([part])}`);
  }
  for (const { suite, named, skipped } of results) {
    for (const { name, reason } of named)
      console.log(`  skipped in ${suite.name}: ${name}: ${reason}`);
    const nameless = skipped - named.length;
    if (nameless > 0)
      console.log(`  skipped in ${suite.name}: ${nameless} more that its runner does not name`);
  }
  console.log(closingLine(results));
}

await runCommand(async () => {
  const { values, positionals } = readArguments({
    help,
    options: { long: { type: "boolean" } },
    allowPositionals: true,
  });
  const toRun = chosen(positionals);
  if (values.long) process.env.WELLWRITTEN_LONG = "1";
  const browser = toRun.some((suite) => suite.browser) ? forBrowserTests : [];
  try {
    await setUp([...forBuilding, ...browser]);
  } catch (error) {
    // The closing line comes last even when nothing could run: whoever counts must not find silence.
    console.error(`\n${error.message}\n`);
    console.log(closingLine([{ passed: 0, failed: 1, skipped: 0 }]));
    process.exitCode = 1;
    return;
  }

  const builds = new Builds();
  const results = [];
  for (const suite of toRun) {
    console.log(`\nSuite ${suite.name}: ${suite.about}`);
    const start = performance.now();
    const result = await runSuite(suite, builds);
    results.push({ suite, duration: performance.now() - start, ...result });
  }
  report(results);
  process.exitCode = isGood(results) ? 0 : 1;
});
