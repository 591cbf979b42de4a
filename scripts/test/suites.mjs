// The suites of `npm test`, in the order in which they run: what is quickest to fail comes first.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { observe, toolEnvironment } from "../command.mjs";
import { project } from "../project.mjs";
import { findChromedriver, findChromium } from "../setup/chromium.mjs";
import { hasClippyForWasm, WASM_TARGET, wasmEnvironment } from "../setup/wasm-target.mjs";
import { browserFlags } from "./browser-flags.mjs";
import { judge, readCargoCounts, readNodeCounts, readVitestCounts } from "./counts.mjs";
import { cratesContaining, filesMatching } from "./find-tests.mjs";

const programs = `${project.nodeModules}/.bin`;
const reports = `${project.root}/test-results`;
/** In CI a lock file that does not fit is an error; at a desk cargo may bring it up to date. */
const locked = process.env.CI ? ["--locked"] : [];

/** The longest that one of Node's tests may take before it counts as hung, in milliseconds. */
const LONGEST_NODE_TEST = 10 * 60_000;

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

const cargoTest = (args, testsExist) =>
  counted("cargo", ["test", ...args, "--no-fail-fast", ...locked], readCargoCounts, { testsExist });

/** The checks of the lint suite, as `[name, program, args, extra environment]`. */
function lintChecks() {
  const strict = ["--", "-D", "warnings"];
  const wasm = ["--target", WASM_TARGET, ...locked];
  // crates/native is sockets, threads and processes, none of which wasm32 has.
  const portable = ["--workspace", "--exclude", "wellwritten-native"].slice(
    0,
    existsSync(`${project.root}/crates/native`) ? 3 : 1,
  );
  const wasmChecks = hasClippyForWasm()
    ? [
        ["clippy for wasm32", "cargo", ["clippy", ...portable, ...wasm, ...strict]],
        [
          "clippy for wasm32, browser tests",
          "cargo",
          [
            "clippy",
            ...["web", "device"].flatMap((crate) => ["-p", `wellwritten-${crate}`]),
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

async function wasmTests() {
  mkdirSync(project.tools, { recursive: true });
  const capabilities = `${project.tools}/webdriver.json`;
  const options = { binary: findChromium(), args: browserFlags };
  writeFileSync(capabilities, JSON.stringify({ "goog:chromeOptions": options }));
  const env = toolEnvironment({
    ...wasmEnvironment(),
    WASM_BINDGEN_TEST_WEBDRIVER_JSON: capabilities,
    // Seconds; a debug module on a software GPU needs more than the usual 20.
    WASM_BINDGEN_TEST_TIMEOUT: "300",
  });
  const browser = ["--headless", "--chrome", "--chromedriver", findChromedriver()];
  const results = [];
  for (const crate of cratesContaining("#[wasm_bindgen_test")) {
    const args = ["test", ...browser, "--mode", "no-install", `${project.root}/${crate}`];
    results.push(await counted("wasm-pack", args, readCargoCounts, { env }));
  }
  return together(results);
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
    run: () => cargoTest(["--workspace"], cratesContaining("#[test]").length > 0),
  },
  {
    name: "memory",
    about: "crates/memory alone",
    build: "nothing",
    alone: true,
    absent: () => undefined,
    run: () => cargoTest(["-p", "wellwritten-memory"], true),
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
    about: "Rust in a headless browser",
    build: "nothing",
    browser: true,
    absent: () =>
      cratesContaining("#[wasm_bindgen_test").length === 0
        ? "no crate has a #[wasm_bindgen_test]"
        : undefined,
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
