// `npm run fuzz`: inputs for a target of a crate, steered by what code they reach.

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

/** What is fuzzed: the targets of each crate, what each looks for, and its largest input in bytes. */
const TARGETS = {
  memory: {
    operations: {
      about: "sequences of operations under which the crate and the oracle's model of it differ",
      // An operation takes about five bytes.
      largest: 2048,
    },
  },
  envelope: {
    decode: { about: "files that readers disagree on, or that have two encodings", largest: 4096 },
    describe: { about: "files whose description disagrees with the reader", largest: 4096 },
    round_trip: { about: "checkpoints that do not come back as they went in", largest: 8192 },
    canonical: { about: "JSON that a second implementation spells otherwise", largest: 1024 },
  },
  session: {
    frames: {
      about: "bytes that are read as a message which is written as another",
      largest: 4096,
    },
    conversation: {
      about: "things said to a participant that it does not answer as a model of it does",
      largest: 1024,
    },
  },
};

const listing = Object.entries(TARGETS)
  .flatMap(([crate, targets]) =>
    Object.entries(targets).map(
      ([name, { about }]) => `  ${`${crate} ${name}`.padEnd(21)}${about}`,
    ),
  )
  .join("\n");

const help = `npm run fuzz -- CRATE TARGET [SECONDS]
npm run fuzz -- CRATE TARGET --replay FILE
npm run fuzz:memory is short for npm run fuzz -- memory operations

Lets libFuzzer look for SECONDS (${USUAL_SECONDS} unless given) for what breaks the target's oracle, or panics:

${listing}

Ends with status 1 when it found something, and says how to replay it. Inputs that reached new code are kept in
crates/CRATE/fuzz/corpus, which git ignores; the next run starts from them. Not part of npm test; builds cargo-fuzz
into .tools the first time.

  --replay FILE   runs that one input only`;

/** The folders of a target, relative to the project. */
function foldersOf(crate, target) {
  const fuzz = `crates/${crate}/fuzz`;
  // The one target of crates/memory has its findings to itself.
  const own = crate === "memory" ? "" : `/${target}`;
  return {
    crate: `crates/${crate}`,
    corpus: `${fuzz}/corpus/${target}`,
    /** Where libFuzzer writes down an input that broke something. */
    artifacts: `${fuzz}/artifacts/${target}`,
    /** Inputs that once failed. */
    regressions: `${fuzz}/regressions${own}`,
  };
}

/**
 * What the arguments of this command ask for: its target, a line about it, what cargo-fuzz gets after the target's
 * name, and what to say when it ends well.
 */
function work({ values, positionals }) {
  const [crate, target, ...more] = positionals;
  const known = TARGETS[crate]?.[target];
  if (known === undefined)
    throw new UsageError(`There is no target "${positionals.slice(0, 2).join(" ")}".\n\n${help}`);
  const folders = foldersOf(crate, target);
  const chosen = { name: `${crate} ${target}`, target, folders };
  if (values.replay !== undefined) {
    if (more.length > 0) throw new UsageError(`--replay takes no SECONDS.\n\n${help}`);
    // npm runs scripts in the project folder, but a path on the command line means the caller's.
    const file = resolve(process.env.INIT_CWD ?? process.cwd(), values.replay);
    if (!existsSync(file)) throw new Stopped(`There is no file ${file}.`);
    return { ...chosen, about: `Replaying ${file}`, args: [file], well: "The input passes." };
  }
  const [seconds = String(USUAL_SECONDS), ...rest] = more;
  if (rest.length > 0 || !/^[1-9]\d*$/.test(seconds))
    throw new UsageError(`SECONDS is one whole number, at least 1.\n\n${help}`);
  const duration = readableDuration(Number(seconds) * 1000);
  // New inputs go to the first folder.
  const inputs = [folders.corpus, folders.regressions].map((path) => `${project.root}/${path}`);
  for (const folder of inputs) mkdirSync(folder, { recursive: true });
  const flags = [
    `-max_total_time=${seconds}`,
    `-timeout=${LONGEST_INPUT}`,
    `-fork=${availableParallelism()}`,
    // Several processes pass over both unless told.
    "-ignore_timeouts=0",
    "-ignore_ooms=0",
    // Long inputs from the start: it takes a while of choices to build something worth breaking.
    "-len_control=0",
    `-max_len=${known.largest}`,
  ];
  return {
    ...chosen,
    about: `Fuzzing ${chosen.name} for ${duration}, after building it (usually 1 min the first time)`,
    args: [...inputs, "--", ...flags],
    well: "Nothing was found.",
  };
}

/** What to tell a person about the inputs that were found. */
function advice({ name, folders }, files) {
  const paths = files.map((file) => relative(project.root, file));
  return `Found, and written to:
${paths.map((path) => `  ${path}`).join("\n")}
Replay one:  npm run fuzz -- ${name} --replay ${paths[0]}
Keep it:     copy it to ${folders.regressions}/ under a name that says what it shows; the tests of ${folders.crate} replay those.`;
}

await runCommand(async () => {
  const chosen = work(
    readArguments({ help, options: { replay: { type: "string" } }, allowPositionals: true }),
  );
  const { about, args, folders, target, well } = chosen;
  await setUp(forFuzzing);
  console.log(about);
  // Sanitizers need an unstable compiler, and would look for what code without `unsafe` cannot do.
  const options = ["--sanitizer", "none", "--target-dir", `${project.root}/target/fuzz`];
  const start = Date.now();
  const { code } = await observe("cargo-fuzz", ["run", ...options, target, ...args], {
    cwd: `${project.root}/${folders.crate}`,
  });
  const found = filesSince(start, `${project.root}/${folders.artifacts}`);
  if (found.length > 0) throw new Stopped(advice(chosen, found));
  if (code !== 0) throw new Stopped(`It ended with status ${code}; the output above says why.`);
  console.log(`\n${well}`);
});
