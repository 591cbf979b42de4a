// Oracle: what a step may do in each of its four situations, spelled out.

import assert from "node:assert/strict";
import test from "node:test";
import { SetUpFailed, take } from "./step.mjs";

const step = (changes) => ({
  name: "thing",
  does: "getting the thing",
  usually: "no time",
  byHand: "get it yourself.",
  ...changes,
});

/** Takes a step with the console captured; returns the lines it printed. */
async function taken(candidate) {
  const lines = [];
  const log = console.log;
  console.log = (line) => lines.push(line);
  try {
    await take(candidate);
  } finally {
    console.log = log;
  }
  return lines;
}

test("a step that is done is not done again", async () => {
  const provide = () => assert.fail("it was there already");
  assert.deepEqual(await taken(step({ present: () => "1.0", provide })), ["  ✓ thing: 1.0"]);
});

test("a missing thing is provided, saying what happens and how long that usually takes", async () => {
  let there = false;
  const provide = () => {
    there = true;
  };
  const lines = await taken(step({ present: () => (there ? "1.0" : undefined), provide }));
  assert.equal(lines[0], "  … thing: getting the thing (usually no time)");
  assert.match(lines[1], /^ {2}✓ thing: 1\.0, in \d/);
});

test("a failure names the step, its cause, and what to do by hand", async () => {
  const present = () => undefined;
  const failing = {
    "server is gone": () => {
      throw new Error("server is gone");
    },
    "still cannot be found": () => {},
    "not for a script to install": undefined,
  };
  for (const [cause, provide] of Object.entries(failing)) {
    await assert.rejects(taken(step({ present, provide })), (error) => {
      assert.ok(error instanceof SetUpFailed);
      for (const part of ["thing", cause, "get it yourself."])
        assert.ok(error.message.includes(part));
      return true;
    });
  }
});
