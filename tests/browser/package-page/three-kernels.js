// The public case: three launches into three recycled buffers that hold plausible old values, the middle one
// with a shader that does not compile. On plain WebGPU all three can read as the old values, without an error.

const WORDS = 64;

const fill = (value) => `
@group(0) @binding(0) var<storage, read_write> output: array<u32>;
@compute @workgroup_size(${WORDS})
fn main(@builtin(global_invocation_id) id: vec3<u32>) { output[id.x] = ${value}; }`;

/** Runs the case on a device and says what each of the three reads gave. */
export async function threeKernels(device) {
  const kernel = (label, wgsl) => device.kernel({ label, wgsl });
  const run = (made, buffer) => device.launch(made, [{ slice: buffer, access: "write" }], [1]);
  const buffers = () => [1, 2, 3].map((n) => device.alloc(4 * WORDS, { label: `output ${n}` }));

  const old = kernel("old", fill("512u"));
  const before = buffers();
  for (const buffer of before) run(old, buffer);
  await device.settled();
  for (const buffer of before) buffer.free();

  const outputs = buffers();
  run(kernel("first", fill("2048u")), outputs[0]);
  run(kernel("middle", fill("no_such_value")), outputs[1]);
  run(kernel("last", fill("2050u")), outputs[2]);
  const answers = [];
  for (const buffer of outputs) answers.push(await ask(device, buffer));

  run(old, outputs[1]);
  answers.push(await ask(device, outputs[1]));
  return answers;
}

async function ask(device, buffer) {
  try {
    const bytes = await device.read(buffer);
    return [...new Set(new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4))];
  } catch (error) {
    return { code: error.code, message: error.message, root: error.context.failures[0].message };
  }
}
