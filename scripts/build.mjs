// `npm run build`: everything that is published or served.

import { buildAll } from "./build/stages.mjs";
import { readArguments, runCommand } from "./entry.mjs";
import { forBuilding, setUp } from "./setup/steps.mjs";

const help = `npm run build

Sets up what is missing, then builds:
  dist/wasm   the wasm modules with their glue and types
  pkg         the npm package "wellwritten"
  dist/app    the page that npm start serves
Whatever has not changed since the last build is left alone.`;

await runCommand(async () => {
  readArguments({ help });
  await setUp(forBuilding);
  await buildAll();
});
