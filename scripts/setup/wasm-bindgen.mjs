import { readFileSync } from "node:fs";
import { project } from "../project.mjs";
import { areAllOfVersion, installCrate } from "./cargo-tool.mjs";

const PROGRAMS = ["wasm-bindgen", "wasm-bindgen-test-runner"];

/** The version of `crate` that the text of a Cargo.lock names, or `undefined`. */
export function lockedVersion(lock, crate) {
  for (const entry of lock.split("[[package]]")) {
    if (new RegExp(`^name = "${crate}"$`, "m").test(entry))
      return /^version = "([^"]+)"$/m.exec(entry)?.[1];
  }
  return undefined;
}

/** The program and the crate speak a format that changes between versions, so the lock file decides. */
function wantedVersion() {
  const version = lockedVersion(readFileSync(`${project.root}/Cargo.lock`, "utf8"), "wasm-bindgen");
  if (!version) throw new Error("Cargo.lock names no wasm-bindgen");
  return version;
}

/** The wasm-bindgen command line tool, equal to the crate's version in Cargo.lock. */
export const wasmBindgen = {
  name: "wasm-bindgen",
  does: "building the version that Cargo.lock names with cargo into .tools",
  usually: "3 min",
  byHand:
    "run `cargo install wasm-bindgen-cli --version V` with the version V of wasm-bindgen in Cargo.lock, and have " +
    "~/.cargo/bin on PATH.",
  present() {
    const version = wantedVersion();
    return areAllOfVersion(PROGRAMS, version) ? version : undefined;
  },
  provide: () => installCrate("wasm-bindgen-cli", wantedVersion()),
};
