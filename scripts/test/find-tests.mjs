import { existsSync, readdirSync, readFileSync } from "node:fs";
import { project } from "../project.mjs";

/** Files below `folder` (relative to the project) whose path matches `pattern`, as relative paths, sorted. */
export function filesMatching(folder, pattern) {
  const full = `${project.root}/${folder}`;
  if (!existsSync(full)) return [];
  return readdirSync(full, { recursive: true })
    .map((file) => `${folder}/${file.replaceAll("\\", "/")}`)
    .filter((file) => pattern.test(file) && !/\/(node_modules|target)\//.test(file))
    .sort();
}

/** The folders of crates whose Rust sources contain `marker`, such as `#[test]`. */
export function cratesContaining(marker) {
  const files = filesMatching("crates", /\.rs$/).filter((file) =>
    readFileSync(`${project.root}/${file}`, "utf8").includes(marker),
  );
  return [...new Set(files.map((file) => file.split("/").slice(0, 2).join("/")))];
}
