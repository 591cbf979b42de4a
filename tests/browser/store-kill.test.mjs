// Oracle: what a page was told is saved is there after its whole browser is killed, at any moment: the newest generation is
// the last one acknowledged or a later one, every generation verifies, and the session goes on from it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { browserFlags } from "../../scripts/test/browser-flags.mjs";
import { executablePath, serveHost } from "./package-host.mjs";

const isLong = Boolean(process.env.WELLWRITTEN_LONG);
const KILLS = Number(process.env.WELLWRITTEN_KILLS ?? (isLong ? 100 : 3));
/** A save takes some milliseconds: enough of them to be killed in any place of one. */
const LONGEST_MS = 120;
/** How long a browser may take to start and to open the session, in milliseconds. */
const PATIENCE_MS = 120_000;

/** Numbers from 0 to 1 that a seed decides. */
function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What the page says over HTTP: the first thing of each life, and everything that was acknowledged. */
function listen() {
  const heard = { acknowledged: [], tell: () => {} };
  const asked = (request, response) => {
    if (request.method !== "POST") {
      if (request.url !== "/committing") return false;
      response.end('<!doctype html><script type="module" src="/committing.js"></script>');
      return true;
    }
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      response.end();
      const said = JSON.parse(body);
      if (request.url === "/acknowledged") heard.acknowledged.push(said);
      heard.tell(request.url.slice(1), said);
    });
    return true;
  };
  return { heard, asked };
}

/** Starts a browser in a process group of its own, with its profile. */
function launch(profile, url) {
  const args = [...browserFlags, `--user-data-dir=${profile}`, `${url}committing`];
  return spawn(executablePath, args, { detached: true, stdio: "ignore" });
}

/** Resolves with what the page says it opened; rejects if it fails or is silent. */
function opened(heard) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error("the page said nothing")), PATIENCE_MS);
    heard.tell = (what, said) => {
      if (what === "acknowledged") return;
      clearTimeout(late);
      if (what === "opened") resolve(said);
      else reject(new Error(said.message));
    };
  });
}

/** Kills every process of the browser, and waits until it is gone. */
async function kill(browser) {
  const gone = once(browser, "exit");
  process.kill(-browser.pid, "SIGKILL");
  await gone;
}

test(`${KILLS} times a browser that saves is killed, and what was acknowledged is there`, {
  timeout: KILLS * 30_000 + PATIENCE_MS,
}, async (context) => {
  const seed = Number(process.env.WELLWRITTEN_SEED ?? Date.now() % 2 ** 32);
  context.diagnostic(`WELLWRITTEN_SEED=${seed}`);
  const random = randomFrom(seed);
  const { heard, asked } = listen();
  const { server, url } = await serveHost({ asked });
  const profile = mkdtempSync(`${tmpdir()}/killed-`);
  let browser;
  let leftovers = 0;
  let unacknowledged = 0;
  try {
    for (let life = 0; life <= KILLS; life += 1) {
      const acknowledged = heard.acknowledged.at(-1);
      const before = heard.acknowledged.length;
      const opening = opened(heard);
      browser = launch(profile, url);
      const found = await opening;
      const where = `life ${life}, seed ${seed}: ${JSON.stringify(found)}`;
      assert.deepEqual(found.damaged, [], where);
      if (acknowledged === undefined) {
        assert.equal(life, 0, where);
        assert.deepEqual(found.generations, [], where);
      } else {
        const [newest] = found.generations;
        assert.ok(
          newest.boundary >= acknowledged.boundary,
          `${JSON.stringify(acknowledged)} was acknowledged; ${where}`,
        );
        assert.equal(found.resumedAt, newest.boundary, where);
        unacknowledged += newest.boundary > acknowledged.boundary ? 1 : 0;
      }
      assert.equal(found.steppedTo, found.resumedAt + 1, where);
      leftovers += found.removed.length > 0 ? 1 : 0;
      // Killed before it saved, a life would prove nothing.
      while (heard.acknowledged.length === before)
        await new Promise((resolve) => setTimeout(resolve, 5));
      await new Promise((resolve) => setTimeout(resolve, random() * LONGEST_MS));
      await kill(browser);
    }
  } finally {
    if (browser?.exitCode === null && browser.signalCode === null) await kill(browser);
    server.close();
    server.closeAllConnections();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
  context.diagnostic(
    `${heard.acknowledged.length} saves acknowledged; ${leftovers} kills left something to remove, ${unacknowledged} a save that nobody had been told of`,
  );
});
