// Builds the modules of the npm package in Vite's library mode, without which `__vitePreload` is wrapped around every
// `import()`: a name that Vite declares again, and fails on, when it builds a page that uses the package.

/**
 * Keeps `new URL('./x-worker.ts', import.meta.url)` and the glue's URL of the wasm module as they are, pointing at
 * the files beside the output. Vite, webpack and a plain <script type="module"> all understand exactly that
 * expression, so the finished package needs no configuration in any of them. It is hidden behind a name while
 * Vite's own handling of such URLs runs, which in library mode inlines workers and wasm as data: URLs, which a page
 * with `script-src 'self'; worker-src 'self'` refuses to load.
 */
function urlsBesideTheModule() {
  const hidden = [];
  return {
    name: "urls-beside-the-module",
    enforce: "pre",
    transform(code, id) {
      if (!/\.[jt]s$/.test(id) || !code.includes("import.meta.url")) return undefined;
      const pattern =
        /new URL\(\s*(['"`])(?:\.\/)?([\w.-]+)\.(ts|wasm)\1\s*,\s*import\.meta\.url\s*,?\s*\)/g;
      return code.replace(pattern, (_, _quote, stem, extension) => {
        hidden.push(`./${stem}.${extension === "ts" ? "js" : extension}`);
        return `__BESIDE_${hidden.length - 1}__`;
      });
    },
    renderChunk(code) {
      return code.replace(
        /__BESIDE_(\d+)__/g,
        (_, index) => `new URL('${hidden[index]}', import.meta.url)`,
      );
    },
  };
}

/**
 * Lit's build for Node works in a browser too and, unlike its browser build, needs no DOM to be imported. But it
 * brings a model of the DOM for rendering on a server, which leaves globals on the page; a class to extend is all
 * that importing needs.
 */
function litWithoutDom() {
  const shim = "\0lit-dom-shim";
  return {
    name: "lit-without-dom",
    enforce: "pre",
    resolveId: (source) => (source === "@lit-labs/ssr-dom-shim" ? shim : undefined),
    load: (id) =>
      id === shim
        ? "export const HTMLElement = class {}; export const customElements = undefined;"
        : undefined,
  };
}

/**
 * For a script that has to run anywhere, also where there is no module around it and nothing beside it: it is told where
 * its wasm is, and must not ask for its own address.
 */
function nothingBeside() {
  return {
    name: "nothing-beside",
    enforce: "pre",
    transform(code, id) {
      if (!/\.[jt]s$/.test(id) || !code.includes("import.meta.url")) return undefined;
      const pattern =
        /new URL\(\s*(['"`])(?:\.\/)?[\w.-]+\.(?:ts|wasm)\1\s*,\s*import\.meta\.url\s*,?\s*\)/g;
      return code.replace(pattern, "undefined");
    },
  };
}

/** The configuration that builds `source` into `outDir` as `name`.js, as a module or as a `script` of its own. */
export function packageConfig(source, name, outDir, { script = false } = {}) {
  return {
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    base: "./",
    resolve: { conditions: ["module", "node", "production"] },
    plugins: [script ? nothingBeside() : urlsBesideTheModule(), litWithoutDom()],
    build: {
      outDir,
      emptyOutDir: false,
      target: "es2022",
      // Whoever bundles the package minifies it with the rest; whoever reads it wants to be able to.
      minify: false,
      modulePreload: false,
      assetsInlineLimit: 0,
      lib: { entry: { [name]: source }, formats: [script ? "iife" : "es"], name: "wellwritten" },
      rolldownOptions: {
        preserveEntrySignatures: script ? false : "strict",
        output: {
          entryFileNames: "[name].js",
          chunkFileNames: `${name}-[name].js`,
          assetFileNames: "[name][extname]",
        },
      },
    },
  };
}
