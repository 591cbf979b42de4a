// Makes wasm panic, and says what calls come to then. A page in which this ran can only be closed.

import { createGuardedDevice, decodeEnvelope } from "/pkg/wellwritten.js";

/** Every object that wasm builds for JavaScript panics from now on: it does not expect this to fail. */
function spoil() {
  Reflect.set = () => {
    throw new Error("spoiled by the test");
  };
}

/** Ways to panic; each gives the calls that see it. */
const ways = {
  "in a call"(device) {
    const waiting = device.read(device.alloc(16));
    spoil();
    return [() => device.counters(), () => waiting];
  },
  "in no call of anybody's"(device) {
    const buffer = device.alloc(16);
    const wgsl = "@compute @workgroup_size(1) fn main() { nothing_like_it(); }";
    const kernel = device.kernel({ label: "bad", wgsl });
    device.launch(kernel, [{ slice: buffer, access: "write" }], [1]);
    // Refused once it has settled, by a report that cannot be built.
    const reads = [device.read(buffer), device.read(buffer)];
    spoil();
    return [() => reads[0], () => reads[1]];
  },
};

/** Panics in a way, and says what the calls that see it, and later ones, are told. */
export async function panic(way) {
  const device = await createGuardedDevice({ backend: "webgpu" });
  const calls = ways[way](device);
  calls.push(
    () => device.alloc(16),
    () => device.read(null),
    () => device.settled(),
    () => device.window(() => {}),
    () => device.close(),
    () => createGuardedDevice({ backend: "cpu" }),
    () => decodeEnvelope(new Uint8Array(64)),
  );
  const told = [];
  for (const call of calls) told.push(await outcome(call));
  return told;
}

async function outcome(call) {
  const late = new Promise((resolve) => setTimeout(resolve, 10_000, "nothing, for 10 s"));
  try {
    return String(await Promise.race([call(), late]));
  } catch ({ name, code, message }) {
    return { name, code, message };
  }
}
