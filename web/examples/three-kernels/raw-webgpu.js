// Three kernels in one submission, on plain WebGPU. One has a typo.

const BYTES = 256;
const shader = (value) => `
  @group(0) @binding(0) var<storage, read_write> output: array<u32>;
  const due = 2048u;

  @compute @workgroup_size(64)
  fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    output[id.x] = ${value};
  }`;

export async function open() {
  const adapter = await navigator.gpu?.requestAdapter();
  return adapter?.requestDevice();
}

export function compute(device) {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC;
  const create = () => device.createBuffer({ size: BYTES, usage });
  const outputs = [create(), create(), create()];

  // Buffers are recycled: an earlier frame left 512 in each.
  submit(device, [
    ["512u", outputs[0]],
    ["512u", outputs[1]],
    ["512u", outputs[2]],
  ]);

  // This frame: 2048 is due in each.
  submit(device, [
    ["due", outputs[0]],
    ["deu", outputs[1]],
    ["due", outputs[2]],
  ]);
  return outputs;
}

function submit(device, launches) {
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  for (const [value, buffer] of launches) {
    const module = device.createShaderModule({ code: shader(value) });
    const pipeline = device.createComputePipeline({
      layout: "auto",
      compute: { module },
    });
    const layout = pipeline.getBindGroupLayout(0);
    const entries = [{ binding: 0, resource: { buffer } }];
    const group = device.createBindGroup({ layout, entries });
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(1);
  }
  pass.end();
  device.queue.submit([encoder.finish()]);
}

export async function read(device, output) {
  const usage = GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ;
  const staging = device.createBuffer({ size: BYTES, usage });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(output, 0, staging, 0, BYTES);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const [word] = new Uint32Array(staging.getMappedRange());
  staging.destroy();
  return word;
}
