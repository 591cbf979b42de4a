// The same kernels, and the same typo, on a guarded device.

import { createGuardedDevice } from "wellwritten";

const BYTES = 256;
const shader = (value) => `
  @group(0) @binding(0) var<storage, read_write> output: array<u32>;
  const due = 2048u;

  @compute @workgroup_size(64)
  fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    output[id.x] = ${value};
  }`;

export function open() {
  return createGuardedDevice({ backend: "webgpu" });
}

export function compute(device) {
  const alloc = (label) => device.alloc(BYTES, { label });
  const outputs = ["output 1", "output 2", "output 3"].map(alloc);
  const launch = (label, value, output) => {
    const kernel = device.kernel({ label, wgsl: shader(value) });
    device.launch(kernel, [{ slice: output, access: "write" }], [1]);
  };

  // Buffers are recycled: an earlier frame left 512 in each.
  for (const output of outputs) launch("earlier", "512u", output);

  // This frame: 2048 is due in each.
  launch("first", "due", outputs[0]);
  launch("second", "deu", outputs[1]);
  launch("third", "due", outputs[2]);
  return outputs;
}

export async function read(device, output) {
  // The bytes that are due, or an error that says why not.
  const bytes = await device.read(output);
  const [word] = new Uint32Array(bytes.buffer);
  return word;
}
