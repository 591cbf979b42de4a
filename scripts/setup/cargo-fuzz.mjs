import { areAllOfVersion, installCrate } from "./cargo-tool.mjs";

const VERSION = "0.13.2";

/** cargo-fuzz, which builds and runs what is below crates/memory/fuzz. */
export const cargoFuzz = {
  name: "cargo-fuzz",
  does: `building ${VERSION} with cargo into .tools, which only fuzzing needs`,
  usually: "1 min",
  byHand: `run \`cargo install cargo-fuzz --version ${VERSION} --locked\` and have ~/.cargo/bin on PATH.`,
  present: () => (areAllOfVersion(["cargo-fuzz"], VERSION) ? VERSION : undefined),
  provide: () => installCrate("cargo-fuzz", VERSION),
};
