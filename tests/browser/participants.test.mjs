// Oracle: one behaviour digest. The counting world run by the same coordinator in one program, in workers, in frames
// without an origin, and written again in JavaScript, does the same, step by step; what dies is named.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before, test } from "node:test";
import { inspect } from "node:util";
import { openHostPage } from "./package-host.mjs";
import { answering, ask, inWorkers, until, value } from "./session-calls.mjs";

const STEPS = 1_000;
const MODES = ["in-process", "worker", "isolated"];

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

/** Opened by the test that runs, to be closed after it however it ends. */
const opened = [];
afterEach(async () => {
  for (const session of opened.splice(0)) {
    await ask(session, "close");
    await session.dispose();
  }
});

/** Opens a session in the page. */
async function open(options) {
  const session = await page.evaluateHandle(async (options) => {
    const { createSession } = await import("/pkg/wellwritten.js");
    return createSession({ store: "memory", ...options });
  }, options);
  opened.push(session);
  return session;
}

/** A composition whose world and agents are JavaScript. */
function own({ world = "counter-world", agent = "counter-agent", task = "counter" } = {}) {
  const agents = [
    ["fly-a", "p1", 7],
    ["fly-b", "p2", 11],
  ];
  return {
    environment: { module: `/${world}.js` },
    agents: agents.map(([agentId, portId, seed]) => ({
      agentId,
      portId,
      seed,
      module: `/${agent}.js`,
    })),
    task: task === "counter" ? task : { module: `/${task}.js` },
  };
}

/** What `steps` steps of a session came to. */
async function behaviour(options, steps = STEPS) {
  const session = await open(options);
  await value(session, "step", steps);
  const { digest, length } = await value(session, "behaviourDigest");
  const snapshot = await value(session, "snapshot");
  await value(session, "close");
  assert.equal(length, BigInt(steps));
  return { digest, progress: snapshot.progress.value };
}

const nothingLeft = () =>
  until("no worker and no frame is left", async () => {
    return page.frames().length === 1 && (await answering(page)).length === 0;
  });

/** The digest of the counting world's first steps, in one program; every other way is held against it. */
let expected;

test("the counting world in one program, and in every order of asking", async () => {
  expected = await behaviour({ composition: "counter" });
  const native = readFileSync(
    new URL("../../crates/conformance/src/trace_digests.rs", import.meta.url),
    "utf8",
  );
  assert.ok(native.includes(`"${expected.digest}"`), "it is what a native host finds");
  assert.equal(expected.progress.transitions, STEPS);
  for (const dispatch of ["sequential", "reversed"])
    assert.deepEqual(await behaviour({ composition: "counter", dispatch }), expected, dispatch);
  const shorter = await behaviour({ composition: "counter" }, STEPS - 1);
  assert.notEqual(shorter.digest, expected.digest, "canary: another run has another digest");
});

for (const mode of MODES.slice(1)) {
  test(`the counting world with participants in mode ${mode}`, async () => {
    assert.deepEqual(await behaviour({ composition: "counter", mode }), expected);
    await nothingLeft();
  });
}

for (const mode of MODES) {
  test(`a world and agents in JavaScript do what those in Rust do, in mode ${mode}`, async () => {
    assert.deepEqual(await behaviour({ composition: own(), mode }), expected);
  });
}

test("canary: JavaScript that does one thing otherwise has another digest", async () => {
  const other = await behaviour({ composition: own({ agent: "other-agent" }) });
  assert.notEqual(other.digest, expected.digest);
});

test("a task in JavaScript judges, and goes on from a checkpoint", async () => {
  const session = await open({ composition: own({ task: "counter-task" }), mode: "worker" });
  await value(session, "step", 20);
  const { checkpointId } = await value(session, "checkpoint");
  assert.ok(checkpointId);
  await value(session, "step", 20);
  const straight = await value(session, "snapshot");
  assert.equal(straight.progress.value.transitions, 40);
  const trace = await value(session, "trace");
  await value(session, "arm", { name: "kill-participant", participant: "fly-a" });
  await until("the session notices", async () => (await value(session, "status")).fenced);
  await value(session, "replaceParticipants");
  await value(session, "restore");
  await value(session, "resume");
  await value(session, "step", 20);
  const resumed = await value(session, "snapshot");
  assert.deepEqual(resumed.progress, straight.progress);
  const difference = await value(session, "compareTrace", trace, { rebaseFrom: ["e1", "e2"] });
  assert.equal(difference.verdict, "equal", inspect(difference));
  await value(session, "close");
});

test("the arena runs in one program only, and says why", async () => {
  for (const mode of ["worker", "isolated"]) {
    const refused = await page.evaluate(async (mode) => {
      const { createSession } = await import("/pkg/wellwritten.js");
      return createSession({ mode, store: "memory" }).then(
        () => null,
        ({ code, message }) => ({ code, message }),
      );
    }, mode);
    assert.equal(refused.code, "UNSUPPORTED");
    assert.match(refused.message, /one GPU device/);
  }
});

/** A session whose agents fail in `how` way at boundary 3, stepped to there; budgets in milliseconds. */
async function failing(how, options = {}) {
  const composition = own({ agent: "counter-agent" });
  composition.agents[1].module = `/failing-agent.js?how=${how}`;
  const budgets = { probe: 300, resolve: 400 };
  const session = await open({ composition, mode: "worker", budgets, ...options });
  await value(session, "step", 3);
  await value(session, "checkpoint");
  return session;
}

/** What failed, as the status tells; the session is fenced. */
async function failureOf(session) {
  const { fenced, failure, boundary } = await value(session, "status");
  assert.equal(fenced, true);
  assert.equal(boundary, 3n, "nothing was committed");
  return { participant: failure.participant, message: failure.error.message };
}

/** After `replaceParticipants` and a restore the session stands at boundary 3 under another epoch. */
async function recovers(session) {
  await value(session, "replaceParticipants");
  await value(session, "restore");
  const { boundary, epoch, fenced } = await value(session, "status");
  assert.deepEqual({ boundary, epoch, fenced }, { boundary: 3n, epoch: "e2", fenced: false });
}

const FAILURES = {
  throws: /prepare threw: RangeError: the sky is falling/,
  refuses: /not today/,
  hangs: /./,
  garbage: /prepare/,
  nonsense: /p2.*buttons/,
  garbles: /./,
  uncaught: /out of the blue/,
  spins: /./,
};

for (const [how, message] of Object.entries(FAILURES)) {
  test(`an agent in JavaScript that fails (${how}) ends the epoch by name, and is replaced`, async () => {
    const session = await failing(how);
    const { error } = await ask(session, "step");
    assert.equal(error?.code, "EPOCH_FAILED");
    const failure = await failureOf(session);
    assert.equal(failure.participant, "fly-b", inspect(failure));
    assert.match(failure.message, message);
    await recovers(session);
    await value(session, "close");
    await nothingLeft();
  });
}

test("a session without a GPU has no GPU to lose", async () => {
  const session = await open({ composition: "counter" });
  const names = (await value(session, "faults")).map(({ name }) => name);
  assert.deepEqual(names, ["kill-participant"]);
  const { error } = await ask(session, "arm", { name: "device-loss" });
  assert.equal(error.code, "UNSUPPORTED");
  assert.match(error.message, /do not compute on its device/);
  assert.equal((await value(session, "step", 2)).boundary, 2n);
});

test("an agent that takes long and says that it gets on is not given up", async () => {
  const session = await failing("progresses");
  const { boundary } = await value(session, "step");
  assert.equal(boundary, 4n);
  await value(session, "close");
});

test("an agent whose module throws while it loads is named, and leaves nothing behind", async () => {
  const composition = own();
  composition.agents[0].module = "/failing-agent.js?how=at-load";
  for (const mode of MODES.slice(0, 2)) {
    const refused = await page.evaluate(
      async (options) => {
        const { createSession } = await import("/pkg/wellwritten.js");
        return createSession(options).then(
          () => null,
          ({ code, message }) => ({ code, message }),
        );
      },
      { composition, mode, store: "memory" },
    );
    assert.match(refused.message, /fly-a.*it does not even load/, mode);
  }
  await nothingLeft();
});

test("a worker that ends in the middle of a step ends the epoch by name", async () => {
  const session = await failing("hangs", { budgets: {} });
  const stepping = ask(session, "step");
  assert.ok((await answering(page)).includes("wellwritten-fly-b"), "canary: a worker is found");
  await inWorkers(page, () => globalThis.name === "wellwritten-fly-b" && globalThis.close());
  assert.equal((await stepping).error?.code, "EPOCH_FAILED");
  assert.equal((await failureOf(session)).participant, "fly-b");
  await recovers(session);
  await value(session, "close");
});

test("a frame that is removed ends the epoch by name, between steps too", async () => {
  const session = await open({ composition: "counter", mode: "isolated" });
  await value(session, "step", 3);
  await value(session, "checkpoint");
  await page.evaluate(() => {
    const frames = [...document.querySelectorAll("iframe")];
    frames.find(({ title }) => title.includes("fly-b")).remove();
  });
  await until("the session notices", async () => (await value(session, "status")).fenced);
  assert.equal((await failureOf(session)).participant, "fly-b");
  await recovers(session);
  await value(session, "step", 2);
  await value(session, "close");
  await nothingLeft();
});

test("an isolated participant has no origin, and so no storage and no way into the page", async () => {
  const session = await open({ composition: "counter", mode: "isolated" });
  const [frame] = page.frames().slice(1);
  const found = await frame.evaluate(() => {
    const attempt = (what) => {
      try {
        what();
        return "allowed";
      } catch ({ name }) {
        return name;
      }
    };
    return {
      origin: globalThis.origin,
      storage: attempt(() => localStorage.length),
      page: attempt(() => parent.document),
    };
  });
  assert.deepEqual(found, { origin: "null", storage: "SecurityError", page: "SecurityError" });
  await value(session, "close");
});

test("observers: descriptor, snapshots with their bytes, events, admissions, reset", async () => {
  const session = await open({ composition: "counter", mode: "worker" });
  await session.evaluate((session) => {
    session.seen = [];
    void (async () => {
      for await (const told of session.subscribe()) session.seen.push(told);
    })();
  });
  const { admission, earliestStep } = await value(session, "admit", {
    agentId: "fly-a",
    kindId: "spark",
    durationMs: 5,
  });
  assert.deepEqual([admission.agentId, earliestStep], ["fly-a", 0n]);
  await value(session, "step", 5);
  const shown = await session.evaluate(async (session) => {
    const { scope, media, progress } = await session.snapshot();
    const [{ pixels }] = media.views;
    const [{ samples, sampleFrames }] = media.audio;
    const isBytes = pixels instanceof Uint8Array && samples instanceof Float32Array;
    const { counter } = progress.value;
    const red = pixels[0] === (counter & 255);
    return {
      step: scope.step,
      isBytes,
      red,
      lengths: [pixels.length, samples.length, sampleFrames],
    };
  });
  assert.deepEqual(shown, {
    step: "5",
    isBytes: true,
    red: true,
    lengths: [4 * 32 * 24, 1600, 800],
  });
  const descriptor = await value(session, "descriptor");
  assert.deepEqual(
    descriptor.agents.map(({ agentId }) => agentId),
    ["fly-a", "fly-b"],
  );
  await until("snapshot and events are told", () =>
    session.evaluate((session) => {
      const events = session.seen.filter(({ kind }) => kind === "events");
      const last = session.seen.findLast(({ kind }) => kind === "snapshot");
      const count = events.reduce((sum, batch) => sum + batch.events.length, 0);
      return count >= 10 && last?.snapshot.scope.step === "5";
    }),
  );
  const lines = (await value(session, "exportTrace")).trimEnd().split("\n");
  assert.equal(lines.length, 5);
  assert.equal(JSON.parse(lines[4]).behaviour.scope.step, "4");
  const { boundary, episodeId, epoch } = await value(session, "reset");
  assert.deepEqual([boundary, episodeId, epoch], [0n, "ep2", "e2"]);
  const refused = await ask(session, "descriptor", 99n);
  assert.equal(refused.error.code, "INVALID_ARGUMENT");
  await value(session, "close");
});

test("fifty sessions, opened and closed, leave no worker and no frame behind", async () => {
  for (let round = 0; round < 50; round += 1) {
    const session = await open({ composition: "counter", mode: MODES[1 + (round % 2)] });
    await value(session, "step", 2);
    await value(session, "close");
  }
  await nothingLeft();
});
