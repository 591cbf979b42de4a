// The bench of sessions in a browser: transitions of the counting session through the built package, in every mode.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { buildAll } from "../build/stages.mjs";
import { project } from "../project.mjs";
import { findChromium } from "../setup/chromium.mjs";
import { browserFlags } from "../test/browser-flags.mjs";

/** Transitions a second with two agents, participants in the session's own program. */
const GOAL = 5_000;
const AGENTS = ["fly-a", "fly-b", "fly-c", "fly-d"];
const TYPES = { js: "text/javascript", wasm: "application/wasm" };

/** Serves the package, on this machine only. */
async function serve() {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    response.setHeader("content-type", TYPES[pathname.split(".").at(-1)] ?? "text/html");
    if (!/^\/pkg\/[\w./-]+$/.test(pathname))
      return response.end("<!doctype html><title>bench</title>");
    try {
      return response.end(readFileSync(`${project.root}${pathname}`));
    } catch {
      return response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** In the page: transitions a second, and the round trips of as many bytes that a worker makes in a second. */
async function measure([mode, agents]) {
  const { createSession } = await import("/pkg/wellwritten.js");
  const chosen = { composition: "counter", store: "memory", mode, agents };
  const session = await createSession(chosen);
  const batch = mode === "in-process" ? 1_000 : 200;
  await session.step(batch);
  const rates = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const began = performance.now();
    await session.step(batch);
    rates.push((batch * 1_000) / (performance.now() - began));
  }
  await session.close();
  return rates.sort((left, right) => left - right)[2];
}

/** In the page: the floor of a port, four messages there and back with a picture's bytes in one of them. */
async function measureFloor() {
  const echo = "onmessage = ({ data }) => postMessage(data, data.attachments);";
  const url = URL.createObjectURL(new Blob([echo], { type: "text/javascript" }));
  const worker = new Worker(url);
  const message = "x".repeat(700);
  const trip = (attachments) =>
    new Promise((resolve) => {
      worker.onmessage = resolve;
      worker.postMessage({ message, attachments }, attachments);
    });
  const transition = async () => {
    for (let phase = 0; phase < 4; phase += 1)
      await trip(phase === 2 ? [new ArrayBuffer(3_072), new ArrayBuffer(6_400)] : []);
  };
  for (let turn = 0; turn < 100; turn += 1) await transition();
  const began = performance.now();
  for (let turn = 0; turn < 1_000; turn += 1) await transition();
  const rate = 1_000_000 / (performance.now() - began);
  worker.terminate();
  return rate;
}

/** Measures in a page; resolves to whether the goal is met. */
export async function benchSession() {
  await buildAll();
  // Installed by the set-up, so not before it.
  const { chromium } = await import("playwright-core");
  const server = await serve();
  const browser = await chromium.launch({ executablePath: findChromium(), args: browserFlags });
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const floor = await page.evaluate(measureFloor);
    console.log(
      `\n  floor of a port: ${Math.round(floor)} transitions' messages a second, nothing done between them`,
    );
    console.log("  mode         agents   transitions/s   us each   of the floor");
    let isMet = true;
    for (const mode of ["in-process", "worker", "isolated"]) {
      for (const count of [1, 2, 4]) {
        const agents = AGENTS.slice(0, count).map((agentId) => ({ agentId }));
        const rate = await page.evaluate(measure, [mode, agents]);
        const share = mode === "in-process" ? "" : (rate / floor).toFixed(2);
        const figures = [Math.round(rate), Math.round(1_000_000 / rate), share];
        console.log(
          `  ${mode.padEnd(12)} ${count}   ${figures.map((it) => String(it).padStart(12)).join("")}`,
        );
        if (mode === "in-process" && count === 2 && rate < GOAL) {
          isMet = false;
          console.log(`  MISSED: ${GOAL} a second were wanted of two agents in process`);
        }
      }
    }
    return isMet;
  } finally {
    await browser.close();
    server.close();
  }
}
