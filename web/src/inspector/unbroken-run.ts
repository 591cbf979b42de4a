import type { TraceDiff } from "#wasm";
import { createSession, type Session } from "../session.ts";

/** What comparing with an unbroken run found, and where it ran. */
export interface Proof {
  readonly diff: TraceDiff;
  readonly boundary: bigint;
}

/**
 * Runs a second session of the same composition and seed, in memory and on the CPU, from boundary 0 to
 * the boundary of `session` without a break, and compares the behaviour traces. The CPU, so that it
 * also proves the two backends equal and takes no second GPU device.
 */
export async function proveAgainstUnbrokenRun(session: Session): Promise<Proof> {
  const { boundary, epoch, masterSeed } = await session.status();
  const fresh = await createSession({
    ...session.config,
    masterSeed,
    store: "memory",
    backend: "cpu",
    resume: "never",
  });
  try {
    if (boundary > 0n) await fresh.step(Number(boundary));
    const diff = await session.compareTrace(await fresh.trace(), { rebaseFrom: epoch });
    return { diff, boundary };
  } finally {
    await fresh.close();
  }
}
