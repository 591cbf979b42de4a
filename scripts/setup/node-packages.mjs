import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mustRun } from "../command.mjs";
import { project } from "../project.mjs";

const stamp = `${project.nodeModules}/.wellwritten-lock`;

/** Some packages hold programs for one system, so the stamp names the system beside the lock file's digest. */
function wanted() {
  const digest = createHash("sha256")
    .update(readFileSync(`${project.root}/package-lock.json`))
    .digest("hex");
  return `${digest} ${process.platform}-${process.arch}\n`;
}

/** The Node packages of package-lock.json, exactly. */
export const nodePackages = {
  name: "Node packages",
  does: "installing what package-lock.json lists, with `npm ci`",
  usually: "20 s",
  byHand: "run `npm ci` in the project folder with a network connection, and read its output.",
  present() {
    const done = existsSync(stamp) && readFileSync(stamp, "utf8") === wanted();
    return done ? "as package-lock.json lists them" : undefined;
  },
  async provide() {
    // No package here needs an install script, so none gets to run.
    await mustRun("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    writeFileSync(stamp, wanted());
  },
};
