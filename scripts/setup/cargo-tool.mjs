import { rmSync } from "node:fs";
import { answerOf, findOnPath, mustRun, observe } from "../command.mjs";
import { project } from "../project.mjs";

/** Whether every one of `programs` is on PATH or in this project's tools, in exactly `version`. */
export function areAllOfVersion(programs, version) {
  return programs.every((program) => {
    const path = findOnPath(program);
    return path !== undefined && answerOf(path, ["--version"])?.split(/\s+/).includes(version);
  });
}

/** Builds a crate's programs into this project's tools, in a target folder of its own. */
export async function installCrate(crate, version) {
  const args = ["install", crate, "--version", version, "--root", project.tools, "--force"];
  const target = `${project.tools}/cargo-target`;
  const options = { cwd: project.root, env: { ...process.env, CARGO_TARGET_DIR: target } };
  const { code } = await observe("cargo", [...args, "--locked"], options);
  if (code !== 0) {
    // A mirror of the registry may lack one exact version that the crate's lock file names; a compatible one does.
    console.log(`    ${crate} could not be built with its own lock file; trying without`);
    await mustRun("cargo", args, options);
  }
  rmSync(target, { recursive: true, force: true });
}
