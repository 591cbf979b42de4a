// Serves the built page on this machine only, under the content security policy it promises to work with.

import { Stopped } from "./entry.mjs";
import { project } from "./project.mjs";

const USUAL_PORT = 4173;

/**
 * Serves dist/app on 127.0.0.1. With `port`, on exactly that port (0 for any free one), and throws `Stopped` when
 * it is taken; without, on the first free one from 4173. Resolves to `{ url, close }`.
 */
export async function servePage({ port } = {}) {
  const { preview } = await import("vite");
  const options = { port: port ?? USUAL_PORT, strictPort: port !== undefined };
  let server;
  try {
    const configFile = `${project.root}/vite.page.config.mjs`;
    server = await preview({ configFile, logLevel: "warn", preview: options });
  } catch (error) {
    // Vite reports a taken port by message alone, the operating system a forbidden one by code.
    if (/already in use/.test(error.message)) {
      throw new Stopped(
        `Port ${port} is taken by another program. Leave --port out for a free one.`,
      );
    }
    if (error.code === "EACCES") throw new Stopped(`This user may not open port ${port}.`);
    throw error;
  }
  const address = server.httpServer.address();
  return { url: `http://127.0.0.1:${address.port}/`, close: () => server.close() };
}
