// The brain of the counting world, until it fails at boundary 3 in the way that its address names.

import agent from "./counter-agent.js";

const how = new URL(import.meta.url).searchParams.get("how");

/** What happens in `prepare` at boundary 3. */
const failures = {
  throws() {
    throw new RangeError("the sky is falling");
  },
  refuses() {
    throw Object.assign(new Error("not today"), { code: "BACKEND_FAILURE", mutation: "applied" });
  },
  hangs: () => new Promise(() => {}),
  async progresses(step, context) {
    // Far longer than a call may stand still, but it never stands still.
    for (let part = 0; part < 40; part += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      context.progress();
    }
    return agent.prepare(step, context);
  },
  garbage: () => 7,
  nonsense: () => ({ buttons: [], axes: [] }),
  garbles() {
    const post = MessagePort.prototype.postMessage;
    MessagePort.prototype.postMessage = function garbled() {
      Reflect.apply(post, this, [{ message: 7, attachments: "none" }]);
    };
    // What is answered from now on is garbage.
    return {};
  },
  uncaught() {
    setTimeout(() => {
      throw new Error("out of the blue");
    });
    return new Promise(() => {});
  },
  spins() {
    for (;;);
  },
};

if (how === "at-load") throw new Error("it does not even load");

export default {
  ...agent,
  prepare: (step, context) =>
    step.step === 3n && how in failures
      ? failures[how](step, context)
      : agent.prepare(step, context),
};
