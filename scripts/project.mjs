// Where things are in this project: every script names its folders through here, so none depends on the
// folder it was started from.

import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/[/\\]$/, "");

/** Absolute paths of the project's folders. */
export const project = {
  root,
  /** Tools built or linked for this clone only; git ignores it. */
  tools: `${root}/.tools`,
  toolsBin: `${root}/.tools/bin`,
  nodeModules: `${root}/node_modules`,
  wasmCrate: `${root}/crates/web`,
  /** The wasm modules with their glue and types; `#wasm/...` in package.json points into it. */
  wasmOut: `${root}/dist/wasm`,
  /** The page that `npm start` serves. */
  pageOut: `${root}/dist/app`,
  /** The publishable npm package. */
  packageOut: `${root}/pkg`,
};
