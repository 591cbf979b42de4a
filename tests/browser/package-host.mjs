// A page that is not ours, under a strict policy, which can import the published package.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { chromium } from "playwright-core";
import { browserFlags } from "../../scripts/test/browser-flags.mjs";

const root = new URL("../../", import.meta.url);
const types = { js: "text/javascript", wasm: "application/wasm", html: "text/html" };
const policyWith = (alsoScripts) =>
  `default-src 'self'; script-src 'self' 'wasm-unsafe-eval' ${alsoScripts}; style-src 'self'; worker-src 'self'`;

function answer(request, response, alsoScripts) {
  const { pathname } = new URL(request.url, "http://localhost");
  const type = types[pathname.split(".").at(-1)] ?? "text/html";
  response.setHeader("content-type", type);
  response.setHeader("content-security-policy", policyWith(alsoScripts));
  if (pathname === "/") return response.end("<!doctype html><title>host</title><main></main>");
  const file = /^\/(pkg|dist\/conformance)\//.test(pathname)
    ? new URL(`.${pathname}`, root)
    : new URL(`package-page${pathname}`, import.meta.url);
  try {
    response.end(readFileSync(file));
  } catch {
    response.writeHead(404).end();
  }
}

/**
 * Serves that page and opens it. The package is at `/pkg/wellwritten.js`, what tests build at `/dist/conformance/`, what lies in package-page is at `/`. Errors
 * that the page complains of, rejections that nobody handled among them, are kept in `complaints`. `alsoScripts` are
 * sources of scripts that its policy allows beside its own.
 */
export async function openHostPage({ alsoScripts = "" } = {}) {
  const server = createServer((request, response) => answer(request, response, alsoScripts));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const browser = await chromium.launch({
    executablePath: process.env.CHROME_BIN ?? "/usr/bin/chromium",
    args: browserFlags,
  });
  const page = await browser.newPage();
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  const icon = (url) => url.pathname === "/favicon.ico";
  await page.route(icon, (route) => route.fulfill({ status: 204 }));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  return {
    page,
    complaints,
    async close() {
      await browser.close();
      server.close();
    },
  };
}
