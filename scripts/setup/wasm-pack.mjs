import { areAllOfVersion, installCrate } from "./cargo-tool.mjs";

const VERSION = "0.15.1";

/** wasm-pack, which builds and tests the wasm crate. */
export const wasmPack = {
  name: "wasm-pack",
  does: `building ${VERSION} with cargo into .tools`,
  usually: "2 min",
  byHand: `run \`cargo install wasm-pack --version ${VERSION} --locked\` and have ~/.cargo/bin on PATH.`,
  present: () => (areAllOfVersion(["wasm-pack"], VERSION) ? VERSION : undefined),
  provide: () => installCrate("wasm-pack", VERSION),
};
