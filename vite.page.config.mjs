// Builds and serves the page in web/index.html, and beside it the examples in web/examples, which use the npm package
// as anybody else would: by its name, as it was built.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** What the page runs under, here and anywhere: no inline script or style, no eval but wasm, no foreign worker. */
const headers = {
  "Content-Security-Policy":
    "script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; worker-src 'self'",
};

const examples = readdirSync(here("./web/examples"))
  .filter((file) => file.endsWith(".html"))
  .map((file) => here(`./web/examples/${file}`));

/**
 * The files of participants' programs, beside the page's scripts: as the package has them, since a script that runs in a
 * frame without an origin can be no module of the page's.
 */
function participantFiles() {
  const files = { "./participant-program.ts": "participant-program.js" };
  const wasm = "wellwritten_participant_bg.wasm";
  files[`./${wasm}`] = wasm;
  const hidden = [];
  return {
    name: "participant-files",
    enforce: "pre",
    apply: "build",
    transform(code, id) {
      if (!id.endsWith("/participant-files.ts")) return undefined;
      return code.replace(/new URL\(\s*"([^"]+)",\s*import\.meta\.url\s*\)/g, (_, path) => {
        const source = readFileSync(here(`./pkg/${files[path]}`));
        const digest = createHash("sha256").update(source).digest("hex").slice(0, 8);
        const fileName = files[path].replace(/\.(?=\w+$)/, `-${digest}.`);
        this.emitFile({ type: "asset", fileName: `assets/${fileName}`, source });
        hidden.push(fileName);
        return `__PARTICIPANT_${hidden.length - 1}__`;
      });
    },
    renderChunk: (code) =>
      code.replace(
        /__PARTICIPANT_(\d+)__/g,
        (_, index) => `new URL("./${hidden[index]}", import.meta.url)`,
      ),
  };
}

export default defineConfig({
  root: here("./web"),
  // Relative, so that the built page works from any folder of any server.
  base: "./",
  // An address that is no page is an error, rather than the first page in the wrong folder.
  appType: "mpa",
  plugins: [participantFiles()],
  resolve: { alias: { wellwritten: here("./pkg/wellwritten.js") } },
  build: {
    outDir: here("./dist/app"),
    emptyOutDir: true,
    target: "es2022",
    // Inlined assets are data: URLs, and the preload polyfill is a script the policy has no need to allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { input: [here("./web/index.html"), ...examples] },
  },
  worker: { format: "es" },
  preview: { host: "127.0.0.1", headers },
});
