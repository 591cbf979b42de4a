// `npm run generate`: the files that are made from the Rust types and committed.

import { mustRun, toolEnvironment } from "./command.mjs";
import { readArguments, runCommand } from "./entry.mjs";

/** The tests that compare a committed file with what the types give, and write it instead when told to. */
const GENERATORS = ["manifest_schema", "manifest_samples", "manifest_corpus"];

const help = `npm run generate

Writes what Rust generates for TypeScript and what is committed, then says where:
  web/src/generated    the JSON Schema of the manifest
  web/test/generated   sample envelopes, and the reader's verdicts on damaged manifests
A test fails when any of them is stale.`;

await runCommand(async () => {
  readArguments({ help });
  const tests = GENERATORS.flatMap((name) => ["--test", name]);
  const env = toolEnvironment({ WELLWRITTEN_GENERATE: "1" });
  await mustRun("cargo", ["test", "--quiet", "-p", "wellwritten-envelope", ...tests], { env });
  console.log(
    "Generated: web/src/generated and web/test/generated. Look at the difference and commit it.",
  );
});
