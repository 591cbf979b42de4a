// Stage 2: the npm package that others install, in pkg: the library as one module, its workers as files beside it,
// the wasm modules, types, the JSON Schema of a manifest, licences.

import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { pathToFileURL } from "node:url";
import { mustRun } from "../command.mjs";
import { project } from "../project.mjs";
import { packageManifest, withExtensions } from "./package-manifest.mjs";
import { digestOf } from "./stage.mjs";
import { wasmModules } from "./wasm.mjs";

const sources = `${project.root}/web/src`;

/**
 * The library's entries, its workers, and the script that participants run, each built by itself so that each output
 * stands alone: `[source, output, options]`.
 */
function modules() {
  const workers = readdirSync(sources).filter((file) => file.endsWith("-worker.ts"));
  return [
    ["index.ts", "wellwritten"],
    ["participant.ts", "participant"],
    ["participant-program.ts", "participant-program", { script: true }],
    ...workers.map((file) => [file, file.replace(/\.ts$/, "")]),
  ];
}

/** The licence texts of the packages that are bundled, which their licences ask to be passed on. */
function noticesOf(lock) {
  const bundled = Object.entries(lock.packages).filter(
    ([path, { dev }]) => path !== "" && !dev && !/\/(@types\/|@lit-labs\/ssr-dom-shim$)/.test(path),
  );
  const notices = bundled.map(([path, { version, license }]) => {
    const folder = `${project.root}/${path}`;
    const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
    const text = file ? readFileSync(`${folder}/${file}`, "utf8") : `License: ${license}\n`;
    return `${path.replace(/^.*node_modules\//, "")} ${version}\n\n${text}`;
  });
  return notices.join(`\n${"-".repeat(80)}\n\n`);
}

/** Importing the package must do nothing, so it must work where there is no DOM: a server that renders pages. */
async function demandImportWithoutDom(path) {
  const program = `await import(${JSON.stringify(pathToFileURL(path).href)})`;
  await mustRun(process.execPath, ["--input-type=module", "--eval", program]);
}

/** @type {import('./stage.mjs').Stage} */
export const packageStage = {
  name: "npm package",
  usually: "5 s",
  outputs: ["package.json", "wellwritten.js", "participant.js", "participant-program.js"].map(
    (file) => `${project.packageOut}/${file}`,
  ),
  digest: () =>
    digestOf([
      "web/src",
      "web/README.md",
      "dist/wasm",
      "LICENSE-MIT",
      "LICENSE-APACHE",
      "package.json",
      "package-lock.json",
      "tsconfig.json",
      "tsconfig.package.json",
      "vite.package.config.mjs",
      "scripts/build",
    ]),
  async build() {
    // Assembled aside and put in place whole: nobody gets to see half a package.
    const aside = `${project.root}/dist/package`;
    const types = `${project.root}/dist/types`;
    for (const folder of [aside, types]) rmSync(folder, { recursive: true, force: true });
    mkdirSync(aside, { recursive: true });
    await mustRun(`${project.nodeModules}/.bin/tsc`, [
      "-p",
      "tsconfig.package.json",
      "--outDir",
      types,
    ]);
    const { build } = await import("vite");
    const { packageConfig } = await import("../../vite.package.config.mjs");
    for (const [source, output, options] of modules())
      await build(packageConfig(`${sources}/${source}`, output, aside, options));

    copyFileSync(`${sources}/generated/manifest.schema.json`, `${aside}/manifest.schema.json`);
    cpSync(types, `${aside}/types`, { recursive: true });
    for (const { stem } of wasmModules) {
      copyFileSync(`${project.wasmOut}/${stem}_bg.wasm`, `${aside}/${stem}_bg.wasm`);
      copyFileSync(`${project.wasmOut}/${stem}.d.ts`, `${aside}/types/${stem}.d.ts`);
    }
    for (const file of ["LICENSE-MIT", "LICENSE-APACHE"])
      copyFileSync(`${project.root}/${file}`, `${aside}/${file}`);
    // web/README.md is the package's; without one, the project's own says the most.
    const readme = ["web/README.md", "README.md"]
      .map((file) => `${project.root}/${file}`)
      .find((file) => existsSync(file));
    if (readme) copyFileSync(readme, `${aside}/README.md`);
    const declarations = readdirSync(`${aside}/types`, { recursive: true })
      .filter((file) => file.endsWith(".d.ts"))
      .map((file) => {
        const path = `${aside}/types/${file}`;
        const text = withExtensions(readFileSync(path, "utf8"));
        writeFileSync(path, text);
        return text;
      });
    const [workspace, lock] = ["package.json", "package-lock.json"].map((file) =>
      JSON.parse(readFileSync(`${project.root}/${file}`, "utf8")),
    );
    const manifest = packageManifest(workspace, lock, declarations);
    writeFileSync(`${aside}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`);
    writeFileSync(`${aside}/THIRD-PARTY-LICENSES.txt`, noticesOf(lock));
    for (const entry of ["wellwritten", "participant"])
      await demandImportWithoutDom(`${aside}/${entry}.js`);
    rmSync(project.packageOut, { recursive: true, force: true });
    renameSync(aside, project.packageOut);
  },
};
