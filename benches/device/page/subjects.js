// Everything that is measured, each with a device of its own, behind one interface:
// `begin(launches, read)` submits and returns a promise for the result; `bytes(target)` is what was read last.

import init, { allocations, Guarded, Passes, RawWgpu, Target } from "/wasm/device_bench.js";
import { input, KERNEL_BYTES, WORKGROUPS, wgsl, wrongWgsl } from "./kernel.js";
import { RawWebGpu } from "./raw-webgpu.js";

const TARGET_BYTES = [KERNEL_BYTES, 16 * 1024 * 1024];

export { allocations, Target };

/** A subject that counts its launches, so that its results can be foretold. */
class Subject {
  #launched = [0, 0];
  #begin;

  constructor(name, begin, bytes, { submissions } = {}) {
    this.name = name;
    this.#begin = begin;
    this.bytes = bytes;
    this.submissions = submissions;
  }

  /** Begins `launches` launches and, where `read` names a target, a read of it. */
  begin(launches, read) {
    this.#launched[read ?? Target.Small] += launches;
    return this.#begin(launches, read);
  }

  launched(target) {
    return this.#launched[target];
  }
}

/** The guarded device. */
async function guardedSubject() {
  // `settled` tells the verdict, which WebGPU may give before the work is done. The others wait for that too, and
  // this is the only way to wait for it on a device that hands out nothing of WebGPU.
  const { requestDevice } = GPUAdapter.prototype;
  let queue;
  GPUAdapter.prototype.requestDevice = async function (...descriptor) {
    const device = await requestDevice.apply(this, descriptor);
    queue = device.queue;
    return device;
  };
  const guarded = await Guarded.open(wgsl, WORKGROUPS, input);
  GPUAdapter.prototype.requestDevice = requestDevice;
  const begin = (launches, read) => {
    if (read !== undefined) return guarded.beginRead(launches, read);
    const settled = guarded.beginLaunches(launches);
    return Promise.all([settled, queue.onSubmittedWorkDone()]);
  };
  return new Subject("guarded", begin, () => guarded.bytes(), {
    submissions: () => guarded.submissions(),
  });
}

async function wgpuSubject(name, passes) {
  const raw = await RawWgpu.open(wgsl, WORKGROUPS, input);
  const begin = (launches, read) =>
    read === undefined
      ? raw.beginLaunches(launches, passes)
      : raw.beginRead(launches, read, passes);
  return new Subject(name, begin, (target) => raw.bytes(target));
}

async function scriptSubject(name, source) {
  const raw = await RawWebGpu.open(source, WORKGROUPS, input, TARGET_BYTES);
  const begin = (launches, read) =>
    read === undefined ? raw.beginLaunches(launches, Target.Small) : raw.beginRead(launches, read);
  return new Subject(name, begin, (target) => raw.bytes(target));
}

/** What is compared, what is shown besides, and one whose kernel is wrong. */
export async function openSubjects() {
  await init();
  return {
    compared: [
      await guardedSubject(),
      await wgpuSubject("wgpu", Passes.Shared),
      await scriptSubject("script", wgsl),
      // The same again, which tells how much of a difference is chance.
      await wgpuSubject("wgpuAgain", Passes.Shared),
    ],
    besides: [
      await wgpuSubject("wgpuPasses", Passes.PerLaunch),
      await wgpuSubject("wgpuBindGroups", Passes.PerLaunchWithBindGroup),
    ],
    wrong: await scriptSubject("wrong", wrongWgsl),
  };
}
