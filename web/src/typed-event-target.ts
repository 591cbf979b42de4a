/**
 * An `EventTarget` whose event names and details are typed. Every event is a `CustomEvent` whose
 * `detail` is the member of `Events` with that name.
 */
export class TypedEventTarget<Events extends object> {
  readonly #target = new EventTarget();

  addEventListener<Name extends keyof Events & string>(
    name: Name,
    listener: (event: CustomEvent<Events[Name]>) => void,
    options?: AddEventListenerOptions | boolean,
  ): void {
    this.#target.addEventListener(name, listener as EventListener, options);
  }

  removeEventListener<Name extends keyof Events & string>(
    name: Name,
    listener: (event: CustomEvent<Events[Name]>) => void,
    options?: EventListenerOptions | boolean,
  ): void {
    this.#target.removeEventListener(name, listener as EventListener, options);
  }

  protected emit<Name extends keyof Events & string>(name: Name, detail: Events[Name]): void {
    this.#target.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
