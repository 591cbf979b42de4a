import { element } from "./element.js";

const bytes = ({ start, end }) => `bytes ${start}–${end}`;

/** A `WellwrittenError` for a person: its code, and for `UNWRITTEN` the root failures and the path from each to the bytes. */
export function showReport(error) {
  const head = element("p", {}, [element("code", { class: "code" }, [error.code])]);
  if (!error.is("UNWRITTEN")) {
    head.append(` ${error.message}`);
    return [head];
  }
  const { failures, label, ranges, steps } = error.context;
  head.append(` ${label} may not be read. The root failure:`);
  const roots = failures.map(({ message }) => element("p", { class: "root" }, [message]));
  const path = element("ol", { class: "path", "aria-label": "From the failure to the bytes" });
  for (const { work } of failures) path.append(element("li", {}, [work]));
  for (const { work, needed } of steps)
    path.append(element("li", {}, [`${work}, skipped: it needed ${needed.label}`]));
  for (const range of ranges)
    path.append(element("li", {}, [`${label}, ${bytes(range)}: ${range.state}`]));
  return [head, ...roots, path];
}
