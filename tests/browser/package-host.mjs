// A page that is not ours, under a strict policy, which can import the published package.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { chromium } from "playwright-core";
import { browserFlags } from "../../scripts/test/browser-flags.mjs";

const root = new URL("../../", import.meta.url);
const types = { js: "text/javascript", wasm: "application/wasm", html: "text/html" };
const policyWith = (alsoScripts) =>
  `default-src 'self'; script-src 'self' 'wasm-unsafe-eval' ${alsoScripts}; style-src 'self'; worker-src 'self'`;

function answer(request, response, { alsoScripts, before, asked }) {
  const { pathname } = new URL(request.url, "http://localhost");
  const type = types[pathname.split(".").at(-1)] ?? "text/html";
  response.setHeader("content-type", type);
  response.setHeader("content-security-policy", policyWith(alsoScripts));
  if (asked?.(request, response) === true) return undefined;
  if (pathname === "/") return response.end("<!doctype html><title>host</title><main></main>");
  const file = /^\/(pkg|dist\/conformance)\//.test(pathname)
    ? new URL(`.${pathname}`, root)
    : new URL(`package-page${pathname}`, import.meta.url);
  try {
    // A module without imports runs from its top: what is put before it runs first.
    const first = before[pathname];
    if (first !== undefined) response.write(`${first}\n`);
    response.end(readFileSync(file));
  } catch {
    response.writeHead(404).end();
  }
}

/**
 * Serves that page on this machine. `alsoScripts` are sources of scripts that its policy allows beside its own; `before`
 * is script that is put before a file, by its path; `asked` may answer a request itself, and says so by `true`.
 */
export async function serveHost({ alsoScripts = "", before = {}, asked } = {}) {
  const server = createServer((request, response) =>
    answer(request, response, { alsoScripts, before, asked }),
  );
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${server.address().port}/` };
}

/** The Chromium that is tested. */
export const executablePath = process.env.CHROME_BIN ?? "/usr/bin/chromium";

/** What `page` complains of from now on: errors, rejections that nobody handled among them. */
export function complaintsOf(page) {
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  return complaints;
}

/**
 * Serves that page and opens it. The package is at `/pkg/wellwritten.js`, what tests build at `/dist/conformance/`, what lies in package-page is at `/`. What
 * the page complains of is kept in `complaints`. `openAnother` opens it in another tab.
 */
export async function openHostPage(options) {
  const { server, url } = await serveHost(options);
  const browser = await chromium.launch({ executablePath, args: browserFlags });
  const context = await browser.newContext();
  const icon = ({ pathname }) => pathname === "/favicon.ico";
  await context.route(icon, (route) => route.fulfill({ status: 204 }));
  const openAnother = async () => {
    const page = await context.newPage();
    await page.goto(url);
    return page;
  };
  const page = await context.newPage();
  const complaints = complaintsOf(page);
  await page.goto(url);
  return {
    page,
    complaints,
    openAnother,
    async close() {
      await browser.close();
      server.close();
    },
  };
}
