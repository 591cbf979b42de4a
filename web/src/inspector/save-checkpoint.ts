import type { SaveOutcome } from "#wasm/session";
import type { Session } from "../session.ts";
import { WellwrittenError } from "../wellwritten-error.ts";

/** Writes a checkpoint; anything but a committed one is an error that says what became of it. */
export async function saveCheckpoint(
  session: Session,
): Promise<Extract<SaveOutcome, { kind: "committed" }>> {
  const outcome = await session.checkpoint();
  if (outcome.kind === "committed") return outcome;
  const what =
    outcome.kind === "failed"
      ? "was not written"
      : "may or may not have been written, the store did not say";
  throw new WellwrittenError(
    "STORE_FAILED",
    `checkpoint ${outcome.checkpointId} ${what}: ${outcome.message}`,
    outcome,
  );
}
