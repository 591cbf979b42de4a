// Oracle: a path that README.md or ARCHITECTURE.md names exists.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

const root = new URL("../../", import.meta.url);
/** Made by a build, or by a run of the tests: named in the documents, absent from a clone. */
const made = ["pkg", "dist", "test-results", ".tools"];

/** What is written in backticks or as a link and looks like a path of this repository. */
function pathsIn(text) {
  const quoted = [...text.matchAll(/`([^`\s]+)`/g)].map(([, path]) => path);
  const linked = [...text.matchAll(/\]\(([^)\s#:]+)\)/g)].map(([, path]) => path);
  const folders = /^(crates|web|scripts|tests|\.ci)\//;
  return [...quoted.filter((path) => folders.test(path)), ...linked].filter(
    (path) => !made.some((folder) => path === folder || path.startsWith(`${folder}/`)),
  );
}

for (const document of ["README.md", "ARCHITECTURE.md"]) {
  test(`every path in ${document} exists`, () => {
    const paths = pathsIn(readFileSync(new URL(document, root), "utf8"));
    assert.ok(paths.length > 0, "it names paths");
    assert.deepEqual(
      paths.filter((path) => !existsSync(new URL(path, root))),
      [],
    );
  });
}

test("canary: a path that does not exist is found", () => {
  const paths = pathsIn("see `crates/no-such/src/lib.rs` and [this](web/nowhere.ts), not `cargo`");
  assert.deepEqual(paths, ["crates/no-such/src/lib.rs", "web/nowhere.ts"]);
  assert.ok(paths.every((path) => !existsSync(new URL(path, root))));
});
