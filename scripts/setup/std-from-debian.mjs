// Builds Rust's standard library for wasm32 from Debian's rust-web-src with Debian's matching compiler, and lays it
// out as a sysroot that rustup can link. Debian's packages come from the mirror the machine already uses, which
// makes this work where rustup's server is out of reach.

import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { answerOf, findOnPath, isExecutable, mustRun } from "../command.mjs";
import { project } from "../project.mjs";
import { installDebianPackages } from "./debian-packages.mjs";

const RUSTC = "/usr/bin/rustc";
const CARGO = "/usr/bin/cargo";
const RUSTLIB = "/usr/lib/rustlib";

/** Builds the library for `target` unless this clone has it for the compiler now installed; returns its sysroot. */
export async function stdFromDebian(target) {
  if (!isExecutable(RUSTC) || !isExecutable(CARGO) || !existsSync(`${RUSTLIB}/src/rust/library`)) {
    await installDebianPackages("rustc-web", "cargo-web", "rust-web-src");
  }
  const compiler = answerOf(RUSTC, ["-vV"]);
  if (!compiler) throw new Error(`${RUSTC} does not run`);
  const sysroot = `${project.tools}/wasm-toolchain`;
  const stamp = `${sysroot}/built-by`;
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === compiler) return sysroot;

  const build = `${project.tools}/wasm-std-build`;
  for (const folder of [sysroot, build]) rmSync(folder, { recursive: true, force: true });
  const libraries = await buildStandardLibrary(build, target);
  layOut(sysroot, libraries, target, /^host: (.+)$/m.exec(compiler)[1], await findLinker());
  rmSync(build, { recursive: true, force: true });
  writeFileSync(stamp, compiler);
  return sysroot;
}

/** Compiles an empty crate together with the standard library; returns the paths of the library's parts. */
async function buildStandardLibrary(build, target) {
  mkdirSync(`${build}/src`, { recursive: true });
  // The empty [workspace] keeps cargo from taking this for a stray member of the project around it.
  const manifest =
    '[package]\nname = "wasm-std"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n';
  writeFileSync(`${build}/Cargo.toml`, `${manifest}[profile.release]\npanic = "abort"\n`);
  writeFileSync(`${build}/src/lib.rs`, "#![no_std]\n");
  const args = [
    "build",
    "--release",
    "-Zbuild-std=std,panic_abort,test,proc_macro",
    "--target",
    target,
  ];
  await mustRun(CARGO, [...args, "--target-dir", `${build}/target`], {
    cwd: build,
    env: { ...process.env, RUSTC, RUSTC_BOOTSTRAP: "1", CARGO_ENCODED_RUSTFLAGS: "" },
  });
  const deps = `${build}/target/${target}/release/deps`;
  return readdirSync(deps)
    .filter((file) => file.endsWith(".rlib") && !file.startsWith("libwasm_std-"))
    .map((file) => `${deps}/${file}`);
}

/** The linker for wasm: rustup's, else Debian's. */
async function findLinker() {
  const own = answerOf("rustc", ["--print", "target-libdir"])?.replace(/lib$/, "bin/rust-lld");
  if (own && isExecutable(own)) return own;
  if (!findOnPath("wasm-ld")) await installDebianPackages("lld");
  const linker = findOnPath("wasm-ld");
  if (!linker) throw new Error("there is no linker for wasm (rust-lld or wasm-ld)");
  return linker;
}

/** Arranges libraries, the host's own libraries, and wrappers around Debian's programs the way rustc expects. */
function layOut(sysroot, libraries, target, host, linker) {
  const bin = `${sysroot}/bin`;
  const folder = `${sysroot}/lib/rustlib/${target}/lib`;
  mkdirSync(bin, { recursive: true });
  mkdirSync(folder, { recursive: true });
  symlinkSync(`${RUSTLIB}/${host}`, `${sysroot}/lib/rustlib/${host}`);
  symlinkSync(`${RUSTLIB}/src`, `${sysroot}/lib/rustlib/src`);
  for (const library of libraries) copyFileSync(library, `${folder}/${library.split("/").at(-1)}`);
  // rustc looks for rust-lld on PATH when it is not beside the host's libraries.
  symlinkSync(linker, `${bin}/rust-lld`);
  const wrappers = {
    rustc: `PATH="${bin}:$PATH" exec ${RUSTC} --sysroot "${sysroot}" "$@"`,
    rustdoc: `exec /usr/bin/rustdoc --sysroot "${sysroot}" "$@"`,
    cargo: `exec ${CARGO} "$@"`,
  };
  for (const [name, line] of Object.entries(wrappers)) {
    writeFileSync(`${bin}/${name}`, `#!/bin/sh\n${line}\n`);
    chmodSync(`${bin}/${name}`, 0o755);
  }
}
