// Stage 3: the page that `npm start` serves, in dist/app, and the examples beside it.

import { project } from "../project.mjs";
import { digestOf } from "./stage.mjs";

/** @type {import('./stage.mjs').Stage} */
export const pageStage = {
  name: "page",
  usually: "3 s",
  outputs: [`${project.pageOut}/index.html`],
  digest: () =>
    digestOf([
      "web",
      "dist/wasm",
      "pkg/wellwritten.js",
      "pkg/participant-program.js",
      "package-lock.json",
      "tsconfig.json",
      "vite.page.config.mjs",
      "scripts/build/page.mjs",
    ]),
  async build() {
    const { build } = await import("vite");
    await build({ configFile: `${project.root}/vite.page.config.mjs`, logLevel: "warn" });
  },
};
