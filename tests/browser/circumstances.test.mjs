// Oracle: what a session does depends neither on the backend nor on reloading the page; what cannot be had is said.

import assert from "node:assert/strict";
import { test } from "node:test";
import { behaviourOf, InspectorPage, startBrowser } from "./inspector-page.mjs";

test("without WebGPU the session runs on the CPU, says so, and its trace is identical", async () => {
  const withGpu = await startBrowser();
  const withoutGpu = await startBrowser({ webgpu: false });
  const traces = [];
  for (const [browser, kind] of [
    [withGpu, "webgpu"],
    [withoutGpu, "cpu"],
  ]) {
    const inspector = await InspectorPage.open(await browser.visitor(), browser.url);
    await inspector.ready();
    await inspector.expectAttribute("backend", "data-kind", kind);
    await inspector.stepBy(60);
    traces.push(behaviourOf(await inspector.exportTrace()));
    if (kind === "cpu") {
      await inspector.expectText("backend", /CPU/);
      await inspector.screenshot("no-webgpu");
    }
  }
  assert.equal(traces[0].length, 60);
  assert.deepEqual(traces[1], traces[0]);
  await withGpu.close();
  await withoutGpu.close();
});

test("on the CPU a broken launch is seen, rewritten and restored from just the same", async () => {
  const browser = await startBrowser({ webgpu: false });
  const inspector = await InspectorPage.open(await browser.visitor(), browser.url);
  await inspector.ready();
  await inspector.stepBy(3);
  await inspector.control("fault-invalid-shader-kernel").selectOption("field");
  await inspector.click("arm-invalid-shader");
  await inspector.stepBy(1);
  const [spoiled] = await inspector.waitForState("failed");
  assert.equal(await inspector.read(spoiled), "refused");
  assert.match(await inspector.text("root-failure"), /field/);
  await inspector.click("rewrite");
  await inspector.expectAttribute(`buffer-${spoiled}`, "data-state", "trusted");
  await inspector.click("checkpoint");
  await inspector.expectAttribute("generations", "data-count", "1");
  await inspector.click("arm-device-loss");
  await inspector.expectAttribute("phase", "data-phase", "failed");
  await inspector.page.locator('[data-testid^="restore-"]').first().click();
  await inspector.expectText("epoch", "e2");
  await inspector.stepBy(2);
  await inspector.click("prove");
  await inspector.expectAttribute("proof", "data-equal", "true");
  assert.deepEqual(inspector.complaints, []);
  await browser.close();
});

test("a second tab on the same store is told so, and gets it when the first one goes", async () => {
  const browser = await startBrowser();
  const context = await browser.visitor();
  const first = await InspectorPage.open(context, browser.url);
  await first.ready();
  await first.stepBy(1);
  const second = await InspectorPage.open(context, browser.url);
  await second.page.locator('#opening[data-code="STORE_LOCKED"]').waitFor();
  assert.match(await second.page.locator("#happened").textContent(), /another tab/);
  await second.screenshot("second-tab");
  await first.stepBy(1);
  await first.page.close();
  await second.click("retry");
  await second.ready();
  await browser.close();
});

test("a reload offers the newest generation, and going on from it equals a run that never stopped", async () => {
  const browser = await startBrowser();
  const context = await browser.visitor();
  const inspector = await InspectorPage.open(context, browser.url);
  await inspector.ready();
  await inspector.stepBy(5);
  await inspector.click("checkpoint");
  await inspector.expectAttribute("generations", "data-count", "1");
  await inspector.stepBy(3);
  await inspector.page.reload();
  await inspector.control("resume-choice").waitFor();
  await inspector.expectAttribute("phase", "data-phase", "starting");
  await inspector.screenshot("resume-choice");
  await inspector.click("resume-latest");
  await inspector.expectText("boundary", "5");
  await inspector.stepBy(4);
  const resumed = behaviourOf(await inspector.exportTrace());
  assert.deepEqual(
    resumed.map(({ step }) => step),
    ["5", "6", "7", "8"],
  );
  const unbroken = await InspectorPage.open(await browser.visitor(), browser.url);
  await unbroken.ready();
  await unbroken.stepBy(9);
  assert.deepEqual(resumed, behaviourOf(await unbroken.exportTrace()).slice(5));

  await inspector.page.reload();
  await inspector.control("resume-choice").waitFor();
  await inspector.click("begin");
  await inspector.expectText("boundary", "0");
  assert.notEqual(await inspector.text("epoch"), "e1", "an epoch is never used again");
  await inspector.stepBy(1);
  assert.deepEqual(inspector.complaints, []);
  await browser.close();
});
