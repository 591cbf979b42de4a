// `npm run setup`: everything this machine needs, without building anything.

import { readArguments, runCommand } from "./entry.mjs";
import { forBrowserTests, forBuilding, setUp } from "./setup/steps.mjs";

const help = `npm run setup [-- --no-browser]

Provides what is missing on this machine to build and test: Node packages, the wasm32
standard library, wasm-pack, wasm-bindgen, Chromium and its driver. What is there is left alone.

  --no-browser   leave out Chromium and its driver, which only the tests need`;

await runCommand(async () => {
  const { values } = readArguments({ help, options: { "no-browser": { type: "boolean" } } });
  await setUp(values["no-browser"] ? forBuilding : [...forBuilding, ...forBrowserTests]);
});
