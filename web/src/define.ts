import type { WellwrittenInspector } from "./inspector/wellwritten-inspector.ts";
import type { Session } from "./session.ts";

/**
 * Registers `<wellwritten-inspector>`. Safe to call any number of times, and by two copies of this
 * package on one page. The inspector's code is loaded by this call, not by importing the package, so a
 * program that only runs sessions never loads it, and importing works where there is no DOM.
 */
export async function define(): Promise<void> {
  const { register } = await import("./inspector/register.ts");
  register();
}

/**
 * Puts an inspector of `session` into `element` and returns it; it appears once {@link define}, which
 * this calls, has finished. Remove the returned element to close the inspector; the session stays open.
 */
export function openInspector(session: Session, element: Element): WellwrittenInspector {
  const inspector = document.createElement("wellwritten-inspector");
  inspector.session = session;
  element.append(inspector);
  void define();
  return inspector;
}
