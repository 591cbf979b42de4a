import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { Stopped } from "../entry.mjs";

/** What each wasm module is to weigh in the end, gzipped, in bytes. */
const GOAL_BYTES = 300_000;

/**
 * What each module may weigh, gzipped, in bytes. The ceiling is what it may weigh today: it goes up only with
 * what a module newly does, and then by a change that says so, so that what was won is not lost again. A module above its goal is said at every build; ARCHITECTURE.md says what is left.
 */
export const WASM_BUDGETS = {
  page: { goal: GOAL_BYTES, ceiling: 240_000 },
  session: { goal: GOAL_BYTES, ceiling: 765_000 },
  participant: { goal: GOAL_BYTES, ceiling: 300_000 },
  store: { goal: GOAL_BYTES, ceiling: 200_000 },
};

const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;

/** What a wasm module weighs, as `{ plain, gzipped }` in bytes; gzip at its hardest, as a careful server would. */
export function weigh(path) {
  const content = readFileSync(path);
  return { plain: content.length, gzipped: gzipSync(content, { level: 9 }).length };
}

/** One line that compares a module's weight with its goal; throws `Stopped` with it when it is above its ceiling. */
export function compareWithBudget(name, { plain, gzipped }, { goal, ceiling }) {
  const comparison =
    gzipped > goal
      ? `${kilobytes(gzipped - goal)} above the goal of ${kilobytes(goal)}`
      : `within the goal of ${kilobytes(goal)}`;
  if (gzipped > ceiling) {
    throw new Stopped(
      `The wasm module ${name} is too big: ${kilobytes(gzipped)} gzipped, its ceiling is ${kilobytes(ceiling)}.`,
    );
  }
  return `wasm ${name}: ${kilobytes(gzipped)} gzipped (${kilobytes(plain)} plain), ${comparison}`;
}
