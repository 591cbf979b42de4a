// Oracle: a launch that ran out of stack left wasm in the middle of its books, so no call is answered after it but by what
// happened; a program that recovers from its own endless recursion elsewhere loses nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openHostPage } from "./package-host.mjs";

for (const backend of ["webgpu", "cpu"]) {
  test(`a stack that runs out in a launch on ${backend} ends the module: every call says so, the waiting ones too`, async () => {
    const host = await openHostPage();
    const found = await host.page.evaluate(async (backend) => {
      const { open, outcome, read, write } = await import("/kernels.js");
      const { createGuardedDevice } = await import("/pkg/wellwritten.js");
      const { device, kernel } = await open(backend);
      const [buffer, other] = [device.alloc(16), device.alloc(16)];
      const set = kernel("set 5");
      const endless = () => endless();
      const harmless = (await outcome(endless)).name;
      const before = (await device.read(buffer)).length;
      let ended;
      // At the bottom no stack is left, and on the way back there is more of it in every frame.
      const deep = () => {
        try {
          deep();
        } catch (thrown) {
          try {
            if (ended === undefined) device.launch(set, [write(buffer)], [1]);
          } catch (error) {
            if (error.code === "INTERNAL") ended = error.message;
          }
          throw thrown;
        }
      };
      const waiting = outcome(() => device.settled());
      const { name } = await outcome(deep);
      const late = new Promise((resolve) => setTimeout(resolve, 10_000, { code: "still open" }));
      const told = [];
      for (const call of [
        () => device.launch(set, [write(buffer)], [1]),
        () => device.write(buffer, new Uint8Array(16)),
        () => device.copy(buffer, other),
        () => device.read(buffer),
        () => device.taint(buffer),
        () => device.window(() => device.launch(set, [read(buffer)], [1])),
        () => device.settled(),
        () => device.recover(),
        () => device.counters(),
        () => device.close(),
        () => createGuardedDevice({ backend }),
      ]) {
        const { code, message } = await Promise.race([outcome(call), late]);
        told.push([code, message]);
      }
      buffer.free();
      // It had nothing to wait for on the CPU, and may have been through before the stack ran out.
      const waited = await Promise.race([waiting, late]);
      return { harmless, before, ended, name, told, waited: waited?.code ?? "INTERNAL" };
    }, backend);
    await host.close();
    const { ended, told, ...rest } = found;
    assert.deepEqual(rest, {
      harmless: "RangeError",
      before: 16,
      name: "RangeError",
      waited: "INTERNAL",
    });
    assert.match(ended, /cannot go on; reload the page\. RangeError: .*call stack/);
    assert.equal(told.length, 11);
    for (const answer of told) assert.deepEqual(answer, ["INTERNAL", ended]);
  });
}
