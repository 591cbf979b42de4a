// One stage of the build: it runs only when something it reads has changed since it last succeeded.

import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { readableDuration } from "../duration.mjs";
import { project } from "../project.mjs";

/** Files below `path` (a file or a folder, relative to the project), sorted, without those that `leaveOut` matches. */
function filesBelow(path, leaveOut) {
  const full = `${project.root}/${path}`;
  if (leaveOut?.test(path) || !existsSync(full)) return [];
  if (!statSync(full).isDirectory()) return [path];
  const names = readdirSync(full).sort();
  return names.flatMap((name) => filesBelow(`${path}/${name}`, leaveOut));
}

/** A digest over names and contents of all files below `inputs`, and over the strings in `also`. */
export function digestOf(inputs, { also = [], leaveOut } = {}) {
  const hash = createHash("sha256");
  for (const text of also) hash.update(`${text}\0`);
  for (const file of inputs.flatMap((input) => filesBelow(input, leaveOut))) {
    const content = readFileSync(`${project.root}/${file}`);
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

/**
 * @typedef {object} Stage
 * @property {string} name what is built; also names the stage's stamp
 * @property {string} usually how long that usually takes
 * @property {() => string} digest stands for everything the stage reads
 * @property {string[]} outputs absolute paths that must exist for the stage to count as done
 * @property {() => Promise<void>} build
 */

/** Brings a stage up to date. */
export async function bringUpToDate(stage) {
  const stamp = `${project.root}/dist/.stamps/${stage.name.replaceAll(" ", "-")}`;
  const digest = stage.digest();
  if (
    existsSync(stamp) &&
    readFileSync(stamp, "utf8") === digest &&
    stage.outputs.every((path) => existsSync(path))
  ) {
    console.log(`  ✓ ${stage.name}: up to date`);
    return;
  }
  console.log(`  … ${stage.name} (usually ${stage.usually})`);
  const start = performance.now();
  // Gone before the work starts, so that work cut short is not taken for done.
  rmSync(stamp, { force: true });
  await stage.build();
  mkdirSync(`${project.root}/dist/.stamps`, { recursive: true });
  writeFileSync(stamp, digest);
  console.log(`  ✓ ${stage.name}: built in ${readableDuration(performance.now() - start)}`);
}
