import { readFileSync } from "node:fs";
import { answerOf } from "../command.mjs";
import { project } from "../project.mjs";

/** Whether the dotted version `found` is at least `wanted`. */
export function isAtLeast(found, wanted) {
  const [a, b] = [found, wanted].map((version) => version.split(".").map(Number));
  for (let i = 0; i < b.length; i += 1) {
    if ((a[i] ?? 0) !== b[i]) return (a[i] ?? 0) > b[i];
  }
  return true;
}

/** The oldest Rust the workspace promises to build with. */
function oldestRust() {
  const manifest = readFileSync(`${project.root}/Cargo.toml`, "utf8");
  const version = /^rust-version\s*=\s*"([^"]+)"/m.exec(manifest)?.[1];
  if (!version) throw new Error("Cargo.toml names no rust-version");
  return version;
}

/** The Rust toolchain itself: too personal a thing for a project's script to install. */
export const rust = {
  name: "Rust",
  does: "looking for cargo and rustc",
  usually: "no time",
  byHand:
    "install Rust by https://rustup.rs (or `rustup update stable` if it is too old), open a new shell, and run this again.",
  present() {
    const version = /^rustc (\d+\.\d+\.\d+)/.exec(answerOf("rustc", ["--version"]) ?? "")?.[1];
    if (!version || !answerOf("cargo", ["--version"])) return undefined;
    return isAtLeast(version, oldestRust()) ? version : undefined;
  },
};
