// A page that saves as fast as it can, and tells its server of every save that was acknowledged, until it is killed.

import { createSession } from "/pkg/wellwritten.js";

const tell = (what, said) =>
  fetch(`/${what}`, {
    method: "POST",
    body: JSON.stringify(said, (_, value) => (typeof value === "bigint" ? Number(value) : value)),
  });

try {
  const session = await createSession({
    sessionId: "killed",
    composition: "counter",
    resume: "latest",
  });
  const status = await session.status();
  const generations = await session.generations();
  const reports = await Promise.all(
    generations.map(({ checkpointId }) => session.verify(checkpointId)),
  );
  if (status.phase.kind === "paused") await session.resume();
  const stepped = await session.step(1);
  await tell("opened", {
    resumedAt: status.boundary,
    steppedTo: stepped.boundary,
    generations: generations.map(({ checkpointId, boundary }) => ({
      checkpointId,
      boundary: Number(boundary),
    })),
    damaged: reports.filter(({ verified }) => !verified),
    removed: status.storeReport.removed.map(({ file }) => file),
  });
  for (;;) {
    const outcome = await session.checkpoint();
    if (outcome.kind !== "committed") throw new Error(JSON.stringify(outcome, String));
    tell("acknowledged", outcome);
    await session.step(1);
  }
} catch (error) {
  tell("failed", { message: String(error?.message ?? error) });
}
