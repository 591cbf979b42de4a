// The page in a real Chromium, driven through its own controls.

import { mkdirSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";
import { servePage } from "../../scripts/serve-page.mjs";
import { browserFlags } from "../../scripts/test/browser-flags.mjs";

const screenshots = new URL("../../test-results/screenshots/", import.meta.url);
const HOW_LONG = 30_000;

/** Starts the server and a browser once for a test file. `webgpu: false` is a Chromium without an adapter. */
export async function startBrowser({ webgpu = true } = {}) {
  const server = await servePage({ port: 0 });
  const executablePath = process.env.CHROME_BIN ?? "/usr/bin/chromium";
  const flags = browserFlags.filter((flag) => webgpu || flag !== "--enable-unsafe-webgpu");
  const browser = await chromium.launch({ executablePath, args: flags });
  return {
    url: server.url,
    /** A visitor of their own: storage of their own, and a size and theme. */
    visitor: ({ colorScheme = "dark", width = 1280, height = 800 } = {}) =>
      browser.newContext({ viewport: { width, height }, colorScheme, acceptDownloads: true }),
    async close() {
      await browser.close();
      await server.close();
    },
  };
}

/** One tab with the inspector. Whatever the page complains of is kept in `complaints`. */
export class InspectorPage {
  complaints = [];

  static async open(context, url) {
    const inspector = new InspectorPage();
    inspector.page = await context.newPage();
    inspector.page.setDefaultTimeout(HOW_LONG);
    inspector.page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) inspector.complaints.push(message.text());
    });
    inspector.page.on("pageerror", (error) => inspector.complaints.push(error.message));
    await inspector.page.goto(url);
    return inspector;
  }

  control(testId) {
    return this.page.getByTestId(testId);
  }

  async click(testId) {
    await this.control(testId).click();
  }

  async text(testId) {
    return ((await this.control(testId).textContent()) ?? "").trim();
  }

  /** Waits until a control's attribute has a value. */
  async expectAttribute(testId, attribute, value) {
    await this.page
      .locator(`[data-testid="${testId}"][${attribute}="${value}"]`)
      .first()
      .waitFor({ state: "attached" });
  }

  /** Waits until a control's text is, or matches, something. */
  async expectText(testId, expected) {
    const pattern = expected instanceof RegExp ? expected : new RegExp(`^\\s*${expected}\\s*$`);
    try {
      await this.control(testId).filter({ hasText: pattern }).first().waitFor();
    } catch (error) {
      const found = await this.text(testId).catch(() => "(absent)");
      throw new Error(`${testId} is "${found}", expected ${pattern}`, { cause: error });
    }
  }

  /** Waits for the session, whatever phase it begins in. */
  async ready() {
    await this.expectText("boundary", /\d+/);
  }

  async stepBy(count) {
    const before = Number(await this.text("boundary"));
    await this.control("step-count").fill(String(count));
    await this.click("step-n");
    await this.expectText("boundary", String(before + count));
  }

  /** Labels of all buffers, in the order shown. */
  async buffers() {
    await this.control("buffer-world/view").waitFor();
    const ids = await this.page
      .locator('[data-testid^="buffer-"]')
      .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-testid")));
    return ids.map((id) => id.slice("buffer-".length));
  }

  /** The state of every buffer, by label: "trusted", "failed", ... */
  async states() {
    const rows = await this.page
      .locator('[data-testid^="buffer-"]')
      .evaluateAll((elements) =>
        elements.map((row) => [row.getAttribute("data-testid"), row.getAttribute("data-state")]),
      );
    return Object.fromEntries(rows.map(([id, state]) => [id.slice("buffer-".length), state]));
  }

  /** Waits until the state of some buffer is `state`, and gives the labels of all that have it. */
  async waitForState(state) {
    await this.page
      .locator(`[data-testid^="buffer-"][data-state="${state}"]`)
      .first()
      .waitFor({ state: "attached" });
    return Object.entries(await this.states())
      .filter(([, found]) => found === state)
      .map(([label]) => label);
  }

  /** Asks for all bytes of a buffer; "bytes" or "refused". */
  async read(label) {
    await this.click(`buffer-${label}`);
    await this.click("read-bytes");
    const answer = this.page.locator(
      '[data-testid="byte-answer"][data-kind="bytes"], [data-testid="byte-answer"][data-kind="refused"]',
    );
    await answer.waitFor({ state: "attached" });
    return answer.getAttribute("data-kind");
  }

  /** What the trace panel exports: the behaviour records, parsed. */
  async exportTrace() {
    const [download] = await Promise.all([
      this.page.waitForEvent("download"),
      this.click("export-trace"),
    ]);
    return JSON.parse(readFileSync(await download.path(), "utf8"));
  }

  /** The file of a generation. */
  async exportGeneration(checkpointId) {
    const [download] = await Promise.all([
      this.page.waitForEvent("download"),
      this.click(`export-${checkpointId}`),
    ]);
    return readFileSync(await download.path());
  }

  async openEnvelope(name, bytes) {
    await this.control("envelope-file").setInputFiles({
      name,
      mimeType: "application/octet-stream",
      buffer: bytes,
    });
  }

  /** A picture for a person to look at, under test-results/screenshots. */
  async screenshot(name) {
    mkdirSync(screenshots, { recursive: true });
    await this.page.screenshot({ path: new URL(`${name}.png`, screenshots).pathname });
  }
}

/**
 * The behaviour of a trace without the names derived from its epoch: what must be equal however often a
 * run was broken and restored.
 */
export function behaviourOf(records) {
  return records.map(({ behaviour }) => {
    const { scope, batchId, eventIds, outcomeIds, ...rest } = behaviour;
    return {
      ...rest,
      step: scope.step,
      batch: batchId.replace(`batch-${scope.epoch}-`, ""),
      events: eventIds.length,
      outcomes: outcomeIds.length,
    };
  });
}
