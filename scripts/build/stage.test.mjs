// Oracle: digests of a folder before and after one known change; equal exactly when nothing that counts changed.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import test from "node:test";
import { project } from "../project.mjs";
import { digestOf } from "./stage.mjs";

test("a digest notices every change to what it covers, and none to what is left out", () => {
  mkdirSync(`${project.root}/test-results`, { recursive: true });
  const full = mkdtempSync(`${project.root}/test-results/stage-`);
  const folder = full.slice(project.root.length + 1);
  try {
    mkdirSync(`${full}/tests`);
    writeFileSync(`${full}/a`, "one");
    writeFileSync(`${full}/b`, "two");
    const leaveOut = new RegExp(`^${folder}/tests$`);
    const digest = (also = []) => digestOf([folder], { also, leaveOut });
    const before = digest();
    assert.equal(digest(), before);
    assert.notEqual(digest(["other compiler"]), before);

    writeFileSync(`${full}/tests/t`, "left out");
    assert.equal(digest(), before);

    // The same bytes, cut differently between two files.
    writeFileSync(`${full}/a`, "onet");
    writeFileSync(`${full}/b`, "wo");
    assert.notEqual(digest(), before);

    writeFileSync(`${full}/a`, "one");
    writeFileSync(`${full}/b`, "two");
    assert.equal(digest(), before);
    rmSync(`${full}/b`);
    assert.notEqual(digest(), before);
    assert.doesNotThrow(() => digestOf([`${folder}/never-there`]));
  } finally {
    rmSync(full, { recursive: true, force: true });
  }
});
