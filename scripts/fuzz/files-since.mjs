import { existsSync, readdirSync, statSync } from "node:fs";

/** The paths of the files in `folder` that were written at `time` (milliseconds since 1970) or later, sorted. */
export function filesSince(time, folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .map((name) => `${folder}/${name}`)
    .filter((path) => statSync(path).mtimeMs >= time)
    .sort();
}
