// The suites of `npm test`, in the order in which they run: what is quickest to fail comes first.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { wasmModules } from "../build/wasm.mjs";
import { observe, toolEnvironment } from "../command.mjs";
import { readableDuration } from "../duration.mjs";
import { project } from "../project.mjs";
import { findChromedriver, findChromium } from "../setup/chromium.mjs";
import { hasClippyForWasm, WASM_TARGET, wasmEnvironment } from "../setup/wasm-target.mjs";
import { browserFlags } from "./browser-flags.mjs";
import {
  judge,
  leavesTestsElsewhere,
  readCargoCounts,
  readNodeCounts,
  readVitestCounts,
} from "./counts.mjs";
import { cratesContaining, filesMatching } from "./find-tests.mjs";

const programs = `${project.nodeModules}/.bin`;
const reports = `${project.root}/test-results`;
/** In CI a lock file that does not fit is an error; at a desk cargo may bring it up to date. */
const locked = process.env.CI ? ["--locked"] : [];

/** The longest that one of Node's tests may take before it counts as hung, in milliseconds. */
const LONGEST_NODE_TEST = 10 * 60_000;

/** What the source of a crate with wasm tests contains: `#[wasm_bindgen_test]`, or the same within a `cfg_attr`. */
const WASM_TEST = "wasm_bindgen_test";

/** Runs a program and reads its counts; `read` gets what it printed. */
async function counted(program, args, read, { testsExist = true, ...options } = {}) {
  const { code, output } = await observe(program, args, options);
  return judge(read(output, code), { code, testsExist });
}

/** Runs test files by Node's own test runner: a report to read on screen, and one to count in a file. */
async function nodeTests(name, files, env = {}) {
  mkdirSync(reports, { recursive: true });
  const tap = `${reports}/${name}.tap`;
  rmSync(tap, { force: true });
  const both = ["--test-reporter=spec", "--test-reporter-destination=stdout"];
  const counting = ["--test-reporter=tap", `--test-reporter-destination=${tap}`];
  // One file at a time: browsers compete for two cores as it is.
  const limit = `--test-timeout=${LONGEST_NODE_TEST}`;
  const args = ["--test", "--test-concurrency=1", limit, ...both, ...counting, ...files];
  const read = () => readNodeCounts(existsSync(tap) ? readFileSync(tap, "utf8") : "");
  return counted(process.execPath, args, read, { env: toolEnvironment(env) });
}

/** Adds up the counts of several runs. */
function together(results) {
  const total = { passed: 0, failed: 0, skipped: 0, named: [], complaint: undefined };
  for (const result of results) {
    for (const key of ["passed", "failed", "skipped"]) total[key] += result[key];
    total.named.push(...result.named);
    total.complaint ??= result.complaint;
  }
  return total;
}

/** Runs `cargo test`; `forTests` goes to the test programs. */
const cargoTest = (args, testsExist, forTests = []) => {
  const all = ["test", ...args, "--no-fail-fast", ...locked, "--", ...forTests];
  return counted("cargo", all, readCargoCounts, { testsExist });
};

const MEMORY = "wellwritten-memory";
/** With what the other crates turn on: a test of its reports is of that. */
const WITH_REPORTS = ["-p", MEMORY, "--features", "serde"];
/** Crates with fuzz targets: each a workspace of its own, which only fuzzing builds. */
const FUZZED = ["envelope", "memory"];
const isLong = () => Boolean(process.env.WELLWRITTEN_LONG);
/** How often a long run says that it still runs, in milliseconds. */
const SIGN_OF_LIFE = 60_000;

/** Runs crates/memory's tests; the long ones at full speed, saying what they are and that they still run. */
async function memoryTests() {
  if (!isLong()) return cargoTest(WITH_REPORTS, true);
  console.log(`  Long: random operations on the manager and on a model of one entry per byte, compared after each.
  2,000 seeds of 1,000 operations, with every pool configuration, by both oracles: settled, and with late settlement.
  Optimised (profile long-tests), with all assertions and overflow checks. Usually 1 min 30 s to build, then 4 min.`);
  const start = performance.now();
  const timer = setInterval(
    () => console.log(`  … ${readableDuration(performance.now() - start)} so far`),
    SIGN_OF_LIFE,
  );
  try {
    // Uncaptured, the oracles say as they go how much they compared.
    return await cargoTest([...WITH_REPORTS, "--profile", "long-tests"], true, ["--nocapture"]);
  } finally {
    clearInterval(timer);
  }
}

/** Runs every crate's tests natively. */
async function rustTests() {
  if (!isLong()) return cargoTest(["--workspace"], cratesContaining("#[test]").length > 0);
  // Unoptimised, the long runs of crates/memory would take half an hour.
  return together([
    await memoryTests(),
    await cargoTest(["--workspace", "--exclude", MEMORY], true),
  ]);
}

/** The package in a crate's folder. */
const packageOf = (crate) => `wellwritten-${crate.split("/").at(-1)}`;

/** The checks of the lint suite, as `[name, program, args, extra environment]`. */
function lintChecks() {
  const strict = ["--", "-D", "warnings"];
  const wasm = ["--target", WASM_TARGET, ...locked];
  // crates/native is sockets, threads and processes, none of which wasm32 has.
  const portable = ["--workspace", "--exclude", "wellwritten-native"];
  const wasmChecks = hasClippyForWasm()
    ? [
        ["clippy for wasm32", "cargo", ["clippy", ...portable, ...wasm, ...strict]],
        // Built alone, a module may leave something unused that the other needs.
        ...wasmModules.map(({ name }) => [
          `clippy for wasm32, module ${name} alone`,
          "cargo",
          [
            "clippy",
            ...["-p", packageOf(project.wasmCrate), "--no-default-features", "--features", name],
            ...wasm,
            ...strict,
          ],
        ]),
        [
          "clippy for wasm32, tests",
          "cargo",
          [
            "clippy",
            ...cratesContaining(WASM_TEST).flatMap((crate) => ["-p", packageOf(crate)]),
            "--tests",
            ...wasm,
            ...strict,
          ],
        ],
      ]
    : [
        [
          "check for wasm32 (its toolchain has no clippy)",
          "cargo",
          ["check", ...portable, ...wasm],
        ],
      ];
  return [
    ["rustfmt", "cargo", ["fmt", "--all", "--check"], {}],
    ...FUZZED.map((crate) => {
      const manifest = `crates/${crate}/fuzz/Cargo.toml`;
      const args = ["fmt", "--manifest-path", manifest, "--check"];
      return [`rustfmt, fuzz targets of ${crate}`, "cargo", args, {}];
    }),
    ["clippy", "cargo", ["clippy", "--workspace", "--all-targets", ...locked, ...strict], {}],
    ...wasmChecks.map((check) => [...check, wasmEnvironment()]),
    ["biome", `${programs}/biome`, ["check", "--error-on-warnings", "."], {}],
    ["tsc", `${programs}/tsc`, ["--noEmit", "--pretty", "false"], {}],
  ];
}

async function lint() {
  const results = [];
  for (const [name, program, args, extra] of lintChecks()) {
    console.log(`  … ${name}`);
    const { code } = await observe(program, args, { env: toolEnvironment(extra) });
    console.log(`  ${code === 0 ? "✓" : "✗"} ${name}`);
    results.push({ passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0, named: [] });
  }
  return together(results);
}

/**
 * Runs the wasm tests of every crate in Node, then in the browser. The runner decides for each test program: one that
 * says `wasm_bindgen_test_configure!(run_in_...)` runs there alone, one that says nothing runs in both.
 */
async function wasmTests() {
  mkdirSync(project.tools, { recursive: true });
  const capabilities = `${project.tools}/webdriver.json`;
  const options = { binary: findChromium(), args: browserFlags };
  writeFileSync(capabilities, JSON.stringify({ "goog:chromeOptions": options }));
  const places = [
    { name: "in Node", args: ["--node"], env: { WASM_BINDGEN_USE_BROWSER: undefined } },
    {
      name: "in the browser",
      args: ["--headless", "--chrome", "--chromedriver", findChromedriver()],
      env: {
        // Where a test program that does not say runs, when Node is not asked for.
        WASM_BINDGEN_USE_BROWSER: "1",
        WASM_BINDGEN_TEST_WEBDRIVER_JSON: capabilities,
        // Seconds; a debug module on a software GPU needs more than the usual 20. Long, crates/device drives it
        // through a million operations.
        WASM_BINDGEN_TEST_TIMEOUT: isLong() ? "7200" : "300",
      },
    },
  ];
  const parts = [];
  for (const { name, args, env } of places) {
    const results = [];
    for (const crate of cratesContaining(WASM_TEST)) {
      console.log(`  … ${crate} ${name}`);
      results.push(await wasmTest(crate, args, toolEnvironment({ ...wasmEnvironment(), ...env })));
    }
    parts.push({ name, ...together(results) });
  }
  return { ...together(parts), parts };
}

/** Runs one crate's wasm tests in one place, which may be none where all of them belong in the other. */
async function wasmTest(crate, place, env) {
  const args = ["test", ...place, "--mode", "no-install", `${project.root}/${crate}`];
  const { code, output } = await observe("wasm-pack", args, { env });
  return judge(readCargoCounts(output), { code, testsExist: !leavesTestsElsewhere(output) });
}

async function webTests() {
  mkdirSync(reports, { recursive: true });
  const json = `${reports}/web.json`;
  rmSync(json, { force: true });
  const args = ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${json}`];
  const nothing = { passed: 0, failed: 0, skipped: 0, named: [] };
  const read = () => (existsSync(json) ? readVitestCounts(readFileSync(json, "utf8")) : nothing);
  return counted(`${programs}/vitest`, args, read);
}

const browserFiles = () => filesMatching("tests/browser", /\.test\.mjs$/);
const scriptFiles = () => [
  ...filesMatching("scripts", /\.test\.mjs$/),
  ...filesMatching("tests/documents", /\.test\.mjs$/),
];

/**
 * @typedef {object} Suite
 * @property {string} name what `npm run test:NAME` runs
 * @property {string} about for the help text
 * @property {"nothing" | "wasm" | "all"} build what must be built first
 * @property {boolean} [browser] whether it needs Chromium and its driver
 * @property {boolean} [alone] whether it runs only when named, being part of another suite
 * @property {() => string | undefined} absent why there is nothing to run, if there is nothing
 * @property {() => Promise<object>} run
 */

/** @type {Suite[]} */
export const suites = [
  {
    name: "scripts",
    about: "the scripts of this project, and what its documents say",
    build: "nothing",
    absent: () => undefined,
    run: () => nodeTests("scripts", scriptFiles()),
  },
  {
    name: "rust",
    about: "every crate, natively",
    build: "nothing",
    absent: () => undefined,
    run: rustTests,
  },
  {
    name: "memory",
    about: "crates/memory alone",
    build: "nothing",
    alone: true,
    absent: () => undefined,
    run: memoryTests,
  },
  {
    name: "lint",
    about: "formatting, clippy for the host and for wasm32, types",
    build: "wasm",
    absent: () => undefined,
    run: lint,
  },
  {
    name: "web",
    about: "TypeScript units",
    build: "wasm",
    absent: () =>
      filesMatching("web", /\.test\.ts$/).length === 0 ? "there is no web/**/*.test.ts" : undefined,
    run: webTests,
  },
  {
    name: "wasm",
    about: "Rust as wasm, in Node and in a headless browser",
    build: "nothing",
    browser: true,
    absent: () =>
      cratesContaining(WASM_TEST).length === 0 ? "no crate has a wasm_bindgen_test" : undefined,
    run: wasmTests,
  },
  {
    name: "browser",
    about: "the page, end to end in a headless browser",
    build: "all",
    browser: true,
    absent: () =>
      browserFiles().length === 0 ? "there is no tests/browser/*.test.mjs" : undefined,
    run: () =>
      nodeTests("browser", browserFiles(), {
        CHROME_BIN: findChromium(),
        CHROMEDRIVER: findChromedriver(),
      }),
  },
];
