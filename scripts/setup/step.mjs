// One step of the set-up: something this machine needs, how to see that it is there, and how to get it.

import { readableDuration } from "../duration.mjs";

/** A step that could not be done; its message ends with what a person can do instead. */
export class SetUpFailed extends Error {
  constructor(step, cause) {
    super(`Set-up stopped at "${step.name}": ${cause.message}\n\nBy hand: ${step.byHand}`);
    this.name = "SetUpFailed";
    this.cause = cause;
  }
}

/**
 * @typedef {object} Step
 * @property {string} name what is being provided
 * @property {string} does what this step does when it is missing, as a sentence for the person waiting
 * @property {string} usually how long that usually takes
 * @property {string} byHand what to do when the step fails
 * @property {() => string | undefined | Promise<string | undefined>} present a few words on what was found, or
 *   `undefined` when it is missing; must be quick, since every command asks it
 * @property {() => void | Promise<void>} [provide] gets it; absent where only a person can
 */

/** Does one step unless it is done; returns the milliseconds spent on it. */
export async function take(step) {
  const start = performance.now();
  try {
    let found = await step.present();
    if (found !== undefined) {
      console.log(`  ✓ ${step.name}: ${found}`);
    } else {
      if (!step.provide)
        throw new Error("it is missing or too old, and not for a script to install");
      console.log(`  … ${step.name}: ${step.does} (usually ${step.usually})`);
      await step.provide();
      found = await step.present();
      if (found === undefined) throw new Error("it was installed but still cannot be found");
      console.log(`  ✓ ${step.name}: ${found}, in ${readableDuration(performance.now() - start)}`);
    }
  } catch (error) {
    throw new SetUpFailed(step, error);
  }
  return performance.now() - start;
}
