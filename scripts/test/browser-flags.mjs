/** How Chromium is started for tests: headless, with WebGPU on its software adapter, talking to nobody. */
export const browserFlags = [
  "--headless",
  // The sandbox needs rights that root and most containers do not have; the tests open only our own pages.
  "--no-sandbox",
  "--enable-unsafe-webgpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
