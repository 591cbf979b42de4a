// Oracle: whatever the browser's private storage does, a session steps on, what was acknowledged verifies, what was not
// is not listed, and after the next opening the store holds the files of its generations and nothing else.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { openHostPage } from "./package-host.mjs";
import {
  ask,
  failure,
  filesOf,
  openSession,
  openStoreOf,
  refusalOf,
  until,
  value,
} from "./session-calls.mjs";

const faults = readFileSync(new URL("store-faults.js", import.meta.url), "utf8");
/** The files that a commit writes: the envelope, then the store manifest. */
const WRITTEN = ["~generation", "~manifest"];

let host;
let page;

before(async () => {
  host = await openHostPage({ before: { "/pkg/store-worker.js": faults } });
  ({ page } = host);
});
after(async () => {
  await host.close();
  assert.deepEqual(host.complaints, []);
});

/** From now on, `fault` happens in every store's worker there is; null for none. */
const breakStores = (fault) =>
  page.evaluate(async (fault) => {
    const channel = new BroadcastChannel("store-faults");
    const id = crypto.randomUUID();
    const done = new Promise((resolve) => {
      channel.onmessage = ({ data }) => data.done === id && resolve();
    });
    channel.postMessage({ id, fault });
    await done;
    channel.close();
  }, fault);

/** A session of the counting world over the store `sessionId`, stepped a little. */
async function counting(sessionId, options = {}, where = page) {
  const session = await openSession(where, { sessionId, composition: "counter", ...options });
  if (options.resume === undefined) await value(session, "step", 3);
  return session;
}

const namesOf = (generations) => generations.map(({ checkpointId }) => checkpointId);

/** Opens the store anew and expects these generations, newest first, whole, and no other file. */
async function expectWhole(sessionId, expected, where = page) {
  const store = await openStoreOf(where, sessionId, { access: "read-write" });
  const generations = await value(store, "generations");
  assert.deepEqual(namesOf(generations), expected);
  for (const name of expected)
    assert.equal((await value(store, "verify", name)).verified, true, name);
  await value(store, "close");
  const files = expected.map((name) => `${name}.flysess`);
  assert.deepEqual(await filesOf(where, sessionId), [...files, "manifest.json"].sort());
}

const FAULTS = [
  ["a short count", { how: "short" }, /quota is used up/],
  ["the count 4294967288", { how: "impossible" }, /quota is used up/],
  ["another byte than was written", { how: "lie" }, /digesting to/],
  [
    "a QuotaExceededError",
    { how: "throw", error: ["QuotaExceededError", "no room"] },
    /quota is used up/,
  ],
  [
    "another error",
    { how: "throw", error: ["InvalidStateError", "the platter fell off"] },
    /InvalidStateError.*the platter fell off/,
  ],
  [
    "an error of flush",
    { how: "flush", error: ["UnknownError", "the platter fell off"] },
    /UnknownError.*the platter fell off/,
  ],
];

for (const [number, [what, fault, told]] of FAULTS.entries()) {
  for (const at of WRITTEN) {
    test(`${what} while ${at} is written: the save fails by name, and the next one works`, async () => {
      const sessionId = `fault-${number}${at.replace("~", "-")}`;
      const session = await counting(sessionId);
      const first = await value(session, "checkpoint", { checkpointId: "first" });
      assert.equal(first.kind, "committed");
      await breakStores({ at, ...fault });
      const failed = await value(session, "checkpoint", { checkpointId: "second" });
      assert.equal(failed.kind, "failed", JSON.stringify(failed, String));
      assert.match(failed.message, told);
      assert.equal((await value(session, "step", 2)).boundary, 5n, "the session steps on");
      assert.deepEqual(namesOf(await value(session, "generations")), ["first"]);
      assert.equal((await value(session, "verify", "first")).verified, true);
      await breakStores(null);
      const third = await value(session, "checkpoint", { checkpointId: "third" });
      assert.equal(third.kind, "committed");
      await value(session, "close");
      await expectWhole(sessionId, ["third", "first"]);
    });
  }
}

test("a store that stalls: the session steps on, a third save is refused, and closing is bounded and says what was lost", async () => {
  const session = await counting("stalled", { budgets: { close: 300 } });
  await value(session, "checkpoint", { checkpointId: "first" });
  await breakStores({ at: "~generation", how: "stall" });
  const pending = await session.evaluateHandle((session) => {
    const queued = [];
    session.addEventListener("queued", ({ detail }) => queued.push(detail.checkpointId));
    const outcomes = ["second", "third"].map((checkpointId) =>
      session.checkpoint({ checkpointId }).catch(({ code }) => code),
    );
    return { queued, outcomes };
  });
  await until("both are on their way", async () => {
    return (await pending.evaluate(({ queued }) => queued.length)) === 2;
  });
  const busy = await failure(session, "checkpoint", { checkpointId: "fourth" });
  assert.equal(busy.code, "BUSY");
  assert.match(busy.message, /2 captures are outstanding/);
  assert.equal((await value(session, "step", 4)).boundary, 7n);
  const saves = await value(session, "saves");
  assert.deepEqual(
    [saves.queued, saves.committed, saves.rejected, saves.outstanding],
    [3n, 1n, 1n, 2n],
  );
  const lost = await failure(session, "close");
  assert.equal(lost.code, "SAVES_LOST");
  assert.match(lost.message, /second, third/);
  assert.deepEqual(
    lost.context.outcomes.map(({ kind, checkpointId }) => [checkpointId, kind]),
    [
      ["second", "replyLost"],
      ["third", "failed"],
    ],
  );
  await expectWhole("stalled", ["first"]);
});

test("a save whose deadline expired goes on, and is resolved by its name", async () => {
  const session = await counting("deadline");
  await breakStores({ at: "~generation", how: "stall" });
  const expired = await value(session, "checkpoint", { checkpointId: "slow", deadlineMs: 50 });
  assert.deepEqual([expired.kind, expired.boundary], ["deadlineExpired", 3n]);
  assert.equal((await value(session, "status")).durable, null);
  await breakStores(null);
  const resolved = await value(session, "resolveSave", "slow");
  assert.deepEqual([resolved.kind, resolved.generation.checkpointId], ["committed", "slow"]);
  assert.equal((await value(session, "status")).durable.checkpointId, "slow");
  assert.equal((await value(session, "resolveSave", "never")).kind, "notCommitted");
  await value(session, "close");
  await expectWhole("deadline", ["slow"]);
});

test("a replaceable save that waits is superseded by the next, at the usual capacity", async () => {
  const session = await counting("replaced");
  await breakStores({ at: "~generation", how: "stall" });
  const saved = await session.evaluateHandle(async (session) => {
    const outcomes = [];
    for (const checkpointId of ["one", "two", "three"]) {
      const queued = new Promise((resolve) =>
        session.addEventListener("queued", resolve, { once: true }),
      );
      outcomes.push(session.checkpoint({ checkpointId, replaceable: true }));
      await queued;
      await session.step();
    }
    return { outcomes };
  });
  await breakStores(null);
  const outcomes = await saved.evaluate(({ outcomes }) => Promise.all(outcomes));
  assert.deepEqual(
    outcomes.map(({ checkpointId, kind, by }) => [checkpointId, kind, by]),
    [
      ["one", "committed", undefined],
      ["two", "superseded", "three"],
      ["three", "committed", undefined],
    ],
  );
  const { superseded, committed } = await value(session, "saves");
  assert.deepEqual([superseded, committed], [1n, 2n]);
  await value(session, "close");
  await expectWhole("replaced", ["three", "one"]);
});

test("a budget of bytes that is used up refuses a save, and ends nothing", async () => {
  const session = await counting("budget", { queuedBytesMax: 64 });
  const refused = await failure(session, "checkpoint");
  assert.equal(refused.code, "BUSY");
  assert.match(refused.message, /at most 64 may be held/);
  assert.equal((await value(session, "step")).boundary, 4n);
  await value(session, "close");
  for (const wrong of [{ queueCapacity: 0 }, { queuedBytesMax: 0 }, { keepGenerations: 0 }]) {
    const told = await refusalOf(page, { sessionId: "budget", composition: "counter", ...wrong });
    assert.equal(told.code, "INVALID_ARGUMENT", JSON.stringify(wrong));
  }
});

test("a second tab is told who owns the store, and may look at it meanwhile", async () => {
  const session = await counting("two-tabs");
  await value(session, "checkpoint", { checkpointId: "first" });
  const other = await host.openAnother();
  const refused = await refusalOf(other, { sessionId: "two-tabs", composition: "counter" });
  assert.equal(refused.code, "STORE_LOCKED");
  assert.match(refused.message, /another tab/);

  const view = await openStoreOf(other, "two-tabs");
  assert.deepEqual(namesOf(await value(view, "generations")), ["first"]);
  const bytes = await view.evaluate(async (view) => (await view.exportGeneration("first")).length);
  assert.ok(bytes > 1_000);
  for (const [method, argument] of [
    ["pin", "first"],
    ["unpin", "first"],
    ["prune", 1],
  ])
    assert.equal((await failure(view, method, argument)).code, "STORE_READ_ONLY", method);
  await value(session, "checkpoint", { checkpointId: "second" });
  assert.deepEqual(namesOf(await value(view, "generations")), ["second", "first"]);
  assert.equal((await value(view, "verify", "second")).verified, true);
  assert.equal((await failure(view, "verify", "third")).code, "NO_GENERATION");

  await value(session, "close");
  const next = await counting("two-tabs", { resume: "latest" }, other);
  assert.equal((await value(next, "status")).boundary, 3n);
  await value(next, "close");
  await value(view, "close");
  assert.equal((await failure(view, "generations")).code, "CLOSED");
  await other.close();
});

test("a frozen tab keeps its store, which others may look at; one that crashed gives it up", async () => {
  const owner = await host.openAnother();
  await value(await counting("frozen", {}, owner), "checkpoint", { checkpointId: "first" });
  const control = await owner.context().newCDPSession(owner);
  await control.send("Page.setWebLifecycleState", { state: "frozen" });
  const refused = await refusalOf(page, { sessionId: "frozen", composition: "counter" });
  assert.equal(refused?.code, "STORE_LOCKED");
  const view = await openStoreOf(page, "frozen");
  assert.deepEqual(namesOf(await value(view, "generations")), ["first"]);
  await value(view, "close");
  // It never answers.
  control.send("Page.crash").catch(() => {});
  await owner.waitForEvent("crash");
  await expectWhole("frozen", ["first"]);
  await owner.close();
});

test("a page that is left in the middle of a save gives its store back at once", async () => {
  const owner = await host.openAnother();
  const session = await counting("left", {}, owner);
  await value(session, "checkpoint", { checkpointId: "first" });
  await breakStores({ at: "~manifest", how: "stall" });
  await session.evaluate((session) => {
    session.checkpoint({ checkpointId: "second" }).catch(() => {});
  });
  await until("the second one is being written", async () =>
    (await filesOf(owner, "left")).includes("second.flysess"),
  );
  await owner.goto("about:blank");
  await expectWhole("left", ["first"]);
  await owner.close();
});

test("a page that is put aside ends its session, and says why", async () => {
  const session = await counting("aside");
  await value(session, "checkpoint", { checkpointId: "first" });
  const told = session.evaluate(
    (session) =>
      new Promise((resolve) => {
        session.addEventListener("error", ({ detail }) => resolve(detail.message));
      }),
  );
  await page.evaluate(() =>
    dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true })),
  );
  assert.match(await told, /gave its store back/);
  assert.equal((await failure(session, "step")).code, "SESSION_ENDED");
  await expectWhole("aside", ["first"]);
});

test("a reload during a burst of saves leaves nothing behind after the next opening", async () => {
  const owner = await host.openAnother();
  for (let turn = 0; turn < 4; turn += 1) {
    const session = await counting("burst", {}, owner);
    await session.evaluate(async (session) => {
      const { checkpointId } = await session.checkpoint();
      sessionStorage.setItem("acknowledged", checkpointId);
      const save = async () => {
        for (;;) {
          await session.step();
          const outcome = await session.checkpoint();
          sessionStorage.setItem("acknowledged", outcome.checkpointId);
        }
      };
      save().catch(() => {});
    });
    await new Promise((resolve) => setTimeout(resolve, 20 + turn * 17));
    await owner.reload();
    const acknowledged = await owner.evaluate(() => sessionStorage.getItem("acknowledged"));
    const store = await openStoreOf(owner, "burst", { access: "read-write" });
    const names = namesOf(await value(store, "generations"));
    assert.ok(
      names.indexOf(acknowledged) === 0 || names.indexOf(acknowledged) === 1,
      `${acknowledged} is the newest of ${names}, or the one before it`,
    );
    await value(store, "close");
    await expectWhole("burst", names, owner);
  }
  await owner.close();
});

test("a payload without its commit record is invisible, and collected", async () => {
  const session = await counting("orphan");
  await value(session, "checkpoint", { checkpointId: "first" });
  await value(session, "close");
  await page.evaluate(async () => {
    let folder = await navigator.storage.getDirectory();
    for (const name of ["wellwritten", "orphan"]) folder = await folder.getDirectoryHandle(name);
    const bytes = await (
      await (await folder.getFileHandle("first.flysess")).getFile()
    ).arrayBuffer();
    for (const name of ["second.flysess", "~generation"]) {
      const file = await folder.getFileHandle(name, { create: true });
      const writable = await file.createWritable();
      await writable.write(bytes);
      await writable.close();
    }
  });
  const view = await openStoreOf(page, "orphan");
  assert.deepEqual(namesOf(await value(view, "generations")), ["first"]);
  assert.equal((await filesOf(page, "orphan")).length, 4, "who looks removes nothing");
  await value(view, "close");
  const resumed = await counting("orphan", { resume: "latest" });
  const { storeReport } = await value(resumed, "status");
  assert.deepEqual(storeReport.removed.map(({ file }) => file).sort(), [
    "second.flysess",
    "~generation",
  ]);
  assert.deepEqual(namesOf(await value(resumed, "generations")), ["first"]);
  await value(resumed, "close");
  await expectWhole("orphan", ["first"]);
});

test("a store whose manifest cannot be read says what to do, and is not taken as empty", async () => {
  const session = await counting("unreadable");
  await value(session, "checkpoint", { checkpointId: "first" });
  await value(session, "close");
  await page.evaluate(async () => {
    let folder = await navigator.storage.getDirectory();
    for (const name of ["wellwritten", "unreadable"])
      folder = await folder.getDirectoryHandle(name);
    const file = await folder.getFileHandle("manifest.json");
    const writable = await file.createWritable();
    await writable.write("{}");
    await writable.close();
  });
  const refused = await refusalOf(page, { sessionId: "unreadable", composition: "counter" });
  assert.equal(refused.code, "STORE_FAILED");
  assert.match(refused.message, /Put back a copy/);
  assert.deepEqual(await filesOf(page, "unreadable"), ["first.flysess", "manifest.json"]);
});

test("generations are pinned, pruned, exported and imported", async () => {
  const session = await counting("kept", { keepGenerations: 2 });
  for (const checkpointId of ["one", "two"]) {
    await value(session, "checkpoint", { checkpointId });
    await value(session, "step");
  }
  await value(session, "pin", "one");
  for (const checkpointId of ["three", "four"]) {
    await value(session, "checkpoint", { checkpointId });
    await value(session, "step");
  }
  const listed = await value(session, "generations");
  assert.deepEqual(
    listed.map(({ checkpointId, pinned, abandoned, isLatest }) => [
      checkpointId,
      pinned,
      abandoned,
      isLatest,
    ]),
    [
      ["four", false, false, true],
      ["three", false, false, false],
      ["one", true, false, false],
    ],
  );
  const file = await session.evaluateHandle((session) => session.exportGeneration("one"));
  await value(session, "unpin", "one");
  assert.deepEqual((await value(session, "prune", 1)).dropped, ["one", "three"]);
  assert.equal((await failure(session, "verify", "one")).code, "NO_GENERATION");
  assert.equal((await failure(session, "prune", 0)).code, "INVALID_ARGUMENT");

  const imported = await page.evaluate(
    async ([session, file]) => {
      const refusals = [];
      const spoiled = file.slice();
      spoiled[spoiled.length >> 1] ^= 1;
      // Used once in this store: it was committed here.
      for (const bytes of [spoiled, file])
        refusals.push(await session.importGeneration(bytes).catch(({ code }) => code));
      return { refusals, length: file.length };
    },
    [session, file],
  );
  assert.deepEqual(imported.refusals, ["ENVELOPE_INVALID", "INVALID_ARGUMENT"]);
  assert.ok(imported.length > 0, "what was handed in is still the caller's");
  await value(session, "close");

  const other = await openStoreOf(page, "kept-elsewhere", { access: "read-write" });
  const info = await page.evaluate(([store, file]) => store.importGeneration(file), [other, file]);
  assert.equal(info.checkpointId, "one");
  const [one] = await value(other, "generations");
  assert.deepEqual([one.checkpointId, one.pinned, one.isLatest], ["one", true, true]);
  await value(other, "close");
  await page.evaluate(([left, right]) => left === right, [session, file]);
});

test("the worker of a store that crashes costs the saves that were under way, and not the session", async () => {
  const session = await counting("crashed");
  await value(session, "checkpoint", { checkpointId: "first" });
  await breakStores({ how: "crash" });
  await until("the session hears of it", async () => {
    return (await ask(session, "generations")).error?.code === "STORE_FAILED";
  });
  const { message } = await failure(session, "generations");
  assert.match(message, /was told to crash/);
  assert.equal((await value(session, "step", 2)).boundary, 5n);
  await value(session, "close").catch(() => {});
  await expectWhole("crashed", ["first"]);
});

test("a browser that cannot rename files is told before anything is written, and has memory", async () => {
  const without = "delete FileSystemFileHandle.prototype.move;";
  const elsewhere = await openHostPage({ before: { "/pkg/store-worker.js": without } });
  const refused = await refusalOf(elsewhere.page, { composition: "counter" });
  assert.equal(refused.code, "UNSUPPORTED");
  assert.match(refused.message, /store: "memory".*exportGeneration/);
  const session = await counting("moved", { store: "memory" }, elsewhere.page);
  await value(session, "checkpoint", { checkpointId: "first" });
  const length = await session.evaluate(
    async (session) => (await session.exportGeneration("first")).length,
  );
  assert.ok(length > 1_000);
  await value(session, "close");
  await elsewhere.close();
  assert.deepEqual(elsewhere.complaints, []);
});

test("a quota that is used up is a named outcome, and what was saved before still loads", async () => {
  const owner = await openHostPage();
  const { page } = owner;
  const session = await openSession(page, { sessionId: "full", composition: "counter" });
  await value(session, "step", 3);
  await value(session, "checkpoint", { checkpointId: "first" });
  const control = await page.context().newCDPSession(page);
  const quota = (quotaSize) =>
    control.send("Storage.overrideQuotaForOrigin", {
      origin: new URL(page.url()).origin,
      ...(quotaSize === undefined ? {} : { quotaSize }),
    });
  const { usedBytes } = await value(session, "storeUsage");
  await quota(Number(usedBytes) + 100);
  const failed = await value(session, "checkpoint", { checkpointId: "second" });
  assert.equal(failed.kind, "failed", JSON.stringify(failed, String));
  assert.match(failed.message, /quota is used up/);
  assert.equal((await value(session, "verify", "first")).verified, true);
  assert.equal((await value(session, "step", 2)).boundary, 5n);
  await quota();
  assert.equal((await value(session, "checkpoint", { checkpointId: "third" })).kind, "committed");
  await value(session, "close");
  await expectWhole("full", ["third", "first"], page);
  await owner.close();
});
