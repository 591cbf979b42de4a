// The counting world, written a second time, in JavaScript and from its description alone (crates/counter). It imports
// nothing, so that it can be handed into a frame without an origin.

const NO_REMAINDER = { denominator: "1", numerator: "0" };

/** `thirds / 3` nanoseconds, reduced. */
export const inThirds = (thirds) =>
  thirds % 3n === 0n
    ? { denominator: "1", numerator: String(thirds / 3n) }
    : { denominator: "3", numerator: String(thirds) };

let counter = 0;
let step = 0n;
let episode = null;
let staged = null;

const bytes = (value) => new TextEncoder().encode(JSON.stringify(value));

/** Canonical JSON, so the keys are in order. */
const state = () => ({
  counter,
  episode,
  frames: [{ counter, step: String(step) }],
  sound: { nextSample: String(800n * step), remainder: NO_REMAINDER, sampleRate: 48000 },
  step: String(step),
  time: inThirds(50_000_000n * step),
});

function shown(at = { counter, step }) {
  const pixels = new Uint8Array(4 * 32 * 24);
  for (let index = 0; index < pixels.length; index += 4)
    pixels.set([at.counter & 255, 0, 0, 255], index);
  return {
    views: { arena: pixels },
    inspection: { counter: at.counter, step: Number(at.step) },
    engineFrame: `frame ${at.step}`,
  };
}

function sound() {
  const samples = new Float32Array(1600);
  const first = Number(800n * (step - 1n));
  for (let index = 0; index < samples.length; index += 1) {
    const [frame, channel] = [first + (index >> 1), index & 1];
    samples[index] = (((frame + 37 * counter + 128 * channel) & 255) - 128) / 128;
  }
  return samples;
}

export default {
  descriptor: ({ ports }) => ({
    name: "counter-in-javascript",
    stepDuration: { numerator: 50_000_000n, denominator: 3n },
    ports: ports.map((portId) => ({
      portId,
      schema: { id: "counter.controls", version: 1 },
      buttons: ["inc", "dec"],
      axes: [{ id: "bias", range: "bipolar", neutral: 0 }],
    })),
    inspectionSchema: { id: "counter.inspection", version: 1 },
    views: [{ viewId: "arena", width: 32, height: 24 }],
    audio: [{ streamId: "arena", sampleRate: 48000, channels: 2 }],
  }),
  initialize({ episodeId }) {
    [counter, step, episode] = [0, 0n, episodeId];
    return shown();
  },
  advance({ controls }) {
    for (const { buttons } of controls) {
      const isDown = (name) => buttons.some(({ id, down }) => id === name && down);
      counter += Number(isDown("inc")) - Number(isDown("dec"));
    }
    step += 1n;
    return { ...shown(), audio: { arena: sound() }, state: bytes(state()) };
  },
  capture: () => bytes(state()),
  stageRestore(captured) {
    staged = JSON.parse(new TextDecoder().decode(captured));
    return shown({ counter: staged.counter, step: BigInt(staged.step) });
  },
  activateRestore() {
    [counter, step, episode] = [staged.counter, BigInt(staged.step), staged.episode];
  },
};
