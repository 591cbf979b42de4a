import type { TaintState } from "#wasm/page";

/** What each state of a byte means, in the words the inspector uses everywhere. */
export const BYTE_STATES: Record<TaintState, { readonly label: string; readonly meaning: string }> =
  {
    trusted: { label: "trusted", meaning: "last written by work that succeeded" },
    pending: { label: "pending", meaning: "last written by work that has not settled yet" },
    failed: { label: "failed", meaning: "last written by work that failed" },
    skipped: {
      label: "skipped",
      meaning: "its writer was skipped, because what it read had failed",
    },
    "never-written": {
      label: "never written",
      meaning: "nothing has written it since it was allocated",
    },
  };

/** From the state that hides least to the one a person must see first. */
export const STATES_BY_SEVERITY: readonly TaintState[] = [
  "trusted",
  "never-written",
  "pending",
  "skipped",
  "failed",
];

/** How many bytes of each state the spans hold, in the order of severity, most severe first. */
export function countByState(
  spans: readonly { start: bigint; end: bigint; state: TaintState }[],
): { state: TaintState; bytes: bigint }[] {
  const bytes = new Map<TaintState, bigint>();
  for (const span of spans)
    bytes.set(span.state, (bytes.get(span.state) ?? 0n) + span.end - span.start);
  return STATES_BY_SEVERITY.toReversed().flatMap((state) => {
    const count = bytes.get(state);
    return count === undefined ? [] : [{ state, bytes: count }];
  });
}
