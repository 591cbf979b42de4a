import type { SaveOutcome } from "#wasm/session";
import type { Session } from "../session.ts";
import { WellwrittenError } from "../wellwritten-error.ts";

/** Writes a checkpoint; anything but a committed one is an error that says what became of it. */
export async function saveCheckpoint(
  session: Session,
): Promise<Extract<SaveOutcome, { kind: "committed" }>> {
  const outcome = await session.checkpoint();
  if (outcome.kind === "committed") return outcome;
  throw new WellwrittenError(
    "STORE_FAILED",
    `checkpoint ${outcome.checkpointId} ${endOf(outcome)}`,
    outcome,
  );
}

function endOf(outcome: Exclude<SaveOutcome, { kind: "committed" }>): string {
  switch (outcome.kind) {
    case "failed":
      return `was not written: ${outcome.message}`;
    case "replyLost":
      return `may or may not have been written, the store did not say: ${outcome.message}`;
    case "superseded":
      return `was not written: ${outcome.by} took its place`;
    case "deadlineExpired":
      return "is still being written";
  }
}
