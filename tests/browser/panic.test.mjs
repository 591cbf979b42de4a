// Oracle: the text that Rust's own hook prints on the console is what every call must tell, then and later; none hangs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openHostPage } from "./package-host.mjs";

for (const way of ["in a call", "in no call of anybody's"]) {
  test(`a panic ${way}: its message reaches whoever waits and whoever calls later`, async () => {
    const host = await openHostPage();
    const found = await host.page.evaluate(async (way) => {
      const { panic } = await import("/panics.js");
      return panic(way);
    }, way);
    await host.close();
    const [printed] = host.complaints.filter((text) => text.includes("panicked at"));
    const [where] = printed.split("\n");
    assert.match(where, /^panicked at crates\/web\/src\/convert\.rs/);
    assert.equal(found.length, 9);
    for (const told of found) {
      assert.equal(told.name, "WellwrittenError", JSON.stringify(told));
      assert.equal(told.code, "INTERNAL", told.message);
      assert.ok(told.message.includes(where), told.message);
      assert.match(told.message, /reload the page/);
    }
  });
}
