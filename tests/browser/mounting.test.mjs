// Oracle: the engine's own count of the wasm memories that are reachable, after it has collected what is not.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openHostPage } from "./package-host.mjs";
import { answering, until } from "./session-calls.mjs";

const MOUNTS = 50;

let host;
let page;
let engine;
before(async () => {
  host = await openHostPage();
  ({ page } = host);
  engine = await page.context().newCDPSession(page);
});
after(async () => {
  await host.close();
  assert.deepEqual(host.complaints, []);
});

/** The sizes in bytes of the page's `WebAssembly.Memory` objects that are alive once garbage is gone. */
async function memories() {
  const asked = { expression: "WebAssembly.Memory.prototype", objectGroup: "count" };
  const { result } = await engine.send("Runtime.evaluate", asked);
  await engine.send("HeapProfiler.collectGarbage");
  const query = { prototypeObjectId: result.objectId, objectGroup: "count" };
  const { objects } = await engine.send("Runtime.queryObjects", query);
  const sizes = {
    objectId: objects.objectId,
    functionDeclaration: "function () { return this.map(({ buffer }) => buffer.byteLength); }",
    returnByValue: true,
  };
  const counted = await engine.send("Runtime.callFunctionOn", sizes);
  await engine.send("Runtime.releaseObjectGroup", { objectGroup: "count" });
  return counted.result.value;
}

test("canary: a wasm memory that is kept is counted, and one that is not is not", async () => {
  const before = await memories();
  await page.evaluate(() => {
    globalThis.kept = new WebAssembly.Memory({ initial: 3 });
    new WebAssembly.Memory({ initial: 5 });
  });
  assert.deepEqual(await memories(), [...before, 3 * 65_536]);
  await page.evaluate(() => {
    delete globalThis.kept;
  });
  assert.deepEqual(await memories(), before);
});

test(`guarded devices opened and closed ${MOUNTS} times: one wasm memory, which stops growing`, async () => {
  const mount = (times) =>
    page.evaluate(async (times) => {
      const { createGuardedDevice } = await import("/pkg/wellwritten.js");
      for (let time = 0; time < times; time += 1) {
        const device = await createGuardedDevice({ backend: time % 5 === 0 ? "webgpu" : "cpu" });
        const buffer = device.alloc(1 << 20);
        device.write(buffer, new Uint8Array(1 << 20).fill(7));
        const [byte] = await device.read(buffer);
        device.close();
        if (byte !== 7) throw new Error(`read ${byte}`);
      }
    }, times);
  await mount(MOUNTS / 2);
  const [size, ...others] = await memories();
  assert.deepEqual(others, []);
  await mount(MOUNTS / 2);
  assert.deepEqual(await memories(), [size]);
});

test(`inspectors and their sessions mounted and removed ${MOUNTS} times: no worker, no wasm memory more`, async () => {
  const before = await memories();
  const left = await page.evaluate(async (mounts) => {
    const { createSession, openInspector } = await import("/pkg/wellwritten.js");
    const place = document.querySelector("main");
    for (let mount = 0; mount < mounts; mount += 1) {
      const config = { sessionId: "mounted", store: "memory", backend: "cpu" };
      const session = await createSession({ ...config, agents: [{ agentId: "solo" }] });
      const inspector = openInspector(session, place);
      await session.step();
      inspector.remove();
      await session.close();
    }
    return { children: place.childElementCount, head: document.head.childElementCount };
  }, MOUNTS);
  assert.deepEqual(left, { children: 0, head: 1 });
  await until("each worker went, and its own wasm memory with it", async () => {
    return (await answering(page)).length === 0;
  });
  assert.deepEqual(await memories(), before);
});
