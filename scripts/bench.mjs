// `npm run bench`: what a crate costs, against a limit or the best known implementation, measured in the same run.

import { mkdirSync, writeFileSync } from "node:fs";
import { benchDevice } from "./bench/device.mjs";
import { benchSession } from "./bench/session.mjs";
import { benchStore } from "./bench/store.mjs";
import { mustRun, observe, toolEnvironment } from "./command.mjs";
import { readArguments, runCommand, Stopped, UsageError } from "./entry.mjs";
import { project } from "./project.mjs";
import { chromium } from "./setup/chromium.mjs";
import { nodePackages } from "./setup/node-packages.mjs";
import { rust } from "./setup/rust.mjs";
import { setUp } from "./setup/steps.mjs";
import { wasmBindgen } from "./setup/wasm-bindgen.mjs";
import { WASM_TARGET, wasmEnvironment, wasmTarget } from "./setup/wasm-target.mjs";

const help = `npm run bench -- CRATE [--wasm | --peer | --growth | --browser]
npm run bench:memory is short for npm run bench -- memory

Ends with status 1 when a goal is missed. Not part of npm test; best on an idle machine.

  memory     the cycle of a launch, claims and lookups on fragmented allocations, a long report, snapshots
  envelope   encoding and decoding 1 KiB to 256 MiB, against one copy and one BLAKE3 pass
  device     launches and reads in Chromium, against raw wgpu and raw WebGPU in JavaScript
  session    transitions of the counter composition in process, on threads and in processes, against the participants'
             own work and against the bare sockets
  store      commits of 1, 16 and 64 MiB on a file system, against the bare writes and syncs of the same bytes; steps of a
             session while its store saves; a restore's reading, against one copy

  --wasm   of envelope: built for wasm32 with SIMD, under Node.js
  --peer   of memory: against CubeCL's cubecl-server, in one process (builds it first: usually 11 min, once)
  --growth of session: a million steps instead, and whether memory grows
  --browser of session: in Chromium instead, in the session's program, in workers and in isolated frames;
            of store: in Chromium's private storage`;

const CRATES = ["memory", "envelope", "device", "session", "store"];
/** Benches that another crate has than the one they are about. */
const BENCHED_IN = { session: "native", store: "native" };

/** What a bench in a page needs: it is built for wasm. */
const forPage = [nodePackages, rust, wasmTarget, wasmBindgen, chromium];

const natively = (crate) => ({
  args: [
    "bench",
    ...["--package", `wellwritten-${BENCHED_IN[crate] ?? crate}`],
    ...["--bench", crate, "--locked"],
  ],
  env: {},
});

/** A package of its own, with its own lock file; its target folder is one that git ignores already. */
const againstPeer = {
  args: ["run", "--release", "--locked", "--manifest-path", "benches/peer/Cargo.toml"],
  env: { CARGO_TARGET_DIR: process.env.CARGO_TARGET_DIR ?? `${project.root}/target/peer` },
};

/** Builds a crate's bench for wasm and runs it under this Node.js; resolves to its exit status. */
async function inWasm(crate) {
  const env = toolEnvironment(wasmEnvironment());
  const { args } = natively(crate);
  const output = await mustRun("cargo", [...args, "--no-run", "--target", WASM_TARGET], { env });
  // Cargo adds a hash to the name, and says what it is.
  const module = /^\s*Executable .*\((.+\.wasm)\)$/m.exec(output)?.[1];
  if (module === undefined) throw new Stopped("Cargo does not say what it built.");
  const glue = `${project.root}/target/bench-wasm/${crate}`;
  mkdirSync(glue, { recursive: true });
  // wasm-bindgen's glue for Node.js is CommonJS, which this project's package.json would have read as a module.
  writeFileSync(`${glue}/package.json`, '{ "type": "commonjs" }\n');
  const bindgen = ["--target", "nodejs", "--out-dir", glue, "--out-name", crate, module];
  await mustRun("wasm-bindgen", bindgen, { env });
  const { code } = await observe(process.execPath, [`${glue}/${crate}.js`]);
  return code;
}

await runCommand(async () => {
  const { values, positionals } = readArguments({
    help,
    options: {
      browser: { type: "boolean" },
      growth: { type: "boolean" },
      peer: { type: "boolean" },
      wasm: { type: "boolean" },
    },
    allowPositionals: true,
  });
  const [crate, ...rest] = positionals;
  if (!CRATES.includes(crate) || rest.length > 0)
    throw new UsageError(`There is no bench "${positionals.join(" ")}".\n\n${help}`);
  const belongs = {
    browser: ["session", "store"],
    growth: ["session"],
    peer: ["memory"],
    wasm: ["envelope"],
  };
  if (Object.keys(values).some((option) => belongs[option]?.includes(crate) === false))
    throw new UsageError(`The bench of ${crate} has no such form.\n\n${help}`);
  const inPage = crate === "device" || values.browser;
  await setUp(inPage ? forPage : values.wasm ? [rust, wasmTarget, wasmBindgen] : [rust]);
  let code;
  if (inPage) {
    const bench = { device: benchDevice, session: benchSession, store: benchStore }[crate];
    code = (await bench()) ? 0 : 1;
  } else if (values.wasm) {
    code = await inWasm(crate);
  } else {
    const { args, env } = values.peer ? againstPeer : natively(crate);
    const more = values.growth ? ["--", "--growth"] : [];
    ({ code } = await observe("cargo", [...args, ...more], { env: toolEnvironment(env) }));
  }
  if (code !== 0)
    throw new Stopped("The bench ended with a goal missed, or could not be built; see above.");
});
