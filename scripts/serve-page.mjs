// Serves the built page on this machine only, under the content security policy it promises to work with.

import { createServer } from "node:net";
import { Stopped } from "./entry.mjs";
import { project } from "./project.mjs";

const HOST = "127.0.0.1";
const USUAL_PORT = 4173;

/** Resolves when `port` can be listened on; throws `Stopped` saying why when it cannot. */
export async function demandFreePort(port) {
  const server = createServer();
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, HOST, () => server.close(resolve));
  }).catch((error) => {
    const reasons = {
      EADDRINUSE: `Port ${port} is taken by another program. Name another, or leave --port out for a free one.`,
      EACCES: `This user may not open port ${port}. Name one above 1023, or leave --port out.`,
    };
    throw reasons[error.code] ? new Stopped(reasons[error.code]) : error;
  });
}

/**
 * Serves dist/app on 127.0.0.1. With `port`, on exactly that port (0 for any free one), and throws `Stopped` when
 * it is taken; without, on the first free one from 4173. Resolves to `{ url, close }`.
 */
export async function servePage({ port } = {}) {
  if (port !== undefined) await demandFreePort(port);
  const { preview } = await import("vite");
  const server = await preview({
    configFile: `${project.root}/vite.page.config.mjs`,
    logLevel: "warn",
    preview: { host: HOST, port: port ?? USUAL_PORT, strictPort: port !== undefined },
  });
  const address = server.httpServer.address();
  return { url: `http://${HOST}:${address.port}/`, close: () => server.close() };
}
