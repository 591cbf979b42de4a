// The bench of a browser's store: what a save costs beside the bare writes, flushes and renames of the same bytes, in turns
// in one page, and whether a session steps slower while one is under way.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { buildAll } from "../build/stages.mjs";
import { project } from "../project.mjs";
import { findChromium } from "../setup/chromium.mjs";
import { browserFlags } from "../test/browser-flags.mjs";

const TYPES = { js: "text/javascript", wasm: "application/wasm" };
/** How much longer a step may take while a save is under way. Two cores do both at once. */
const STEP_GOAL = 1.25;

/** In a worker: the files of one commit, written as bare as a browser lets one. */
const BARE = `
  let folder;
  async function write(temporary, name, bytes) {
    const file = await folder.getFileHandle(temporary, { create: true });
    const access = await file.createSyncAccessHandle();
    if (access.write(bytes) !== bytes.length) throw new Error("a short write");
    access.flush();
    access.close();
    await file.move(name);
  }
  onmessage = async ({ data: { number, envelope, manifest } }) => {
    const root = await navigator.storage.getDirectory();
    folder ??= await root.getDirectoryHandle("bare", { create: true });
    const began = performance.now();
    await write("~generation", "bare-" + number + ".flysess", envelope);
    await write("~manifest", "manifest.json", manifest);
    const took = performance.now() - began;
    if (number > 3) await folder.removeEntry("bare-" + (number - 3) + ".flysess");
    postMessage(took);
  };
`;

/** Serves the package, and an empty page, on this machine only. */
async function serve() {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    response.setHeader("content-type", TYPES[pathname.split(".").at(-1)] ?? "text/html");
    if (pathname === "/bare.js") return response.end(BARE);
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

/** In the page: milliseconds of a save, as its caller waits for it, and of the bare files of the same lengths, in turns. */
async function measureSaves([composition, rounds]) {
  const { createSession } = await import("/pkg/wellwritten.js");
  const median = (numbers) => numbers.sort((left, right) => left - right)[numbers.length >> 1];
  const session = await createSession({
    sessionId: `bench-${composition}`,
    composition,
    backend: "cpu",
  });
  await session.step(3);
  await session.checkpoint();
  const [{ checkpointId }] = await session.generations();
  const envelope = await session.exportGeneration(checkpointId);
  const worker = new Worker("/bare.js");
  const bare = (number) =>
    new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
      // The length of the list of three generations; what is in it costs nothing.
      worker.postMessage({ number, envelope, manifest: new Uint8Array(2_000) });
    });
  const saves = [];
  const captures = [];
  const bares = [];
  for (let round = 0; round < rounds; round += 1) {
    bares.push(await bare(round));
    let queued = 0;
    session.addEventListener("queued", () => (queued = performance.now()), { once: true });
    const began = performance.now();
    const outcome = await session.checkpoint();
    saves.push(performance.now() - began);
    captures.push(queued - began);
    if (outcome.kind !== "committed") throw new Error(outcome.kind);
    await session.step(1);
  }
  worker.terminate();
  await session.close();
  return {
    bytes: envelope.length,
    save: median(saves),
    capture: median(captures),
    bare: median(bares),
  };
}

/** In the page: milliseconds of a step with nothing else to do, and of one while saves follow each other. */
async function measureSteps([composition, batch]) {
  const { createSession } = await import("/pkg/wellwritten.js");
  const median = (numbers) => numbers.sort((left, right) => left - right)[numbers.length >> 1];
  const session = await createSession({
    sessionId: `steps-${composition}`,
    composition,
    backend: "cpu",
  });
  await session.step(batch);
  const idle = [];
  const saving = [];
  let saves = 0;
  for (let round = 0; round < 15; round += 1) {
    let began = performance.now();
    await session.step(batch);
    idle.push((performance.now() - began) / batch);
    // Captured before the clock starts: what is measured is the saving.
    const queued = new Promise((resolve) =>
      session.addEventListener("queued", resolve, { once: true }),
    );
    let isOver = false;
    const saved = session.checkpoint().then(() => {
      isOver = true;
    });
    await queued;
    began = performance.now();
    let steps = 0;
    while (!isOver) {
      await session.step(1);
      steps += 1;
    }
    if (steps > 0) saving.push((performance.now() - began) / steps);
    saves += 1;
    await saved;
    began = performance.now();
    for (let step = 0; step < steps; step += 1) await session.step(1);
    if (steps > 0) idle[idle.length - 1] = (performance.now() - began) / steps;
    else idle.pop();
  }
  await session.close();
  return { idle: median(idle), saving: median(saving), rounds: saving.length, saves };
}

/** Measures in a page; resolves to whether the goal is met. */
export async function benchStore() {
  await buildAll();
  // Installed by the set-up, so not before it.
  const { chromium } = await import("playwright-core");
  const server = await serve();
  const browser = await chromium.launch({ executablePath: findChromium(), args: browserFlags });
  const ms = (number) => number.toFixed(2).padStart(9);
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    console.log(
      "\n  a save against the bare writes, flushes and renames of the same bytes, median of 40, ms",
    );
    console.log("  composition     bytes     save  of it until captured     bare   save / bare");
    for (const composition of ["counter", "arena"]) {
      const { bytes, save, capture, bare } = await page.evaluate(measureSaves, [composition, 40]);
      console.log(
        `  ${composition.padEnd(11)} ${String(bytes).padStart(9)}${ms(save)}${ms(capture).padStart(22)}${ms(bare)}${ms(save / bare).padStart(14)}`,
      );
    }
    console.log("\n  a step while a save is under way, against the same steps without one, ms");
    console.log("  composition   without      with   with / without   rounds");
    let isMet = true;
    for (const composition of ["counter", "arena"]) {
      const { idle, saving, rounds } = await page.evaluate(measureSteps, [composition, 10]);
      console.log(
        `  ${composition.padEnd(11)}${ms(idle)} ${ms(saving)} ${ms(saving / idle).padStart(16)}   ${String(rounds).padStart(6)}`,
      );
      if (saving / idle > STEP_GOAL) {
        isMet = false;
        console.log(`  MISSED: at most ${STEP_GOAL} of a step without a save was wanted`);
      }
    }
    return isMet;
  } finally {
    await browser.close();
    server.close();
  }
}
