// `npm run fuzz:memory`: random sequences of operations on crates/memory, steered by what code they reach.

import { existsSync, mkdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { relative, resolve } from "node:path";
import { observe } from "./command.mjs";
import { readableDuration } from "./duration.mjs";
import { readArguments, runCommand, Stopped, UsageError } from "./entry.mjs";
import { filesSince } from "./fuzz/files-since.mjs";
import { project } from "./project.mjs";
import { forFuzzing, setUp } from "./setup/steps.mjs";

const USUAL_SECONDS = 600;
/** The longest that one input may take before it counts as a hang, in seconds. */
const LONGEST_INPUT = 20;
/** The largest input, in bytes; an operation takes about five. */
const LARGEST_INPUT = 2048;

const crate = `${project.root}/crates/memory`;
/** Where libFuzzer writes down an input that broke something. */
const artifacts = `${crate}/fuzz/artifacts/operations`;
/** Inputs that once failed, relative to the project. */
const regressions = "crates/memory/fuzz/regressions";

const help = `npm run fuzz:memory [-- SECONDS]
npm run fuzz:memory -- --replay FILE

Lets libFuzzer look for a sequence of operations under which crates/memory and the oracle's model of it differ,
or something panics, for SECONDS (${USUAL_SECONDS} unless given). Ends with status 1 when it found one, and says how to replay
it. Inputs that reached new code are kept in crates/memory/fuzz/corpus, which git ignores; the next run starts from
them. Not part of npm test; builds cargo-fuzz into .tools the first time.

  --replay FILE   runs that one input only`;

/**
 * What the arguments of this command ask for: a line about it, what cargo-fuzz gets after the target's name, and what
 * to say when it ends well.
 */
function work({ values, positionals }) {
  if (values.replay !== undefined) {
    if (positionals.length > 0) throw new UsageError(`--replay takes no SECONDS.\n\n${help}`);
    // npm runs scripts in the project folder, but a path on the command line means the caller's.
    const file = resolve(process.env.INIT_CWD ?? process.cwd(), values.replay);
    if (!existsSync(file)) throw new Stopped(`There is no file ${file}.`);
    return { about: `Replaying ${file}`, args: [file], well: "The input passes." };
  }
  const [seconds = String(USUAL_SECONDS), ...rest] = positionals;
  if (rest.length > 0 || !/^[1-9]\d*$/.test(seconds))
    throw new UsageError(`SECONDS is one whole number, at least 1.\n\n${help}`);
  const duration = readableDuration(Number(seconds) * 1000);
  // New inputs go to the first folder.
  const folders = [`${crate}/fuzz/corpus/operations`, `${project.root}/${regressions}`];
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  const flags = [
    `-max_total_time=${seconds}`,
    `-timeout=${LONGEST_INPUT}`,
    `-fork=${availableParallelism()}`,
    // Several processes pass over both unless told.
    "-ignore_timeouts=0",
    "-ignore_ooms=0",
    // Long inputs from the start: it takes a while of operations to build a state worth breaking.
    "-len_control=0",
    `-max_len=${LARGEST_INPUT}`,
  ];
  return {
    about: `Fuzzing crates/memory for ${duration}, after building it (usually 1 min the first time)`,
    args: [...folders, "--", ...flags],
    well: "Nothing was found.",
  };
}

/** What to tell a person about the inputs that were found. */
function advice(files) {
  const paths = files.map((file) => relative(project.root, file));
  return `Found, and written to:
${paths.map((path) => `  ${path}`).join("\n")}
Replay one:  npm run fuzz:memory -- --replay ${paths[0]}
Keep it:     copy it to ${regressions}/ under a name that says what it shows; the tests of crates/memory replay those.`;
}

await runCommand(async () => {
  const { about, args, well } = work(
    readArguments({ help, options: { replay: { type: "string" } }, allowPositionals: true }),
  );
  await setUp(forFuzzing);
  console.log(about);
  // Sanitizers need an unstable compiler, and would look for what code without `unsafe` cannot do.
  const options = ["--sanitizer", "none", "--target-dir", `${project.root}/target/fuzz`];
  const start = Date.now();
  const { code } = await observe("cargo-fuzz", ["run", ...options, "operations", ...args], {
    cwd: crate,
  });
  const found = filesSince(start, artifacts);
  if (found.length > 0) throw new Stopped(advice(found));
  if (code !== 0) throw new Stopped(`It ended with status ${code}; the output above says why.`);
  console.log(`\n${well}`);
});
