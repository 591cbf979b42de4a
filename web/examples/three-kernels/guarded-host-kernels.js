// The same kernels as functions, and the same typo, without a GPU.

import { createGuardedDevice } from "wellwritten";

const BYTES = 256;
const due = 2048;

export function open() {
  return createGuardedDevice({ backend: "cpu" });
}

export function compute(device) {
  const alloc = (label) => device.alloc(BYTES, { label });
  const outputs = ["output 1", "output 2", "output 3"].map(alloc);
  const launch = (label, run, output) => {
    const kernel = device.kernel({ label, run });
    device.launch(kernel, [{ slice: output, access: "write" }], [1]);
  };

  // Buffers are recycled: an earlier frame left 512 in each.
  const earlier = ([words]) => words.fill(512);
  for (const output of outputs) launch("earlier", earlier, output);

  // This frame: 2048 is due in each.
  launch("first", ([words]) => words.fill(due), outputs[0]);
  launch("second", ([words]) => words.fill(deu), outputs[1]);
  launch("third", ([words]) => words.fill(due), outputs[2]);
  return outputs;
}

export async function read(device, output) {
  // The bytes that are due, or an error that says why not.
  const bytes = await device.read(output);
  const [word] = new Uint32Array(bytes.buffer);
  return word;
}
