// `npm start`: from nothing to a page in the browser.

import { buildAll } from "./build/stages.mjs";
import { readArguments, runCommand, UsageError } from "./entry.mjs";
import { demandFreePort, servePage } from "./serve-page.mjs";
import { forBuilding, setUp } from "./setup/steps.mjs";

const help = `npm start [-- --port NUMBER]

Sets up what is missing, builds what has changed, and serves the inspector on this machine
(127.0.0.1) until you press Ctrl+C. The last line printed is the address to open.

  --port NUMBER   serve on exactly this port; without it, on the first free one from 4173`;

/** The port that the text of an option names. */
function portOf(text) {
  if (text === undefined) return undefined;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port >= 0 && port <= 65535)) {
    throw new UsageError(`--port wants a number from 0 to 65535, not "${text}".\n\n${help}`);
  }
  return port;
}

await runCommand(async () => {
  const { values } = readArguments({ help, options: { port: { type: "string" } } });
  const port = portOf(values.port);
  // Said now rather than after a build of minutes.
  if (port !== undefined) await demandFreePort(port);
  await setUp(forBuilding);
  await buildAll();
  const { url, close } = await servePage({ port });
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => close().then(() => process.exit(0)));
  }
  console.log("The inspector is ready. Ctrl+C stops it. Open:");
  console.log(url);
});
