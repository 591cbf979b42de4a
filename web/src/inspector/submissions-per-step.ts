/** What was counted at a boundary. */
interface Reading {
  readonly epoch: string;
  readonly boundary: bigint;
  readonly submissions: bigint;
}

/**
 * GPU submissions that a step needs, from two readings of the device's counters at two boundaries of one epoch. What
 * else ran between them, such as a rewrite or a checkpoint, counts along.
 */
export class SubmissionsPerStep {
  #last: Reading | undefined;
  #perStep: number | null = null;

  /** The figure after this reading: of the steps since the last one, or as before where none was taken. */
  note(reading: Reading): number | null {
    const last = this.#last;
    if (last?.epoch !== reading.epoch || reading.boundary < last.boundary) {
      this.#last = reading;
      this.#perStep = null;
    } else if (reading.boundary > last.boundary) {
      const steps = Number(reading.boundary - last.boundary);
      this.#perStep = Number(reading.submissions - last.submissions) / steps;
      this.#last = reading;
    } else {
      // Work at a standstill is nobody's step.
      this.#last = reading;
    }
    return this.#perStep;
  }
}
