// Reads from what libFuzzer printed which inputs it wrote down because they broke something.

/** The files that libFuzzer says it wrote a crashing, hanging or exhausting input to, in the order it said so. */
export function foundInputs(output) {
  const found = output.matchAll(/Test unit written to (\S+)/g);
  return [...new Set([...found].map(([, file]) => file))];
}
