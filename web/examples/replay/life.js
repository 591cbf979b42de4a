// Cells in two buffers, back and forth: two steps, recorded once.

import { createGuardedDevice } from "wellwritten";

/** Cells along each side of the field, whose edges meet. */
export const SIDE = 128;
const BYTES = 4 * SIDE * SIDE;

const wgsl = `
  @group(0) @binding(0) var<storage, read> old: array<u32>;
  @group(0) @binding(1) var<storage, read_write> young: array<u32>;
  const side = ${SIDE}u;

  @compute @workgroup_size(8, 8)
  fn main(@builtin(global_invocation_id) at: vec3<u32>) {
    var neighbours = 0u;
    for (var dy = side - 1u; dy <= side + 1u; dy++) {
      for (var dx = side - 1u; dx <= side + 1u; dx++) {
        let row = (at.y + dy) % side;
        neighbours += old[row * side + (at.x + dx) % side];
      }
    }
    let index = at.y * side + at.x;
    neighbours -= old[index];
    young[index] = u32((neighbours | old[index]) == 3u);
  }`;

/** The same kernel as a function, where there is no GPU. */
function run([old, young]) {
  for (let index = 0; index < young.length; index += 1) {
    const [x, y] = [index % SIDE, Math.floor(index / SIDE)];
    let neighbours = -old[index];
    for (const dy of [SIDE - 1, SIDE, SIDE + 1]) {
      for (const dx of [SIDE - 1, SIDE, SIDE + 1]) {
        const row = (y + dy) % SIDE;
        neighbours += old[row * SIDE + ((x + dx) % SIDE)];
      }
    }
    young[index] = (neighbours | old[index]) === 3 ? 1 : 0;
  }
}

export async function open(backend) {
  const device = await createGuardedDevice({ backend });
  const alloc = (label) => device.alloc(BYTES, { label });
  const [a, b, shown] = ["a", "b", "shown"].map(alloc);
  return { device, a, b, shown };
}

export function seed({ device, a }, cells) {
  device.write(a, new Uint8Array(cells.buffer));
}

/** Two steps, and a copy to look at: they run now, and are recorded. */
export function record({ device, a, b, shown }, text = wgsl) {
  const { kind } = device.backend();
  const source = kind === "webgpu" ? { wgsl: text } : { run };
  const life = device.kernel({ label: "life", ...source });
  const step = (from, to) => {
    const old = { slice: from, access: "read" };
    const young = { slice: to, access: "write" };
    device.launch(life, [old, young], [SIDE / 8, SIDE / 8]);
  };
  return device.window(
    () => {
      step(a, b);
      step(b, a);
      device.copy(a, shown);
    },
    { label: "two steps" },
  );
}

/** Takes two steps so many times; the cells as they are then. */
export async function replay({ device, shown }, graph, times) {
  for (let time = 0; time < times; time += 1) graph.replay();
  const bytes = await device.read(shown);
  return new Uint32Array(bytes.buffer);
}

/** How many launches `work` asks for, and in how many submissions. */
export async function counted({ device }, work) {
  const before = device.counters();
  await work();
  const after = device.counters();
  return {
    launches: after.launches - before.launches,
    submissions: after.submissions - before.submissions,
  };
}
