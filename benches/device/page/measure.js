// All cases in one page, one after the other; within a case every subject once a round, in changing order.

import { countCalls } from "./call-counts.js";
import { expectedAfter } from "./kernel.js";
import { allocations, openSubjects, Target } from "./subjects.js";

const WARM_UP_ROUNDS = 8;
/** A case ends after so many rounds, or when its time is up and it has the fewest that mean something. */
const ROUNDS = { fewest: 20, most: 400 };

const LAUNCHES = [1, 16, 256].map((launches) => ({ launches }));
const CASES = [
  ...LAUNCHES,
  ...[1, 16, 256].map((launches) => ({ launches, read: Target.Small })),
  ...[0, 16, 256].map((launches) => ({ launches, read: Target.Large })),
  { launches: 0, read: Target.Small },
];

/** Lets everything that the page still has to do be done: the next subject must not pay for it. */
const nextTask = () =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });

/** Milliseconds until `begin` returned, and until the result was there. */
async function time(subject, { launches, read }) {
  await nextTask();
  const start = performance.now();
  const result = subject.begin(launches, read);
  const begun = performance.now();
  await result;
  return [begun - start, performance.now() - start];
}

/** Another order each round, the same in every run: nobody keeps a place, or the same one before it. */
function orderOf(subjects, round) {
  const order = [...subjects];
  let state = round + 1;
  for (let last = order.length - 1; last > 0; last -= 1) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    const chosen = (state >>> 8) % (last + 1);
    [order[last], order[chosen]] = [order[chosen], order[last]];
  }
  return order;
}

const equal = (left, right) =>
  left.length === right.length && left.every((byte, index) => byte === right[index]);

/** Throws unless every subject's bytes are what so many launches make of them. */
async function demandRightBytes(subjects, target) {
  const results = [];
  for (const subject of subjects) {
    await subject.begin(0, target);
    results.push(subject.bytes(target));
    const expected = expectedAfter(subject.launched(target));
    const written = results.at(-1).subarray(0, expected.length);
    const untouched = results.at(-1).subarray(expected.length);
    if (!equal(written, expected) || untouched.some((byte) => byte !== 0))
      throw new Error(`${subject.name}: wrong bytes after ${subject.launched(target)} launches`);
  }
  return results;
}

/** Throws unless all of them, having launched equally often, have the same bytes. */
async function demandSameBytes(subjects) {
  for (const target of [Target.Small, Target.Large]) {
    const [first, ...others] = await demandRightBytes(subjects, target);
    if (!others.every((bytes) => equal(bytes, first)))
      throw new Error("The subjects do not agree on the bytes.");
  }
}

/** The comparisons above must notice a wrong kernel and a result that is not everyone's. */
async function canary(wrong, right) {
  await wrong.begin(2, Target.Small);
  const noticed = await demandRightBytes([wrong], Target.Small).then(
    () => false,
    ({ message }) => message.startsWith("wrong: wrong bytes"),
  );
  if (!noticed) throw new Error("A wrong kernel went unnoticed: the comparison compares nothing.");
  await right.begin(2, Target.Small);
  const [bytes] = await demandRightBytes([right], Target.Small);
  if (equal(bytes, wrong.bytes(Target.Small)))
    throw new Error("Different bytes pass for equal: the comparison compares nothing.");
}

/** Rounds of one case, until the time is up. The first subject is the guarded device. */
async function measureCase(each, subjects, milliseconds) {
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    for (const subject of orderOf(subjects, round)) await time(subject, each);
  }
  const [guarded] = subjects;
  const submissionsBefore = guarded.submissions();
  const times = Object.fromEntries(subjects.map(({ name }) => [name, []]));
  const end = performance.now() + milliseconds;
  let rounds = 0;
  while (rounds < ROUNDS.most && (rounds < ROUNDS.fewest || performance.now() < end)) {
    for (const subject of orderOf(subjects, rounds)) {
      times[subject.name].push(await time(subject, each));
    }
    rounds += 1;
  }
  const submissions = (guarded.submissions() - submissionsBefore) / rounds;
  await demandRightBytes(subjects, each.read ?? Target.Small);
  return { launches: each.launches, read: readName(each.read), rounds, submissions, times };
}

const readName = (target) => ({ [Target.Small]: "4 KiB", [Target.Large]: "16 MiB" })[target];

/** What one round of a case calls and allocates, by subject. */
async function profile(subjects, each) {
  const rows = {};
  for (const subject of subjects) {
    const before = allocations();
    let begun = 0;
    const calls = await countCalls(async () => {
      const result = subject.begin(each.launches, each.read);
      begun = allocations() - before;
      await result;
      await nextTask();
    });
    rows[subject.name] = { calls, allocations: begun, allocationsInAll: allocations() - before };
  }
  return { ...each, read: readName(each.read), subjects: rows };
}

/** Measures every case for about so long. */
export async function measure({ millisecondsPerCase }) {
  if (!crossOriginIsolated)
    throw new Error("The page is not isolated, so its clock is too coarse.");
  const { compared, besides, wrong } = await openSubjects();
  const [, , script] = compared;
  await canary(wrong, script);
  // So that all have launched equally often. The guarded device's kernel and buffers are proven after this.
  for (const subject of [...compared, ...besides]) {
    if (subject !== script) await subject.begin(2, Target.Small);
  }
  const cases = [];
  for (const each of CASES) {
    cases.push(await measureCase(each, compared, millisecondsPerCase));
  }
  await demandSameBytes(compared);
  const otherwise = [];
  for (const each of LAUNCHES) {
    const subjects = [compared[0], compared[1], ...besides];
    otherwise.push(await measureCase(each, subjects, millisecondsPerCase / 2));
  }
  const profiles = [];
  for (const each of [{ launches: 16 }, { launches: 16, read: Target.Small }]) {
    profiles.push(
      await profile(each.read === undefined ? [...compared, ...besides] : compared, each),
    );
  }
  const { vendor, architecture } = (await navigator.gpu.requestAdapter()).info;
  return { adapter: `${vendor} ${architecture}`, cases, otherwise, profiles };
}
