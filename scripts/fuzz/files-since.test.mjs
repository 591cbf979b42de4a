// Oracle: a folder whose files got their times by hand.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { filesSince } from "./files-since.mjs";

test("what an earlier run found is not found again, unless it was", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "wellwritten-files-since-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, seconds] of [
    ["crash-before", 99],
    ["crash-since", 101],
    ["crash-at", 100],
  ]) {
    writeFileSync(`${folder}/${name}`, "");
    utimesSync(`${folder}/${name}`, seconds, seconds);
  }
  const since = () => filesSince(100_000, folder);
  assert.deepEqual(since(), [`${folder}/crash-at`, `${folder}/crash-since`]);
  writeFileSync(`${folder}/crash-before`, "once more");
  assert.equal(since().length, 3);
});

test("a folder that nothing was ever written to holds nothing", () => {
  assert.deepEqual(filesSince(0, "/no/such/folder"), []);
});
