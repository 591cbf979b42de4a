// Oracle: whatever was broken and restored in between, a session does what a session that was never broken
// does; and in between no byte is shown that was not last written by work that succeeded.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { behaviourOf, InspectorPage, startBrowser } from "./inspector-page.mjs";

let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

/** Breaks the field kernel at boundary 10 and takes the step; returns the label of the buffer it spoiled. */
async function breakField(inspector) {
  await inspector.stepBy(10);
  await inspector.control("fault-invalid-shader-kernel").selectOption("field");
  await inspector.click("arm-invalid-shader");
  await inspector.expectAttribute("fault-invalid-shader", "data-armed", "true");
  await inspector.click("step");
  await inspector.expectText("boundary", "11");
  const failed = await inspector.waitForState("failed");
  assert.equal(failed.length, 1, `exactly one buffer is spoiled, found ${failed}`);
  return failed[0];
}

for (const colorScheme of ["dark", "light"]) {
  test(`broken, seen, rewritten, checkpointed, lost and restored, in ${colorScheme}`, async () => {
    const context = await browser.visitor({ colorScheme });
    const inspector = await InspectorPage.open(context, browser.url);
    await inspector.ready();
    await inspector.expectAttribute("backend", "data-kind", "webgpu");
    await inspector.screenshot(`first-light-${colorScheme}-1-open`);

    const spoiled = await breakField(inspector);
    assert.match(spoiled, /^world\/field-[ab]$/);
    const states = Object.entries(await inspector.states());
    assert.ok(states.length >= 10, "the session's state is many buffers");
    for (const [label, state] of states) {
      assert.equal(state, label === spoiled ? "failed" : "trusted", label);
    }

    assert.equal(await inspector.read(spoiled), "refused");
    const root = await inspector.text("root-failure");
    assert.match(root, /shader `field` failed to compile/i);
    assert.match(root, /line \d+, column \d+/);
    await inspector.expectText("failures", /shader `field` failed to compile/i);
    await inspector.screenshot(`first-light-${colorScheme}-2-refused`);
    assert.equal(await inspector.read("world/view"), "bytes", "what nothing touched still reads");

    // Over spoiled bytes there is no step and no checkpoint, and the session stays where it is.
    for (const action of ["step", "checkpoint"]) {
      await inspector.click(action);
      await inspector.expectAttribute("notice", "data-tone", "error");
      await inspector.expectText("notice", /field/);
      await inspector.click("dismiss-notice");
      assert.equal(await inspector.text("boundary"), "11");
      await inspector.expectAttribute("phase", "data-phase", "ready");
    }
    await inspector.expectAttribute("generations", "data-count", "0");

    assert.equal(await inspector.read(spoiled), "refused");
    await inspector.click("rewrite");
    await inspector.expectAttribute(`buffer-${spoiled}`, "data-state", "trusted");
    assert.equal(await inspector.read(spoiled), "bytes");
    await inspector.control("hex").waitFor();

    await inspector.click("checkpoint");
    await inspector.expectAttribute("generations", "data-count", "1");
    await inspector.expectText("durable", /11/);
    await inspector.click("checkpoint");
    await inspector.expectText("notice", /durable already/);
    await inspector.expectAttribute("generations", "data-count", "1");

    await inspector.click("arm-device-loss");
    await inspector.expectAttribute("phase", "data-phase", "failed");
    await inspector.expectText("fence", /closed/i);
    await inspector.screenshot(`first-light-${colorScheme}-3-lost`);
    assert.equal(await inspector.read("world/view"), "refused");
    assert.match(await inspector.text("root-failure"), /lost/);

    await inspector.page.locator('[data-testid^="restore-"]').first().click();
    await inspector.expectText("epoch", "e2");
    await inspector.expectText("boundary", "11");
    await inspector.expectText("fence", /open/i);
    await inspector.stepBy(1);
    await inspector.screenshot(`first-light-${colorScheme}-4-restored`);

    await inspector.click("prove");
    await inspector.control("proof").waitFor();
    await inspector.expectAttribute("proof", "data-equal", "true");

    const trace = behaviourOf(await inspector.exportTrace());
    assert.equal(trace.length, 12);
    const unbroken = await InspectorPage.open(await browser.visitor(), browser.url);
    await unbroken.ready();
    await unbroken.stepBy(12);
    const expected = behaviourOf(await unbroken.exportTrace());
    assert.equal(expected.length, 12);
    assert.deepEqual(trace, expected);
    assert.deepEqual(inspector.complaints, []);
    assert.deepEqual(unbroken.complaints, []);
    await unbroken.page.context().close();
    await context.close();
  });
}

test("canary: another seed is another trace, and both comparisons notice", async () => {
  const context = await browser.visitor();
  const inspector = await InspectorPage.open(context, browser.url);
  await inspector.ready();
  await inspector.stepBy(3);
  const trace = behaviourOf(await inspector.exportTrace());
  const other = await InspectorPage.open(await browser.visitor(), `${browser.url}?seed=8`);
  await other.ready();
  await other.stepBy(3);
  assert.notDeepEqual(behaviourOf(await other.exportTrace()), trace);
  await other.page.context().close();
  await context.close();
});

test("a killed participant fails the epoch by name, and the group is restored", async () => {
  const context = await browser.visitor();
  const inspector = await InspectorPage.open(context, browser.url);
  await inspector.ready();
  await inspector.stepBy(4);
  await inspector.click("checkpoint");
  await inspector.expectAttribute("generations", "data-count", "1");
  await inspector.stepBy(2);
  await inspector.control("fault-kill-participant-participant").selectOption("fly-b");
  await inspector.click("arm-kill-participant");
  await inspector.click("step");
  await inspector.expectAttribute("phase", "data-phase", "failed");
  await inspector.expectText("session-failure", /fly-b/);
  await inspector.page.locator('[data-testid^="restore-"]').first().click();
  await inspector.expectText("epoch", "e2");
  await inspector.expectText("boundary", "4");
  await inspector.stepBy(3);
  await inspector.click("prove");
  await inspector.expectAttribute("proof", "data-equal", "true");
  assert.deepEqual(inspector.complaints, []);
  await context.close();
});

for (const kernel of ["agent", "view"]) {
  test(`a broken ${kernel} kernel fails the step and leaves everything to look into`, async () => {
    const context = await browser.visitor();
    const inspector = await InspectorPage.open(context, browser.url);
    await inspector.ready();
    await inspector.stepBy(2);
    await inspector.click("checkpoint");
    await inspector.expectAttribute("generations", "data-count", "1");
    await inspector.control("fault-invalid-shader-kernel").selectOption(kernel);
    await inspector.click("arm-invalid-shader");
    await inspector.click("step");
    await inspector.expectAttribute("phase", "data-phase", "failed");
    await inspector.expectText("session-failure", new RegExp(`shader \`${kernel}\``, "i"));
    const failed = await inspector.waitForState("failed");
    assert.equal(await inspector.read(failed[0]), "refused");
    assert.match(await inspector.text("root-failure"), new RegExp(`shader \`${kernel}\``, "i"));
    assert.equal(await inspector.read("world/food"), "bytes");
    await inspector.page.locator('[data-testid^="restore-"]').first().click();
    await inspector.expectText("epoch", "e2");
    await inspector.stepBy(2);
    await inspector.click("prove");
    await inspector.expectAttribute("proof", "data-equal", "true");
    await context.close();
  });
}

test("run, pause and step again, and the view moves", async () => {
  const context = await browser.visitor();
  const inspector = await InspectorPage.open(context, browser.url);
  await inspector.ready();
  await inspector.control("speed").selectOption("max");
  await inspector.click("run");
  await inspector.expectText("boundary", /[2-9]\d|\d{3}/);
  await inspector.click("pause");
  await inspector.expectAttribute("phase", "data-phase", "paused");
  const paused = Number(await inspector.text("boundary"));
  await inspector.stepBy(1);
  assert.equal(Number(await inspector.text("boundary")), paused + 1);
  await inspector.expectAttribute("world", "data-state", "picture");
  assert.deepEqual(inspector.complaints, []);
  await context.close();
});
