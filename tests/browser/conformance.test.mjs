// Oracle: the scenarios of crates/conformance, which know no browser: what a session must show from outside, over calls
// and ports within one program, and with participants in workers and in isolated frames.

import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { buildForTests } from "../../scripts/build/wasm.mjs";
import { packageConfig } from "../../vite.package.config.mjs";
import { openHostPage } from "./package-host.mjs";

/** Scenarios that are played at once: most of them wait for most of their time. Programs of their own cost more. */
const AT_ONCE = { direct: 8, port: 8, worker: 3, isolated: 3 };
/** Longer than any scenario takes, in milliseconds. */
const PATIENCE = 120_000;
/** Only scenarios with this in their names, where it is set. */
const ONLY = process.env.WELLWRITTEN_SCENARIO ?? "";

let host;

before(async () => {
  const folder = fileURLToPath(new URL("../../dist/conformance", import.meta.url));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await buildForTests("conformance", folder);
  const { build } = await import("vite");
  const source = fileURLToPath(new URL("conformance-page.ts", import.meta.url));
  await build(packageConfig(source, "launching", folder));
  host = await openHostPage();
});
after(() => host?.close());

/** Plays every scenario with participants in a place; gives what failed, by name, and how many were played. */
function playAll(place) {
  return host.page.evaluate(
    async ([place, atOnce, patience, only]) => {
      const { launching } = await import("/dist/conformance/launching.js");
      const wasm = await import("/dist/conformance/conformance.js");
      await wasm.default();
      const names = wasm.scenarioNames().filter((name) => name.includes(only));
      const waiting = [...names];
      const failures = {};
      const play = async () => {
        for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
          const { launcher, close } = launching();
          const late = new Promise((resolve) => setTimeout(resolve, patience, "it did not end"));
          const played = wasm.playScenario(name, place, launcher).catch((error) => String(error));
          const failure = await Promise.race([played, late]);
          if (failure !== undefined) failures[name] = failure;
          close();
        }
      };
      await Promise.all(Array.from({ length: atOnce }, play));
      return { failures, played: names.length };
    },
    [place, AT_ONCE[place], PATIENCE, ONLY],
  );
}

for (const place of ["direct", "port", "worker", "isolated"]) {
  test(`every scenario of conformance, with participants in place: ${place}`, async () => {
    const { failures, played } = await playAll(place);
    assert.deepEqual(failures, {});
    assert.ok(played > (ONLY === "" ? 50 : 0), `${played} scenarios were played`);
  });
}
