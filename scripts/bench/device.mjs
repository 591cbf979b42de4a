// The bench of the guarded device: builds benches/device for wasm, opens its page in Chromium and reads its figures.

import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname } from "node:path";
import { mustRun, toolEnvironment } from "../command.mjs";
import { project } from "../project.mjs";
import { findChromium } from "../setup/chromium.mjs";
import { WASM_TARGET, wasmEnvironment } from "../setup/wasm-target.mjs";
import { browserFlags } from "../test/browser-flags.mjs";
import { report } from "./device-report.mjs";

const bench = `${project.root}/benches/device`;
/** A package of its own needs a target folder of its own; this one git ignores already. */
const target = process.env.CARGO_TARGET_DIR ?? `${project.root}/target/device-bench`;
const glue = `${target}/page`;

/** How long each of the ten cases is measured: with loading and comparing it stays well below 90 s. */
const MILLISECONDS_PER_CASE = 4_500;
/** The longest that the page may take before it counts as hung. */
const PATIENCE = 300_000;

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

async function build() {
  const env = toolEnvironment({ ...wasmEnvironment(), CARGO_TARGET_DIR: target });
  const manifest = `${bench}/Cargo.toml`;
  const what = ["--release", "--locked", "--target", WASM_TARGET, "--manifest-path", manifest];
  await mustRun("cargo", ["build", ...what], { env });
  const module = `${target}/${WASM_TARGET}/release/wellwritten_device_bench.wasm`;
  mkdirSync(glue, { recursive: true });
  const bindgen = ["--target", "web", "--out-dir", glue, "--out-name", "device_bench", module];
  await mustRun("wasm-bindgen", bindgen, { env });
}

/** Serves the page, its scripts and the wasm module on this machine only. */
async function serve() {
  const folders = { page: `${bench}/page`, wasm: glue };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    // Only an isolated page gets a clock of 5 µs; any other gets one of 100 µs.
    response.setHeader("cross-origin-opener-policy", "same-origin");
    response.setHeader("cross-origin-embedder-policy", "require-corp");
    response.setHeader("content-type", TYPES[extname(pathname)] ?? "text/html");
    if (pathname === "/") return response.end("<!doctype html><title>bench</title>");
    const [, folder, name] = /^\/(page|wasm)\/([\w.-]+)$/.exec(pathname) ?? [];
    const file = `${folders[folder]}/${name}`;
    if (folder === undefined || !existsSync(file) || !statSync(file).isFile())
      return response.writeHead(404).end();
    return response.end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** Measures in a page; resolves to whether every goal is met. */
export async function benchDevice() {
  await build();
  // Installed by the set-up, so not before it.
  const { chromium } = await import("playwright-core");
  const server = await serve();
  const browser = await chromium.launch({ executablePath: findChromium(), args: browserFlags });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE);
    page.on("console", (message) => console.log(`  the page says: ${message.text()}`));
    await page.route("**/favicon.ico", (route) => route.fulfill({ status: 204 }));
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    console.log("\nMeasuring, usually for 75 s");
    const figures = await page.evaluate(
      async (options) => {
        const { measure } = await import("/page/measure.js");
        return measure(options);
      },
      { millisecondsPerCase: MILLISECONDS_PER_CASE },
    );
    const { text, met } = report(figures, browser.version());
    console.log(`\n${text}`);
    return met;
  } finally {
    await browser.close();
    server.close();
  }
}
