// Kernels for either backend, and what a call came to.

import { createGuardedDevice } from "/pkg/wellwritten.js";

export const backends = ["webgpu", "cpu"];

/** A device of the kind, with `kernels` that fit it: `set N`, `add`, `broken`. */
export async function open(backend) {
  const device = await createGuardedDevice({ backend });
  if (device.backend().kind !== backend) throw new Error(`asked for ${backend}`);
  return { device, kernel: (label) => device.kernel(sourceOf(backend, label)) };
}

/** `set N` fills its one binding, `add` adds the first of two to the second, `broken` is not to be run. */
function sourceOf(backend, label) {
  const [does, value] = label.split(" ");
  return backend === "webgpu"
    ? { label, wgsl: wgslOf(does, value) }
    : { label, run: functionOf(does, Number(value)) };
}

function wgslOf(does, value) {
  const main = (bindings, body) =>
    `${bindings}\n@compute @workgroup_size(4)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) { ${body} }`;
  const target = "@group(0) @binding(0) var<storage, read_write> a: array<u32>;";
  const texts = {
    set: main(target, `a[id.x] = ${value}u;`),
    broken: main(target, "a[id.x] = no_such_value;"),
    add: main(
      "@group(0) @binding(0) var<storage, read> a: array<u32>; @group(0) @binding(1) var<storage, read_write> b: array<u32>;",
      "b[id.x] += a[id.x];",
    ),
  };
  return texts[does];
}

function functionOf(does, value) {
  const functions = {
    set: ([a]) => a.fill(value),
    broken: () => {
      throw new Error("no_such_value");
    },
    add: ([a, b]) => b.set(b.map((word, index) => word + a[index])),
  };
  return functions[does];
}

export const read = (slice) => ({ slice, access: "read" });
export const write = (slice) => ({ slice, access: "write" });
export const both = (slice) => ({ slice, access: "read-write" });

export const bytesOf = (...words) => new Uint8Array(Uint32Array.from(words).buffer);
export const wordsOf = (bytes) => [...new Uint32Array(bytes.buffer)];

/** The words read, or the error as plain data. */
export const ask = (device, source) => outcome(async () => wordsOf(await device.read(source)));

/** What a call gives, or the error as plain data. */
export async function outcome(call) {
  try {
    return await call();
  } catch (error) {
    return { name: error.name, code: error.code, message: error.message, context: error.context };
  }
}
