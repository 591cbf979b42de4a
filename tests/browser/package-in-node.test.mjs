// Oracle: the published package, installed as others would, reads in Node the files that Rust wrote, without a DOM.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const root = new URL("../../", import.meta.url);
const samples = new URL("web/test/generated/envelopes/", root);
const sample = JSON.parse(readFileSync(new URL("version-2.json", samples), "utf8"));

let folder;
before(() => {
  folder = mkdtempSync(`${tmpdir()}/wellwritten-in-node-`);
  mkdirSync(`${folder}/node_modules`);
  cpSync(fileURLToPath(new URL("pkg", root)), `${folder}/node_modules/wellwritten`, {
    recursive: true,
  });
  writeFileSync(`${folder}/sample.json`, JSON.stringify(sample));
});
after(() => rmSync(folder, { recursive: true }));

/** What a program that imports the package prints, as JSON. */
function run(program) {
  writeFileSync(`${folder}/program.mjs`, program);
  const { status, stdout, stderr } = spawnSync(process.execPath, ["program.mjs"], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  assert.equal(stderr, "", "nothing is complained about");
  return JSON.parse(stdout);
}

test("importing touches no global and loads nothing; loading finds the module beside the script", () => {
  const found = run(`
    const before = Object.getOwnPropertyNames(globalThis);
    const wellwritten = await import("wellwritten");
    const touched = Object.getOwnPropertyNames(globalThis).filter((name) => !before.includes(name));
    const code = (() => {
      try { wellwritten.decodeEnvelope(new Uint8Array()); } catch (error) { return error.code; }
    })();
    await wellwritten.loadWellwritten();
    const refused = wellwritten.describeEnvelope(new Uint8Array()).refusal.rule;
    console.log(JSON.stringify({ touched, code, refused, dom: typeof document }));
  `);
  assert.deepEqual(found, { touched: [], code: "NOT_LOADED", refused: "length", dom: "undefined" });
});

test("a file is read, written again and held against the schema's file", () => {
  const found = run(`
    import { readFileSync } from "node:fs";
    import { createRequire } from "node:module";
    import { decodeEnvelope, encodeEnvelope, loadWellwritten, manifestSchema } from "wellwritten";
    await loadWellwritten();
    const file = Buffer.from(JSON.parse(readFileSync("sample.json", "utf8")).base64, "base64");
    const { manifest, payloads } = decodeEnvelope(file);
    const again = encodeEnvelope(manifest, new Map(payloads.map((p) => [p.name, p.bytes()])));
    const schema = createRequire(import.meta.url)("wellwritten/manifest.schema.json");
    const [first] = payloads;
    console.log(JSON.stringify({
      manifest,
      same: Buffer.compare(file, again) === 0,
      inPlace: first.bytes().buffer === file.buffer,
      payload: Buffer.from(first.bytes()).toString("base64"),
      schema: JSON.stringify(schema) === JSON.stringify(manifestSchema) && schema.oneOf.length,
    }));
  `);
  assert.deepEqual(found, {
    manifest: sample.manifest,
    same: true,
    inPlace: true,
    payload: sample.payloads[0].base64,
    schema: 2,
  });
});

test("a module that is not there, or is none, fails by name and can be tried again", () => {
  const found = run(`
    import { describeEnvelope, loadWellwritten } from "wellwritten";
    const code = async (wasmUrl) =>
      loadWellwritten({ wasmUrl }).then(() => "loaded", (error) => error.code + " " + error.context.wasmUrl);
    const missing = await code("nowhere.wasm");
    const none = await code("wellwritten.js");
    const found = await code(import.meta.resolve("wellwritten").replace(/wellwritten.js$/, "wellwritten_page_bg.wasm"));
    console.log(JSON.stringify({ missing, none, found, works: describeEnvelope(new Uint8Array()).refusal.rule }));
  `);
  assert.deepEqual(found, {
    missing: "LOAD_FAILED nowhere.wasm",
    none: "LOAD_FAILED wellwritten.js",
    found: "loaded",
    works: "length",
  });
});
