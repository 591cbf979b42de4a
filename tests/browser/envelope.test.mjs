// Oracle: the panel shows what an independent reading of the file's bytes finds, and refuses every file that is
// not exactly what its writer wrote, by the rule it breaks.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { InspectorPage, startBrowser } from "./inspector-page.mjs";

const fixturePath = new URL(
  "../../../shared/fixtures/flysess1/checkpoint-envelope.json",
  import.meta.url,
);
const skip = existsSync(fixturePath)
  ? false
  : "the reference's fixture ../shared/fixtures/flysess1/checkpoint-envelope.json is not here";

let browser;
let inspector;
before(async () => {
  browser = await startBrowser();
  inspector = await InspectorPage.open(await browser.visitor(), browser.url);
  await inspector.ready();
});
after(() => browser.close());

/** Opens a file and waits for the verdict on it. */
async function verdict(name, bytes) {
  await inspector.openEnvelope(name, bytes);
  await inspector.expectText("envelope-name", new RegExp(name.replaceAll(".", "\\.")));
  await inspector.page
    .locator('[data-testid="envelope"]:is([data-state="verified"], [data-state="refused"])')
    .waitFor({ state: "attached" });
  return inspector.control("envelope").getAttribute("data-state");
}

test("the reference's own file opens, with manifest, payloads and verified digests", {
  skip,
}, async () => {
  const fixture = JSON.parse(readFileSync(fixturePath, "utf8"));
  const bytes = Buffer.from(fixture.envelope.base64, "base64");
  assert.equal(await verdict("reference.flysess", bytes), "verified");
  const entries = fixture.envelope.layout.entries;
  await inspector.expectAttribute("payloads", "data-count", String(entries.length));
  for (const { name, offset, byteLength, digest } of entries) {
    const start = Number(offset);
    const payload = bytes.subarray(start, start + Number(byteLength));
    assert.equal(createHash("sha256").update(payload).digest("hex"), digest, "the fixture itself");
    await inspector.expectAttribute(`part-${name}`, "data-state", "verified");
  }
  assert.match(await inspector.text("manifest"), /lif-1ms-f64-v2/);
  await inspector.screenshot("envelope-reference");
});

test("each corruption the reference recorded is refused by its rule", { skip }, async () => {
  const fixture = JSON.parse(readFileSync(fixturePath, "utf8"));
  const rules = new Set();
  for (const [index, { offset }] of fixture.corruption.entries()) {
    const bytes = Buffer.from(fixture.envelope.base64, "base64");
    bytes[offset] ^= 0x01;
    assert.equal(await verdict(`corrupt-${index}.flysess`, bytes), "refused");
    const rule = await inspector.text("envelope-rule");
    assert.ok(rule.length > 0, "the rule is named");
    rules.add(rule);
  }
  assert.ok(rules.size >= 4, `different corruptions break different rules: ${[...rules]}`);
});

test("a checkpoint of this session opens; cut short, lengthened or with a flipped byte it is refused", async () => {
  await inspector.stepBy(2);
  await inspector.click("checkpoint");
  await inspector.expectAttribute("generations", "data-count", "1");
  const [id] = await inspector.page
    .locator('[data-testid^="export-ckpt"]')
    .evaluateAll((buttons) =>
      buttons.map((button) => button.dataset.testid.slice("export-".length)),
    );
  const bytes = await inspector.exportGeneration(id);
  assert.equal(bytes.subarray(0, 8).toString(), "FLYSESS1");
  assert.equal(bytes.readUInt32LE(8), 2, "version 2");
  assert.equal(await verdict("whole.flysess", bytes), "verified");

  assert.equal(await verdict("notes.flysess", Buffer.from("not an envelope at all")), "refused");
  assert.equal(await verdict("empty.flysess", Buffer.alloc(0)), "refused");
  assert.equal(await verdict("short.flysess", bytes.subarray(0, bytes.length - 1)), "refused");
  const shortRule = await inspector.text("envelope-rule");
  assert.equal(await verdict("long.flysess", Buffer.concat([bytes, Buffer.alloc(1)])), "refused");
  const middle = Buffer.from(bytes);
  middle[Math.floor(bytes.length / 2)] ^= 0x40;
  assert.equal(await verdict("flipped.flysess", middle), "refused");
  await inspector.screenshot("envelope-flipped");
  assert.notEqual(await inspector.text("envelope-rule"), shortRule, "another rule");
  assert.deepEqual(inspector.complaints, []);
});
