import { findOnPath, mustRun } from "../command.mjs";

/** Installs packages of Debian (or a system derived from it); throws where that is not possible. */
export async function installDebianPackages(...names) {
  if (!findOnPath("apt-get")) throw new Error("this system has no apt-get to install it with");
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && !findOnPath("sudo"))
    throw new Error("installing it needs root, and there is no sudo");
  // -n: a password prompt in the middle of a build would look like a hang.
  const [program, ...lead] = isRoot ? ["apt-get"] : ["sudo", "-n", "apt-get"];
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  await mustRun(program, [...lead, "update", "-qq"], { env });
  await mustRun(program, [...lead, "install", "-y", "-qq", "--no-install-recommends", ...names], {
    env,
  });
}
