// Oracle: a run that was saved, killed and restored in the browser's private storage does the same as one that never was,
// step by step; and going back in a run and on again repeats it, in every mode.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { inspect } from "node:util";
import { openHostPage } from "./package-host.mjs";
import { ask, failure, openSession, until, value } from "./session-calls.mjs";

let host;
let page;

before(async () => {
  host = await openHostPage({ alsoScripts: "blob:" });
  ({ page } = host);
});
after(async () => {
  await host.close();
  assert.deepEqual(host.complaints, []);
});

const STEPS = 40;
const SAVED_AT = 15;

/** What is compared: all behaviour from the beginning, whatever epochs it ran under. */
async function traceOf(options) {
  const session = await openSession(page, { ...options, store: "memory" });
  await value(session, "step", STEPS);
  const trace = await value(session, "trace");
  await value(session, "close");
  return trace;
}

async function expectEqual(session, straight) {
  const epochs = [
    ...new Set((await value(session, "trace")).map((it) => it.behaviour.scope.epoch)),
  ];
  const difference = await value(session, "compareTrace", straight, { rebaseFrom: epochs });
  assert.equal(difference.verdict, "equal", inspect(difference, { depth: 4 }));
  return difference;
}

/** A participant dies, everyone is replaced, and the whole group goes on from the checkpoint. */
async function dieAndRestore(session, participant) {
  await value(session, "arm", { name: "kill-participant", participant });
  // In the session's own program nobody watches: the next step finds out.
  await ask(session, "step");
  await until("the session notices", async () => (await value(session, "status")).fenced);
  await value(session, "replaceParticipants");
  const report = await value(session, "restore");
  assert.equal(report.boundary, BigInt(SAVED_AT));
}

const WAYS = [
  ...["in-process", "worker", "isolated"].map((mode) => ({ composition: "counter", mode })),
  { composition: "arena", mode: "in-process", backend: "cpu" },
];

for (const way of WAYS) {
  const { composition, mode } = way;
  const sessionId = `round-${composition}-${mode}`;

  test(`${composition}, ${mode}: saved, killed, restored, and opened anew, it equals a run that never was`, async () => {
    const straight = await traceOf({ ...way, sessionId });
    const session = await openSession(page, { ...way, sessionId });
    await value(session, "step", SAVED_AT);
    const saved = await value(session, "checkpoint", { checkpointId: "saved" });
    assert.deepEqual([saved.kind, saved.boundary], ["committed", BigInt(SAVED_AT)]);
    await value(session, "step", 5);
    await dieAndRestore(session, "world");
    await value(session, "step", 10);
    await value(session, "checkpoint", { checkpointId: "later" });
    await value(session, "close");

    const anew = await openSession(page, { ...way, sessionId, resume: "latest" });
    assert.equal((await value(anew, "status")).boundary, BigInt(SAVED_AT + 10));
    await value(anew, "step", STEPS - SAVED_AT - 10);
    const own = await value(anew, "trace");
    assert.equal(own.length, STEPS - SAVED_AT - 10, "what ran before it was opened is not kept");
    const rest = straight.slice(SAVED_AT + 10);
    await expectEqual(anew, rest);
    // Canary: one more step is another run.
    await value(anew, "step");
    const longer = await value(anew, "compareTrace", rest, { rebaseFrom: "e3" });
    assert.notEqual(longer.verdict, "equal");
    await value(anew, "close");
  });

  test(`${composition}, ${mode}: going back and on again repeats the run`, async () => {
    const session = await openSession(page, { ...way, sessionId: `seek-${composition}-${mode}` });
    await value(session, "step", 10);
    await value(session, "checkpoint", { checkpointId: "ten" });
    await value(session, "step", 20);
    const straight = await value(session, "trace");
    const before = await value(session, "behaviourDigest");

    const sought = await session.evaluate(async (session) => {
      const passed = [];
      const { boundary, phase, seek } = await session.seek(17n, {
        onProgress: ({ from, at, to }) => passed.push([from, at, to].map(Number)),
      });
      return { boundary, phase, seek, passed };
    });
    assert.deepEqual([sought.boundary, sought.phase.kind], [17n, "paused"]);
    assert.deepEqual(
      [sought.seek.from, sought.seek.repeated, sought.seek.restored.checkpointId],
      [30n, 7n, "ten"],
    );
    assert.deepEqual(sought.passed.at(0), [10, 10, 17]);
    assert.deepEqual(sought.passed.at(-1), [10, 17, 17]);
    assert.equal(sought.passed.length, 8);

    const on = await value(session, "seek", 30n);
    assert.deepEqual([on.boundary, on.seek.restored, on.seek.repeated], [30n, null, 13n]);
    await expectEqual(session, straight);
    assert.equal((await value(session, "behaviourDigest")).length, before.length);
    const span = await value(session, "recorded");
    assert.deepEqual([span.from, span.to], [0n, 30n]);

    const refused = await failure(session, "seek", 31n);
    assert.equal(refused.code, "UNSUPPORTED");
    assert.equal((await failure(session, "seek", 5n)).code, "NO_GENERATION");
    assert.equal((await value(session, "status")).boundary, 30n, "a refusal changes nothing");
    await value(session, "close");
  });
}

test("a seek that is stopped stands paused at a committed boundary, and goes on from there", async () => {
  const session = await openSession(page, { sessionId: "stopped", composition: "counter" });
  await value(session, "step", 10);
  await value(session, "checkpoint", { checkpointId: "ten" });
  await value(session, "step", 20_000);
  const stopped = await session.evaluate(async (session) => {
    const controller = new AbortController();
    const onProgress = ({ at }) => at === 12n && controller.abort();
    const seeking = session.seek(20_000n, { signal: controller.signal, onProgress });
    const error = await seeking.catch((error) => error);
    const { phase, boundary } = await session.status();
    const before = await session
      .seek(3n, { signal: AbortSignal.abort() })
      .catch(({ code }) => code);
    return { code: error.code, at: error.context?.boundary, phase, boundary, before };
  });
  assert.deepEqual([stopped.code, stopped.before], ["CANCELLED", "CANCELLED"]);
  assert.equal(stopped.phase.kind, "paused");
  assert.equal(stopped.at, stopped.boundary);
  assert.ok(stopped.boundary >= 12n && stopped.boundary < 20_000n, String(stopped.boundary));
  const on = await value(session, "seek", 20_010n);
  assert.deepEqual(
    [on.boundary, on.seek.restored, on.seek.repeated],
    [20_010n, null, 20_010n - stopped.boundary],
  );
  await value(session, "close");
});

test("a new run over a store keeps the checkpoint that could have been resumed", async () => {
  const options = { sessionId: "begun-anew", composition: "counter", resume: "ask" };
  const first = await openSession(page, options);
  await value(first, "step", 5);
  const { checkpointId } = await value(first, "checkpoint");
  await value(first, "close");
  const second = await openSession(page, options);
  assert.equal((await value(second, "status")).resumable.checkpointId, checkpointId);
  await value(second, "begin");
  for (let save = 0; save < 5; save += 1) {
    await value(second, "step");
    await value(second, "checkpoint");
  }
  const kept = (await value(second, "generations")).find((it) => it.checkpointId === checkpointId);
  assert.equal(kept?.pinned, true);
  assert.equal((await value(second, "verify", checkpointId)).damage ?? null, null);
  await value(second, "close");
});
