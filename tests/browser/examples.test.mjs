// Oracle: 2048 is due in every buffer and 512 was there before, whatever a page says of it; and the rules of the game
// of life, played cell by cell, say what a replayed simulation shows.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import AxeBuilder from "@axe-core/playwright";
import { InspectorPage, startBrowser } from "./inspector-page.mjs";

const SCREENS = [
  { colorScheme: "dark", width: 1280, height: 800 },
  { colorScheme: "light", width: 1280, height: 800 },
  { colorScheme: "dark", width: 360, height: 740 },
  { colorScheme: "light", width: 360, height: 740 },
];

const sourceOf = (path) =>
  readFileSync(new URL(`../../web/examples/${path}`, import.meta.url), "utf8").trim();

let browser;
let withoutGpu;
before(async () => {
  browser = await startBrowser();
  withoutGpu = await startBrowser({ webgpu: false });
});
after(async () => {
  await browser.close();
  await withoutGpu.close();
});

async function openExample(name, { from = browser, query = "", ...screen } = {}) {
  const context = await from.visitor(screen);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const example = await InspectorPage.open(context, `${from.url}examples/${name}.html${query}`);
  await idle(example);
  return example;
}

/** Waits until the page is through with what it does. */
const idle = ({ page }) => page.locator("body[data-ready=true]").waitFor();

async function press(example, button) {
  await example.page.evaluate(() => {
    document.body.dataset.ready = "false";
  });
  await example.click(button);
  await idle(example);
}

/** What a side says of each buffer: what was read, and the verdict. */
async function answers(example, side) {
  const rows = example.control(side).locator("tbody tr");
  return rows.evaluateAll((found) =>
    found.map((row) => [row.querySelector(".value").textContent, row.dataset.verdict]),
  );
}

const told = (example, side) => example.text(`${side}-told`);

async function expectAccessible(example) {
  const { violations } = await new AxeBuilder({ page: example.page }).analyze();
  const found = violations.map(({ id, nodes }) => [id, nodes.map(({ target }) => target)]);
  assert.deepEqual(found, []);
  const [wide, there] = await example.page.evaluate(() => [
    document.documentElement.scrollWidth,
    innerWidth,
  ]);
  assert.ok(wide <= there, `${wide} px wide on a screen of ${there}`);
}

const STALE = ["512", "stale"];
const RIGHT = ["2048", "right"];
const REFUSED = ["–", "refused"];

test("three kernels, before and after: stale without a word, right or refused by line", async () => {
  for (const screen of SCREENS) {
    const example = await openExample("three-kernels", screen);
    assert.deepEqual(await answers(example, "raw"), [STALE, STALE, STALE]);
    assert.deepEqual(await answers(example, "guarded"), [RIGHT, REFUSED, RIGHT]);
    assert.match(await told(example, "raw"), /^Nothing\. No exception/);
    assert.match(await example.text("overheard"), /deu/, "the page's own scope caught it");
    const report = await told(example, "guarded");
    assert.match(report, /UNWRITTEN output 2/);
    assert.match(report, /shader `second` failed to compile: line 7, column 20: .*deu/);
    assert.match(report, /kernel second.*output 2, bytes 0–256: failed/);
    await expectAccessible(example);
    await example.screenshot(`example-three-kernels-${screen.colorScheme}-${screen.width}`);
    assert.deepEqual(example.complaints, []);
    await example.page.context().close();
  }
});

test("three kernels: lost, refused by name, recovered, run again, by keyboard alone", async () => {
  const example = await openExample("three-kernels", SCREENS[0]);
  const { page } = example;
  for (let run = 0; run < 3; run += 1) await press(example, "run");
  assert.deepEqual(await answers(example, "guarded"), [RIGHT, REFUSED, RIGHT]);
  await press(example, "lose");
  assert.deepEqual(await answers(example, "raw"), [REFUSED, REFUSED, REFUSED]);
  assert.deepEqual(await answers(example, "guarded"), [REFUSED, REFUSED, REFUSED]);
  assert.match(await told(example, "guarded"), /UNWRITTEN.*device generation 1 was lost/);
  await expectAccessible(example);
  await example.screenshot("example-three-kernels-lost");
  await press(example, "run");
  assert.match(await told(example, "guarded"), /DEVICE_LOST.*recover it/);
  assert.match(await example.text("status"), /is lost, so nothing ran/);
  const focused = () => page.evaluate(() => document.activeElement.dataset.testid);
  await example.control("run").focus();
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "recover", "what cannot be done is passed over");
  await page.keyboard.press("Enter");
  await page.locator("body[data-lost=false]").waitFor();
  await idle(example);
  assert.match(await example.text("status"), /generation 2/);
  assert.deepEqual(await answers(example, "raw"), [STALE, STALE, STALE]);
  assert.deepEqual(await answers(example, "guarded"), [RIGHT, REFUSED, RIGHT]);
  assert.deepEqual(example.complaints, []);
  await page.context().close();
});

test("without WebGPU the page says how to get it, and the guarded side runs functions", async () => {
  const ways = [{ from: withoutGpu }, { query: "?backend=cpu" }];
  for (const way of ways) {
    const example = await openExample("three-kernels", { ...SCREENS[1], ...way });
    await example.expectText("backend", /CPU/);
    assert.match(await example.text("raw-absent"), /WebGPU needs Chrome/);
    assert.equal(await example.control("raw").locator("table").isVisible(), false);
    assert.deepEqual(await answers(example, "guarded"), [RIGHT, REFUSED, RIGHT]);
    assert.match(await told(example, "guarded"), /kernel `second` failed on the CPU: deu is not/);
    await press(example, "lose");
    assert.deepEqual(await answers(example, "guarded"), [REFUSED, REFUSED, REFUSED]);
    await press(example, "recover");
    assert.deepEqual(await answers(example, "guarded"), [RIGHT, REFUSED, RIGHT]);
    await expectAccessible(example);
    await example.screenshot(`example-three-kernels-cpu-${ways.indexOf(way)}`);
    // Chromium itself says this of every page that asks for an adapter where there is none.
    const own = way.from === withoutGpu ? ["No available adapters."] : [];
    assert.deepEqual(example.complaints, own);
    await example.page.context().close();
  }
});

test("a device that is lost by itself is said, and there is a way on", async () => {
  const context = await browser.visitor(SCREENS[0]);
  await context.addInitScript(() => {
    const { requestDevice } = GPUAdapter.prototype;
    globalThis.devices = [];
    GPUAdapter.prototype.requestDevice = async function (...options) {
      const device = await requestDevice.apply(this, options);
      globalThis.devices.push(device);
      return device;
    };
  });
  const destroy = (example) =>
    example.page.evaluate(() => {
      for (const device of globalThis.devices) device.destroy();
    });
  const kernels = await InspectorPage.open(context, `${browser.url}examples/three-kernels.html`);
  await idle(kernels);
  await destroy(kernels);
  await kernels.expectText("status", /The device is lost/);
  await press(kernels, "recover");
  assert.deepEqual(await answers(kernels, "guarded"), [RIGHT, REFUSED, RIGHT]);
  assert.deepEqual(await answers(kernels, "raw"), [STALE, STALE, STALE]);
  const replay = await InspectorPage.open(context, `${browser.url}examples/replay.html`);
  await idle(replay);
  await destroy(replay);
  await replay.expectText("status", /The device is lost/);
  await press(replay, "replay");
  assert.match(await replay.text("status"), /lost/);
  await press(replay, "anew");
  assert.match(await replay.text("status"), /^Recorded/);
  await press(replay, "replay");
  assert.equal(await replay.text("generation"), "202");
  for (const example of [kernels, replay]) assert.deepEqual(example.complaints, []);
  await context.close();
});

test("the examples are listed, each leads to the others, and an address that is none is an error", async () => {
  for (const screen of [SCREENS[0], SCREENS[3]]) {
    const context = await browser.visitor(screen);
    const list = await InspectorPage.open(context, `${browser.url}examples/`);
    await expectAccessible(list);
    await list.screenshot(`examples-${screen.width}`);
    const titles = [];
    for (const name of ["Three kernels", "Record and replay"]) {
      await list.page.getByRole("navigation").getByRole("link", { name }).click();
      await idle(list);
      titles.push(await list.page.getByRole("heading", { level: 1 }).textContent());
    }
    assert.match(titles[0], /one typo/);
    assert.match(titles[1], /replay/);
    const { status } = await fetch(`${browser.url}examples/none-such.html`);
    assert.equal(status, 404);
    assert.deepEqual(list.complaints, []);
    await context.close();
  }
});

test("the code that is shown, and copied, is the code that runs", async () => {
  const files = [
    ["three-kernels", "three-kernels/raw-webgpu.js", ""],
    ["three-kernels", "three-kernels/guarded.js", ""],
    ["three-kernels", "three-kernels/guarded-host-kernels.js", "?backend=cpu"],
    ["replay", "replay/life.js", ""],
  ];
  for (const [name, path, query] of files) {
    const example = await openExample(name, { query });
    const file = path.split("/")[1];
    const shown = await example.page.getByRole("region", { name: file, exact: true }).textContent();
    assert.equal(shown.trim(), sourceOf(path));
    await example.page.getByRole("button", { name: `Copy ${file}` }).click();
    await example.page.getByText("Copied").waitFor();
    const copied = await example.page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied.trim(), sourceOf(path));
    assert.deepEqual(example.complaints, []);
    await example.page.context().close();
  }
});

/** Cells alive after so many generations of the page's first cells, by the rules as Conway told them. */
function livingAfter(generations) {
  const side = 128;
  let alive = new Set();
  let state = 42;
  for (let index = 0; index < side * side; index += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    if (state >>> 16 < 22_000) alive.add(index);
  }
  const around = [-1, 0, 1].flatMap((dy) => [-1, 0, 1].map((dx) => [dx, dy]));
  for (let generation = 0; generation < generations; generation += 1) {
    const neighbours = new Map();
    for (const index of alive) {
      for (const [dx, dy] of around) {
        if (dx === 0 && dy === 0) continue;
        const x = ((index % side) + dx + side) % side;
        const y = (Math.floor(index / side) + dy + side) % side;
        neighbours.set(y * side + x, (neighbours.get(y * side + x) ?? 0) + 1);
      }
    }
    const born = [...neighbours].filter(
      ([at, count]) => count === 3 || (count === 2 && alive.has(at)),
    );
    alive = new Set(born.map(([at]) => at));
  }
  return alive.size;
}

test("recorded once, replayed 100 times: the cells are those of 202 generations, in a few submissions", async () => {
  const [first, last] = [livingAfter(2), livingAfter(202)];
  assert.notEqual(first, last, "canary: the cells change");
  const facts = async (example) => {
    const names = ["generation", "living", "units", "launches", "submissions"];
    const texts = await Promise.all(names.map((name) => example.text(name)));
    return Object.fromEntries(names.map((name, index) => [name, Number(texts[index])]));
  };
  const cpu = { ...SCREENS[1], query: "?backend=cpu" };
  for (const screen of [SCREENS[0], SCREENS[3], cpu]) {
    const example = await openExample("replay", screen);
    const recorded = await facts(example);
    assert.deepEqual([recorded.generation, recorded.living, recorded.units], [2, first, 3]);
    await press(example, "replay");
    const { submissions, ...replayed } = await facts(example);
    assert.deepEqual(replayed, { generation: 202, living: last, units: 3, launches: 200 });
    if (screen.query === undefined) assert.ok(submissions < 20, `${submissions} submissions`);
    await expectAccessible(example);
    if (screen.query === undefined) {
      await example.screenshot(`example-replay-${screen.colorScheme}-${screen.width}`);
      await press(example, "broken");
      assert.match(await example.text("status"), /^WINDOW_DOOMED.*shader `life`.*nothing_like_it/);
    }
    await press(example, "anew");
    assert.equal((await facts(example)).living, first, "the same cells again");
    assert.deepEqual(example.complaints, []);
    await example.page.context().close();
  }
});
