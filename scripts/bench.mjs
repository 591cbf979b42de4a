// `npm run bench:memory`: what the books cost, alone or against the best known implementation.

import { observe, toolEnvironment } from "./command.mjs";
import { readArguments, runCommand, Stopped } from "./entry.mjs";
import { project } from "./project.mjs";
import { rust } from "./setup/rust.mjs";
import { setUp } from "./setup/steps.mjs";

const help = `npm run bench:memory [-- --peer]

Measures crates/memory natively: the cycle of a launch, claims and lookups on fragmented allocations, a long
report, snapshots. Ends with status 1 when a goal is missed. Not part of npm test; best on an idle machine.

  --peer   against CubeCL's cubecl-server instead, in one process (builds it first: usually 11 min, once)`;

const alone = {
  args: ["bench", "--package", "wellwritten-memory", "--bench", "memory", "--locked"],
  env: {},
};

/** A package of its own, with its own lock file; its target folder is one that git ignores already. */
const againstPeer = {
  args: ["run", "--release", "--locked", "--manifest-path", "benches/peer/Cargo.toml"],
  env: { CARGO_TARGET_DIR: process.env.CARGO_TARGET_DIR ?? `${project.root}/target/peer` },
};

await runCommand(async () => {
  const { values } = readArguments({ help, options: { peer: { type: "boolean" } } });
  await setUp([rust]);
  const { args, env } = values.peer ? againstPeer : alone;
  const { code } = await observe("cargo", args, { env: toolEnvironment(env) });
  if (code !== 0)
    throw new Stopped("The bench ended with a goal missed, or could not be built; see above.");
});
