// Oracle: what a person gets to see for each way of calling a command; each is a process of its own, as theirs is.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import test from "node:test";
import { project } from "./project.mjs";

/** Runs a script to its end; resolves to its exit status and both its outputs. */
function run(script, ...args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [`${project.root}/scripts/${script}`, ...args]);
    let output = "";
    let errors = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    child.stderr.on("data", (chunk) => {
      errors += chunk;
    });
    child.on("close", (code) => resolve({ code, output, errors }));
  });
}

test("every command explains itself and does nothing else", async () => {
  for (const name of ["start", "setup", "build", "test", "fuzz"]) {
    const { code, output, errors } = await run(`${name}.mjs`, "--help");
    assert.equal(code, 0);
    assert.match(output, /^npm (start|test|run (setup|build|fuzz))/);
    assert.doesNotMatch(output, /Set-up\n/);
    assert.equal(errors, "");
  }
});

test("arguments that mean nothing are named, with the help, before any work", async () => {
  for (const [script, args, complaint] of [
    ["start.mjs", ["--prot", "80"], "Unknown option '--prot'"],
    ["start.mjs", ["--port"], "--port"],
    ["start.mjs", ["--port", "http"], 'not "http"'],
    ["start.mjs", ["--port", "65536"], 'not "65536"'],
    ["start.mjs", ["--port=-1"], 'not "-1"'],
    ["start.mjs", ["8080"], "8080"],
    ["build.mjs", ["--fast"], "Unknown option '--fast'"],
    ["test.mjs", ["rusty"], 'no suite "rusty"'],
    ["fuzz.mjs", [], 'no target ""'],
    ["fuzz.mjs", ["envelope", "operations"], 'no target "envelope operations"'],
    ["fuzz.mjs", ["memory", "operations", "forever"], "SECONDS is one whole number"],
    ["fuzz.mjs", ["envelope", "decode", "0"], "SECONDS is one whole number"],
    ["fuzz.mjs", ["envelope", "decode", "60", "--replay", "x"], "--replay takes no SECONDS"],
  ]) {
    const { code, output, errors } = await run(script, ...args);
    assert.equal(code, 2, `${script} ${args.join(" ")}`);
    assert.ok(errors.includes(complaint), errors);
    assert.match(errors, /npm (start|run build|run fuzz|test)/);
    assert.equal(output, "");
  }
});

test("a taken port is said before anything is built", async () => {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  const { code, output, errors } = await run("start.mjs", "--port", String(port));
  server.close();
  assert.equal(code, 1);
  assert.ok(errors.includes(`Port ${port} is taken`), errors);
  assert.equal(output, "");
});
