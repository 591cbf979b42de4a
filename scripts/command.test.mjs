// Oracle: programs whose outcome is known, started through each way of running one.

import assert from "node:assert/strict";
import test from "node:test";
import { answerOf, CommandFailed, findOnPath, mustRun, observe } from "./command.mjs";

const node = process.execPath;

test("an answer is what a program printed, and nothing when it is missing or fails", () => {
  assert.equal(answerOf(node, ["--print", "6 * 7"]), "42");
  assert.equal(answerOf(node, ["--eval", "console.log('half'); process.exit(3)"]), undefined);
  assert.equal(answerOf("no-such-program-anywhere"), undefined);
});

test("what is observed holds both streams and the exit status, whatever it is", async () => {
  const program = "console.log('out'); console.error('err'); process.exitCode = 3";
  const { code, output } = await observe(node, ["--eval", program]);
  assert.equal(code, 3);
  assert.match(output, /out/);
  assert.match(output, /err/);
});

test("what must run and does not is named with its arguments and its end", async () => {
  await mustRun(node, ["--eval", ""]);
  const fails = (program, args, message) =>
    assert.rejects(mustRun(program, args), (error) => {
      assert.ok(error instanceof CommandFailed);
      assert.match(error.message, message);
      return true;
    });
  await fails(
    node,
    ["--eval", "process.exit(7)"],
    /--eval process\.exit\(7\)` ended with status 7/,
  );
  await fails(node, ["--eval", "process.kill(process.pid, 'SIGTERM')"], /was ended by SIGTERM/);
  await fails("no-such-program-anywhere", [], /could not be started/);
});

test("a time limit ends a program together with what it started", async () => {
  // The inner program holds the output open; unless it ends too, this never resolves.
  const inner = "setInterval(() => {}, 1000)";
  const outer = `require("node:child_process").spawn(process.execPath, ["--eval", ${JSON.stringify(inner)}], { stdio: "inherit" })`;
  const { timedOut } = await observe(node, ["--eval", outer], { timeout: 1000 });
  assert.equal(timedOut, true);
});

test("programs are found on PATH by the first name that exists", () => {
  assert.equal(findOnPath("no-such-program-anywhere"), undefined);
  assert.equal(findOnPath("no-such-program-anywhere", "sh"), findOnPath("sh"));
});
