// The brain of the counting world, written a second time: see counter-world.js.

const PROFILE_DIGEST = "5c534d2a301154cd3e5e019d93cdd4e4ab32bbebd563c68eb2399d526db0153a";
const CONTEXT_SCHEMA = {
  digest: "69c7c74f0e3b4397332ae80322919fbfa1ee6f9025569e91ce8f27cf8978f58b",
  id: "counter.context",
  version: 1,
};
const TICK = { denominator: "1", numerator: "1000000" };

let lcg = 0n;
let signal = 0;
let ticks = 0n;
let updates = 0n;
/** In thirds of a nanosecond. */
let remainder = 0n;
let retained = null;
let staged = null;

const bytes = (value) => new TextEncoder().encode(JSON.stringify(value));

function mix(value) {
  lcg = BigInt.asUintN(64, (lcg ^ value) * 6364136223846793005n + 1442695040888963407n);
}

function bitsOf(value) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return view.getBigUint64(0);
}

function run(count) {
  for (let tick = 0n; tick < count; tick += 1n) mix(1n);
  ticks += count;
}

const install = (input) => mix(BigInt(input.views.arena.pixels[0]));
const stimulate = (stimuli) => {
  for (const { durationMs } of stimuli) mix(bitsOf(durationMs));
};

const inThirds = (thirds) =>
  thirds % 3n === 0n
    ? { denominator: "1", numerator: String(thirds / 3n) }
    : { denominator: "3", numerator: String(thirds) };

/** Canonical JSON, so the keys are in order. */
const state = () => ({
  clock: { remainder: inThirds(remainder), tickDuration: TICK },
  context: { schema: CONTEXT_SCHEMA, value: retained },
  lcg: String(lcg),
  signal,
  ticks: String(ticks),
  updates: String(updates),
});

function telemetry() {
  const rate = Number(lcg >> 48n);
  const learning = { enabled: true, updates, changed: updates, signal };
  return { populationRateHz: rate, rates: [rate], learning };
}

export default {
  profile: {
    name: "counter-in-javascript",
    profileDigest: PROFILE_DIGEST,
    tickDuration: { numerator: 1_000_000n, denominator: 1n },
    decisionSchema: { id: "counter.decision", version: 1 },
    contextSchema: { id: "counter.context", version: 1 },
    neuronCount: 1n,
    rateRoles: ["motor"],
    supportedStimuli: ["spark"],
  },
  initialize({ seed, input, context }) {
    lcg = BigInt(Math.abs(seed));
    [signal, ticks, updates, remainder, retained] = [0, 0n, 0n, 0n, context];
    install(input);
    run(10n);
    return { warmupTicks: 10n, telemetry: telemetry() };
  },
  prepare({ ticks: due, stimuli }) {
    stimulate(stimuli);
    run(due);
    remainder += 50_000_000n - due * 3_000_000n;
    const roll = lcg >> 33n;
    return {
      buttons: [
        { id: "inc", down: roll % 3n !== 0n },
        { id: "dec", down: roll % 5n === 0n },
      ],
      axes: [{ id: "bias", value: 0.25 }],
    };
  },
  commit({ input, stimuli, rewards, context }) {
    install(input);
    stimulate(stimuli);
    signal = rewards.reduce((sum, { value }) => sum + value, 0);
    mix(bitsOf(signal));
    updates += 1n;
    retained = context;
    return { telemetry: telemetry(), state: bytes(state()) };
  },
  capture: () => bytes(state()),
  stageRestore(captured) {
    staged = JSON.parse(new TextDecoder().decode(captured));
  },
  activateRestore() {
    const { clock, context, lcg: integer } = staged;
    const { numerator, denominator } = clock.remainder;
    remainder = (BigInt(numerator) * 3n) / BigInt(denominator);
    retained = context.value;
    [lcg, signal] = [BigInt(integer), staged.signal];
    [ticks, updates] = [BigInt(staged.ticks), BigInt(staged.updates)];
  },
};
