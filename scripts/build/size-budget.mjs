import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { Stopped } from "../entry.mjs";

/** The most the wasm module may weigh, gzipped, in bytes: 300 KB. */
export const WASM_BUDGET_BYTES = 300_000;

const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;

/** What a wasm module weighs, as `{ plain, gzipped }` in bytes; gzip at its hardest, as a careful server would. */
export function weigh(path) {
  const content = readFileSync(path);
  return { plain: content.length, gzipped: gzipSync(content, { level: 9 }).length };
}

/** One line that compares a weight with the budget; throws `Stopped` with it when the module is too heavy. */
export function compareWithBudget({ plain, gzipped }, budget = WASM_BUDGET_BYTES) {
  const share = `${Math.round((100 * gzipped) / budget)} % of the budget of ${kilobytes(budget)}`;
  const line = `wasm: ${kilobytes(gzipped)} gzipped, ${share} (${kilobytes(plain)} plain)`;
  if (gzipped > budget) throw new Stopped(`The wasm module is too big. ${line}`);
  return line;
}
