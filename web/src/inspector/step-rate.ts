const WINDOW_MS = 1000;

/** Boundaries per second over the last second. */
export class StepRate {
  readonly #times: number[] = [];

  /** A boundary was committed at `now` (milliseconds). */
  note(now: number): void {
    this.#times.push(now);
    this.#forget(now);
  }

  perSecond(now: number): number {
    this.#forget(now);
    const first = this.#times[0];
    if (first === undefined || this.#times.length < 2) return 0;
    return ((this.#times.length - 1) * 1000) / Math.max(1, now - first);
  }

  #forget(now: number): void {
    while (this.#times.length > 0 && now - (this.#times[0] as number) > WINDOW_MS)
      this.#times.shift();
  }
}
