/** Packages that the text of a TypeScript declaration file imports, without relative and `#` imports. */
export function packagesImportedBy(declarations) {
  const specifiers = declarations.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*["']([^"'.#/][^"']*)["']/g);
  const names = [...specifiers].map(([, specifier]) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)[0]);
  return [...new Set(names)].sort();
}

/**
 * The package.json of the published package. Its JavaScript needs no other package, since everything is bundled;
 * its types may still name some, and those are its dependencies, in the versions of the workspace.
 */
export function packageManifest(workspace, declarations) {
  const dependencies = {};
  for (const name of declarations.flatMap(packagesImportedBy)) {
    const version = workspace.dependencies[name];
    if (!version)
      throw new Error(
        `the published types import ${name}, which is no dependency of the workspace`,
      );
    dependencies[name] = version;
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
      "./package.json": "./package.json",
    },
    imports: { "#wasm": { types: "./types/wellwritten_web.d.ts", default: "./wellwritten.js" } },
    types: "./types/index.d.ts",
    dependencies,
  };
}
