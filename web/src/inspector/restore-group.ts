import type { RestoreReport } from "#wasm/session";
import type { Session } from "../session.ts";

/** Whether a restore is legal now: after a failure, or before a run has begun. */
export function mayRestore(phase: string | undefined): boolean {
  return phase === "failed" || phase === "starting";
}

/**
 * Restores the whole group under a new epoch, from the newest generation unless one is named. After a
 * failure every participant is replaced first, on a recovered device if it was lost.
 */
export async function restoreGroup(
  session: Session,
  checkpointId?: string,
): Promise<RestoreReport> {
  const { phase } = await session.status();
  if (phase.kind === "failed") await session.replaceParticipants();
  return session.restore(checkpointId === undefined ? {} : { checkpointId });
}
