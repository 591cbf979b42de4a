import { effect } from "@preact/signals-core";
import { LitElement } from "lit";

/**
 * A Lit element that renders again when a signal read by its last rendering changes, at most once a
 * frame. Disconnected, it listens to nothing.
 */
export abstract class SignalElement extends LitElement {
  #stop: (() => void) | undefined;
  #frame: { readonly request: number; readonly update: () => void } | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    // what was read before a disconnection is no longer tracked: render to track it again
    this.requestUpdate();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    // an update that waits for a frame is done now: Lit would wait for it for ever otherwise
    if (this.#frame !== undefined) {
      cancelAnimationFrame(this.#frame.request);
      this.#frame.update();
    }
    this.#stop?.();
    this.#stop = undefined;
  }

  protected override async scheduleUpdate(): Promise<void> {
    if (!this.hasUpdated) {
      super.scheduleUpdate();
      return;
    }
    await new Promise<void>((resolve) => {
      const update = () => {
        this.#frame = undefined;
        super.scheduleUpdate();
        resolve();
      };
      this.#frame = { request: requestAnimationFrame(update), update };
    });
  }

  protected override performUpdate(): void {
    if (!this.isUpdatePending) return;
    this.#stop?.();
    let rendering = true;
    this.#stop = effect(() => {
      if (rendering) {
        rendering = false;
        super.performUpdate();
      } else {
        this.requestUpdate();
      }
    });
    if (!this.isConnected) {
      this.#stop();
      this.#stop = undefined;
    }
  }
}
