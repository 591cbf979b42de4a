// What the rounds of `npm run bench -- device` say: medians, ratios round by round, and which goals they miss.

/** The guarded device may cost so much of raw wgpu where a submission has at least so many launches. */
export const GOAL = { ratio: 1.05, launches: 16 };

export function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The time that a quarter of the rounds stay below: what the busy moments of a machine do not reach. */
export function lowerQuartile(values) {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 4)];
}

/** The median over the rounds of one subject's time as a share of another's in the same round. */
export function ratio(times, others) {
  return median(times.map((time, round) => time / others[round]));
}

const plural = (count) => (count === 1 ? "1 launch" : `${count} launches`);

/** What a case does, in words. */
export function nameOf({ launches, read }) {
  if (read === undefined) return plural(launches);
  return launches === 0 ? `read ${read}` : `${plural(launches)}, read ${read}`;
}

/** Medians by subject: of the time until the case was submitted (0), or until its result was there (1). */
function mediansOf(measured, part) {
  const subjects = Object.entries(measured.times);
  return Object.fromEntries(
    subjects.map(([name, rounds]) => [name, median(rounds.map((round) => round[part]))]),
  );
}

/** What a case's rounds come to: `thread` is the time until it was submitted, `whole` until the result was there. */
export function summarize(measured) {
  const subjects = Object.entries(measured.times);
  const part = (index) => {
    const times = Object.fromEntries(
      subjects.map(([name, rounds]) => [name, rounds.map((round) => round[index])]),
    );
    return {
      medians: mediansOf(measured, index),
      // One of its own for each, so that a busy moment of the machine counts for both sides or for none.
      ofWgpu: ratio(times.guarded, times.wgpu),
      ofScript: ratio(times.guarded, times.script),
      quick: lowerQuartile(times.guarded) / lowerQuartile(times.wgpu),
      // Of two subjects that do the same: how far this is from 1 is chance.
      chance: ratio(times.wgpuAgain, times.wgpu),
    };
  };
  const whole = part(1);
  const demanded = measured.launches >= GOAL.launches;
  return {
    name: nameOf(measured),
    rounds: measured.rounds,
    submissions: measured.submissions,
    thread: part(0),
    whole,
    met: demanded ? whole.ofWgpu <= GOAL.ratio : undefined,
  };
}

const table = (rows) => {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]),
      )
      .join("  ");
  return rows.map((row) => `  ${line(row).trimEnd()}`).join("\n");
};

const milliseconds = (value) => (value === undefined ? "" : value.toFixed(value < 10 ? 3 : 2));
const share = (value) => `${value.toFixed(2)}x`;

function lines(summaries, part) {
  const head = ["", "guarded", "wgpu", "JavaScript", "of wgpu", "of JavaScript", "quick", "chance"];
  const rows = summaries.map((summary) => {
    const { medians, ofWgpu, ofScript, quick, chance } = summary[part];
    const times = [medians.guarded, medians.wgpu, medians.script].map(milliseconds);
    return [summary.name, ...times, ...[ofWgpu, ofScript, quick, chance].map(share)];
  });
  if (part === "thread") return table([head, ...rows]);
  const verdict = ({ met }) => ({ true: "met", false: "MISSED" })[met] ?? "-";
  return table([
    [...head, "goal", "submissions", "rounds"],
    ...rows.map((row, index) => {
      const { submissions, rounds } = summaries[index];
      return [...row, verdict(summaries[index]), submissions.toFixed(1), String(rounds)];
    }),
  ]);
}

function otherwiseLines(otherwise) {
  const head = ["", "one pass for all", "a pass each", "and a bind group each", "guarded"];
  const rows = otherwise.map((measured) => {
    const [thread, whole] = [0, 1].map((part) => mediansOf(measured, part));
    const subjects = ["wgpu", "wgpuPasses", "wgpuBindGroups", "guarded"];
    const cell = (name) => `${milliseconds(thread[name])} / ${milliseconds(whole[name])}`;
    return [nameOf(measured), ...subjects.map(cell)];
  });
  return table([head, ...rows]);
}

function profileLines(profile) {
  const subjects = Object.entries(profile.subjects).filter(([name]) => name !== "wgpuAgain");
  const methods = new Set(subjects.flatMap(([, { calls }]) => Object.keys(calls)));
  const counts = [...methods].map((method) => [
    method,
    ...subjects.map(([, { calls }]) => String(calls[method] ?? 0)),
  ]);
  const allocated = (key) => subjects.map(([, figures]) => String(figures[key]));
  return table([
    [nameOf(profile), ...subjects.map(([name]) => name)],
    ...counts,
    ["allocations in wasm until submitted", ...allocated("allocations")],
    ["allocations in wasm in all", ...allocated("allocationsInAll")],
  ]);
}

/** The whole report, and whether every goal is met. */
export function report({ adapter, cases, otherwise, profiles }, browser) {
  const summaries = cases.map(summarize);
  const missed = summaries.filter(({ met }) => met === false);
  const metCount = summaries.filter(({ met }) => met).length;
  const text = `Chromium ${browser}, ${adapter}; ms, medians; ratios: the median over the rounds, all in turn in one page

Until the result is known and the GPU is done; the goal is ${GOAL.ratio}x of wgpu from ${GOAL.launches} launches on. wgpu and JavaScript
put all launches into one pass of one submission, with one bind group; the submissions are the guarded device's. quick: the lower
quartile of the guarded times as a share of that of wgpu's, which a busy machine disturbs least. chance: a second wgpu
device that does the same, as a share of the first; how far it is from 1 is chance.
${lines(summaries, "whole")}

Of which on the thread, until everything is submitted (no goal)
${lines(summaries, "thread")}

For comparison: wgpu encoded otherwise; until submitted / in all
${otherwiseLines(otherwise)}

Calls into JavaScript and allocations of one round, counted apart
${profiles.map(profileLines).join("\n\n")}

${metCount} goals met, ${missed.length} missed${missed.map(({ name, whole }) => `\n  missed  ${name}: ${share(whole.ofWgpu)} of wgpu, to be at most ${GOAL.ratio}x`).join("")}`;
  return { text, met: missed.length === 0 && metCount > 0 };
}
