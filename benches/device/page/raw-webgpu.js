// The loop over raw WebGPU, in plain JavaScript, with what is common practice to make it fast: one command buffer,
// one compute pass and one bind group for all launches, one mappable buffer for all reads, one array for their bytes.

const storage = (binding, type) => ({
  binding,
  visibility: GPUShaderStage.COMPUTE,
  buffer: { type },
});

/** A device with its pipeline, buffers and bind groups. The same interface as `RawWgpu` of the wasm module. */
export class RawWebGpu {
  #device;
  #pipeline;
  #workgroups;
  /** The buffer, its bind group and its way to the host, by target. */
  #destinations;

  static async open(wgsl, workgroups, input, targetBytes) {
    const adapter = await navigator.gpu.requestAdapter();
    const device = await adapter.requestDevice();
    return new RawWebGpu(device, wgsl, workgroups, input, targetBytes);
  }

  constructor(device, wgsl, workgroups, input, targetBytes) {
    this.#device = device;
    this.#workgroups = workgroups;
    const layout = device.createBindGroupLayout({
      entries: [storage(0, "read-only-storage"), storage(1, "storage")],
    });
    this.#pipeline = device.createComputePipeline({
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module: device.createShaderModule({ code: wgsl }), entryPoint: "main" },
    });
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const increments = device.createBuffer({ size: input.length, usage: STORAGE | COPY_DST });
    device.queue.writeBuffer(increments, 0, input);
    const size = input.length;
    this.#destinations = targetBytes.map((bytes) => {
      const buffer = device.createBuffer({ size: bytes, usage: STORAGE | COPY_SRC });
      const entries = [increments, buffer].map((each, binding) => ({
        binding,
        resource: { buffer: each, size },
      }));
      return {
        buffer,
        group: device.createBindGroup({ layout, entries }),
        staging: device.createBuffer({ size: bytes, usage: MAP_READ | COPY_DST }),
        latest: new Uint8Array(bytes),
      };
    });
  }

  /** Begins so many launches in one submission; resolves when the queue has done them. */
  beginLaunches(count, target) {
    const encoder = this.#device.createCommandEncoder();
    this.#encode(encoder, this.#destinations[target], count);
    this.#device.queue.submit([encoder.finish()]);
    return this.#device.queue.onSubmittedWorkDone();
  }

  /** Begins so many launches and a read of the whole target in one submission; resolves when the bytes are here. */
  async beginRead(count, target) {
    const destination = this.#destinations[target];
    const { buffer, staging, latest } = destination;
    const encoder = this.#device.createCommandEncoder();
    this.#encode(encoder, destination, count);
    encoder.copyBufferToBuffer(buffer, 0, staging, 0, latest.length);
    this.#device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    latest.set(new Uint8Array(staging.getMappedRange()));
    staging.unmap();
  }

  /** What the latest read of a target returned. */
  bytes(target) {
    return this.#destinations[target].latest;
  }

  #encode(encoder, { group }, count) {
    if (count === 0) return;
    const pass = encoder.beginComputePass();
    pass.setPipeline(this.#pipeline);
    pass.setBindGroup(0, group);
    for (let launch = 0; launch < count; launch += 1) pass.dispatchWorkgroups(this.#workgroups);
    pass.end();
  }
}
