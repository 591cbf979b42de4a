import { wasmModules } from "./wasm.mjs";

/** Packages that the text of a TypeScript declaration file imports, without relative and `#` imports. */
export function packagesImportedBy(declarations) {
  const specifiers = declarations.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*["']([^"'.#/][^"']*)["']/g);
  const names = [...specifiers].map(([, specifier]) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)[0]);
  return [...new Set(names)].sort();
}

/**
 * The package.json of the published package, given the workspace's package.json, its package-lock.json and the
 * texts of the published declarations. The JavaScript needs no other package, since everything is bundled; the
 * types may still name some, and those are its dependencies, in the versions the lock file pins.
 */
export function packageManifest(workspace, lock, declarations) {
  const dependencies = {};
  for (const name of [...new Set(declarations.flatMap(packagesImportedBy))].sort()) {
    const locked = lock.packages[`node_modules/${name}`];
    if (!locked || locked.dev) {
      throw new Error(`the published types import ${name}, which is no runtime dependency`);
    }
    dependencies[name] = locked.version;
  }
  return {
    name: "wellwritten",
    version: workspace.version,
    description:
      "A deterministic simulation session in the browser that knows which bytes of GPU memory to trust, with checkpoints and an inspector.",
    license: workspace.license,
    type: "module",
    sideEffects: false,
    exports: {
      ".": { types: "./types/index.d.ts", default: "./wellwritten.js" },
      "./participant": { types: "./types/participant.d.ts", default: "./participant.js" },
      "./manifest.schema.json": "./manifest.schema.json",
      "./package.json": "./package.json",
    },
    // The published types name the types of the wasm modules' glue this way.
    imports: Object.fromEntries(
      wasmModules.map(({ name, stem }) => [`#wasm/${name}`, { types: `./types/${stem}.d.ts` }]),
    ),
    types: "./types/index.d.ts",
    dependencies,
  };
}

/**
 * The text of a declaration file with `.js` on every relative import: TypeScript's node16 resolution finds
 * `./x.d.ts` by `./x.js` alone, and its bundler resolution finds it so too.
 */
export function withExtensions(declarations) {
  const pattern = /((?:\bfrom|\bimport)\s*\(?\s*["'])(\.{1,2}\/[^"']*?)(?:\.[jt]s)?(?=["'])/g;
  return declarations.replace(pattern, "$1$2.js");
}
