// What every command of this project does around its own work: check Node.js, read its options, and turn an error
// into a message a person can act on.

import { parseArgs } from "node:util";
import { CommandFailed } from "./command.mjs";
import { isAtLeast } from "./setup/rust.mjs";
import { SetUpFailed } from "./setup/step.mjs";

const OLDEST_NODE = "20.19.0";

/** A command was called in a way it does not understand. Exit status 2. */
export class UsageError extends Error {}

/** Something a person has to put right; its message alone is shown. Exit status 1. */
export class Stopped extends Error {}

/** Errors whose message says all there is to say. */
const PLAIN = [UsageError, Stopped, SetUpFailed, CommandFailed];

/**
 * Reads the arguments of this process by `options` of node:util's parseArgs, to which `--help` is added.
 * Returns `{ values, positionals }`; prints `help` and ends the process when asked to.
 */
export function readArguments({ help, options = {}, allowPositionals = false }) {
  let parsed;
  try {
    parsed = parseArgs({
      options: { ...options, help: { type: "boolean", short: "h" } },
      allowPositionals,
    });
  } catch (error) {
    // parseArgs adds advice about `--` that only confuses whoever came through `npm start -- ...`.
    throw new UsageError(`${error.message.split(". ")[0]}\n\n${help}`);
  }
  if (parsed.values.help) {
    console.log(help);
    process.exit(0);
  }
  return parsed;
}

/** Runs a command's work; on an error prints it and sets the exit status. */
export async function runCommand(work) {
  try {
    if (!isAtLeast(process.versions.node, OLDEST_NODE)) {
      throw new Stopped(
        `This needs Node.js ${OLDEST_NODE} or newer; this is ${process.versions.node}.`,
      );
    }
    await work();
  } catch (error) {
    const isPlain = PLAIN.some((kind) => error instanceof kind);
    console.error(`\n${isPlain ? error.message : error.stack}`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
