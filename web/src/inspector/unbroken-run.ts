import type { TraceDiff } from "#wasm/session";
import { createSession, type Session } from "../session.ts";

/** What comparing with an unbroken run found, and where it ran. */
export interface Proof {
  readonly diff: TraceDiff;
  readonly boundary: bigint;
}

/**
 * Runs a second session of the same composition and seed, in memory and on the CPU, from boundary 0 to
 * the boundary of `session` without a break, and compares the behaviour traces, as far back as `session`
 * has one: one that was resumed after a reload begins where it went on. The CPU, so that it also proves the
 * two backends equal and takes no second GPU device; in one program, so that it proves the modes equal.
 */
export async function proveAgainstUnbrokenRun(session: Session): Promise<Proof> {
  const { boundary, masterSeed } = await session.status();
  const own = await session.trace();
  const epochs = [...new Set(own.map(({ behaviour }) => behaviour.scope.epoch))];
  const from = BigInt(own[0]?.behaviour.scope.step ?? 0);
  const { composition } = session.config;
  const fresh = await createSession({
    ...session.config,
    // The counting world's seeds are fixed, and it takes no other.
    ...(composition === "counter" ? {} : { masterSeed }),
    mode: "in-process",
    store: "memory",
    backend: "cpu",
    resume: "never",
  });
  try {
    if (boundary > 0n) await fresh.step(Number(boundary));
    const diff = await session.compareTrace(await fresh.trace({ from }), { rebaseFrom: epochs });
    return { diff, boundary };
  } finally {
    await fresh.close();
  }
}
