// Runs other programs: quietly when only their answer matters, streamed when a person should see them work.

import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { project } from "./project.mjs";

/** The process environment with this project's own tools first on PATH. */
export function toolEnvironment(extra = {}) {
  return {
    ...process.env,
    PATH: `${project.toolsBin}${delimiter}${process.env.PATH ?? ""}`,
    ...extra,
  };
}

/**
 * Runs a program and returns its trimmed standard output, or `undefined` when it is missing, fails or takes
 * longer than `timeout` milliseconds. For questions such as "which version are you?".
 */
export function answerOf(
  program,
  args = [],
  { timeout = 20_000, env = toolEnvironment(), cwd = project.root } = {},
) {
  const result = spawnSync(program, args, {
    encoding: "utf8",
    timeout,
    env,
    cwd,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return result.status === 0 ? result.stdout.trim() : undefined;
}

/** The first executable file called one of `names` on PATH (this project's own tools first). */
export function findOnPath(...names) {
  const folders = toolEnvironment().PATH.split(delimiter).filter(Boolean);
  for (const name of names) {
    for (const folder of folders) {
      const candidate = join(folder, name);
      if (isExecutable(candidate)) return candidate;
    }
  }
  return undefined;
}

/** Whether `path` is a file this user may run. */
export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** A program that ended badly. `code` is its exit status, or `null` when a signal or the time limit ended it. */
export class CommandFailed extends Error {
  constructor(program, args, code, signal, reason) {
    const how = reason ?? (signal ? `was ended by ${signal}` : `ended with status ${code}`);
    super(`\`${[program, ...args].join(" ")}\` ${how}`);
    this.name = "CommandFailed";
    this.code = code;
  }
}

/**
 * Runs a program, passes on what it prints, and resolves to `{ code, output }` whatever its exit status;
 * `output` holds both streams. Rejects only when the program cannot be started.
 */
export function observe(
  program,
  args,
  { cwd = project.root, env = toolEnvironment(), timeout } = {},
) {
  return new Promise((resolve, reject) => {
    // Its own process group where a time limit applies, so that what it started ends with it.
    const child = spawn(program, args, {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      detached: timeout !== undefined,
    });
    const chunks = [];
    let timedOut = false;
    const timer =
      timeout === undefined
        ? undefined
        : setTimeout(() => {
            timedOut = true;
            process.kill(-child.pid, "SIGKILL");
          }, timeout);
    child.stdout.on("data", (chunk) => {
      chunks.push(chunk);
      process.stdout.write(chunk);
    });
    child.stderr.on("data", (chunk) => {
      chunks.push(chunk);
      process.stderr.write(chunk);
    });
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(
        new CommandFailed(program, args, null, null, `could not be started: ${error.message}`),
      );
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, timedOut, output: Buffer.concat(chunks).toString("utf8") });
    });
  });
}

/** Like [`observe`], but rejects with [`CommandFailed`] unless the program ends with status 0. */
export async function mustRun(program, args, options = {}) {
  const { code, signal, timedOut, output } = await observe(program, args, options);
  if (timedOut)
    throw new CommandFailed(
      program,
      args,
      null,
      null,
      `was still running after ${options.timeout / 1000} s`,
    );
  if (code !== 0) throw new CommandFailed(program, args, code, signal);
  return output;
}
