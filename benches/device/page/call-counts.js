// How often something calls into WebGPU, and from wasm into what JavaScript offers besides. Only while it counts:
// nothing of this is there while time is taken.

const watched = () => ({
  device: GPUDevice.prototype,
  queue: GPUQueue.prototype,
  encoder: GPUCommandEncoder.prototype,
  pass: GPUComputePassEncoder.prototype,
  buffer: GPUBuffer.prototype,
  promise: { prototype: Promise.prototype, only: ["then"] },
  Reflect: { prototype: Reflect, only: ["get", "set"] },
  text: { prototype: TextDecoder.prototype, only: ["decode"] },
});

/** Runs `work` and resolves to the number of calls by name, such as `{ "queue.submit": 4 }`. */
export async function countCalls(work) {
  const counts = {};
  const restore = [];
  for (const [name, entry] of Object.entries(watched())) {
    const prototype = entry.prototype ?? entry;
    const methods = entry.only ?? Object.getOwnPropertyNames(prototype);
    for (const method of methods) {
      const descriptor = Object.getOwnPropertyDescriptor(prototype, method);
      if (method === "constructor" || typeof descriptor?.value !== "function") continue;
      const original = descriptor.value;
      const key = `${name}.${method}`;
      prototype[method] = function (...given) {
        counts[key] = (counts[key] ?? 0) + 1;
        return Function.prototype.apply.call(original, this, given);
      };
      restore.push(() => Object.defineProperty(prototype, method, descriptor));
    }
  }
  try {
    await work();
  } finally {
    for (const undo of restore) undo();
  }
  return counts;
}
