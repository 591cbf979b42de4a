// The standard library for wasm32. Most machines get it from rustup; where rustup cannot reach its server, it is
// built from Debian's sources (std-from-debian.mjs) and linked to rustup as a toolchain of its own.

import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { answerOf, findOnPath, mustRun, observe, toolEnvironment } from "../command.mjs";
import { stdFromDebian } from "./std-from-debian.mjs";

export const WASM_TARGET = "wasm32-unknown-unknown";
/** The rustup toolchain that holds a standard library built here. It may belong to another clone. */
export const LINKED_TOOLCHAIN = "wellwritten-wasm";

/** Longest wait for rustup before its server counts as out of reach, in milliseconds. */
const RUSTUP_PATIENCE = 120_000;

const linkedEnvironment = () => ({ RUSTUP_TOOLCHAIN: LINKED_TOOLCHAIN });

/** Whether the toolchain that `extra` selects has a standard library for wasm32. */
function hasStandardLibrary(extra) {
  const sysroot = answerOf("rustc", ["--print", "sysroot"], { env: toolEnvironment(extra) });
  if (!sysroot) return false;
  const folder = `${sysroot}/lib/rustlib/${WASM_TARGET}/lib`;
  return existsSync(folder) && readdirSync(folder).some((file) => /^libstd-.*\.rlib$/.test(file));
}

/**
 * Whether the linked toolchain compiles for wasm32. Its folder may be gone with the clone that made it, and its
 * library is of no use once Debian has updated the compiler it was built by; only compiling tells both.
 */
function linkedToolchainWorks() {
  if (!hasStandardLibrary(linkedEnvironment())) return false;
  // A real folder: rustc replaces whatever its output path names, and as root that would replace /dev/null itself.
  const folder = mkdtempSync(join(tmpdir(), "wellwritten-probe-"));
  try {
    writeFileSync(`${folder}/probe.rs`, "pub fn probe() -> Vec<u8> { Vec::new() }\n");
    const args = [
      "--target",
      WASM_TARGET,
      "--crate-type",
      "rlib",
      "--emit",
      "metadata",
      "probe.rs",
    ];
    const env = toolEnvironment(linkedEnvironment());
    return answerOf("rustc", args, { env, cwd: folder }) !== undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What to add to the environment of cargo and wasm-pack so that they build for wasm32. */
export function wasmEnvironment() {
  return hasStandardLibrary({}) ? {} : linkedEnvironment();
}

/** Whether clippy can check wasm32 code: the linked toolchain comes without it. */
export function hasClippyForWasm() {
  return (
    answerOf("cargo", ["clippy", "--version"], { env: toolEnvironment(wasmEnvironment()) }) !==
    undefined
  );
}

/** The wasm32 standard library. */
export const wasmTarget = {
  name: "wasm32 standard library",
  does: "adding it with rustup, or else building it from Debian’s Rust sources",
  usually: "5 s with rustup, 2 min from sources",
  byHand:
    `run \`rustup target add ${WASM_TARGET}\` with a connection to static.rust-lang.org, or on Debian run ` +
    "`apt-get install rustc-web cargo-web rust-web-src` as root and start this again.",
  present() {
    if (hasStandardLibrary({})) return "part of the Rust toolchain in use";
    return linkedToolchainWorks() ? `linked to rustup as ${LINKED_TOOLCHAIN}` : undefined;
  },
  async provide() {
    if (!findOnPath("rustup"))
      throw new Error("the Rust in use has none, and there is no rustup to add it with");
    const { code } = await observe("rustup", ["target", "add", WASM_TARGET], {
      timeout: RUSTUP_PATIENCE,
    });
    if (code === 0 && hasStandardLibrary({})) return;
    console.log("    rustup could not provide it; building it from Debian’s sources instead");
    const sysroot = await stdFromDebian(WASM_TARGET);
    // A link of that name to a folder that is gone would stay in the way.
    await observe("rustup", ["toolchain", "uninstall", LINKED_TOOLCHAIN]);
    await mustRun("rustup", ["toolchain", "link", LINKED_TOOLCHAIN, sysroot]);
  },
};
