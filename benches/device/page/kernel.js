// The one kernel of the bench, and what it computes, by the processor.

const WORDS = 1024;
const WORKGROUP_SIZE = 64;
const FACTOR = 1664525;

/** Workgroups of one launch. */
export const WORKGROUPS = WORDS / WORKGROUP_SIZE;
/** Bytes that one launch reads, and that it writes. */
export const KERNEL_BYTES = 4 * WORDS;

/** Every launch depends on the one before, so that the result tells how many there were. */
export const wgslWithFactor = (factor) => `
@group(0) @binding(0) var<storage, read> increments: array<u32>;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;

@compute @workgroup_size(${WORKGROUP_SIZE})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  sums[id.x] = sums[id.x] * ${factor}u + increments[id.x];
}
`;
export const wgsl = wgslWithFactor(FACTOR);
/** Nearly the same: what a comparison of results has to notice. */
export const wrongWgsl = wgslWithFactor(FACTOR + 2);

const increments = Uint32Array.from({ length: WORDS }, (_, index) =>
  Math.imul(index + 1, 0x9e3779b1),
);
/** What every launch reads. */
export const input = new Uint8Array(increments.buffer);

/** The sums after some numbers of launches, the fewest first. */
const known = [[0, new Uint32Array(WORDS)]];

/** The first bytes of a target after so many launches on it; all others are zero. */
export function expectedAfter(launches) {
  const [before, sums] = known.findLast(([count]) => count <= launches);
  if (before === launches) return new Uint8Array(sums.buffer);
  const after = sums.map((begun, word) => {
    let sum = begun;
    for (let launch = before; launch < launches; launch += 1) {
      sum = (Math.imul(sum, FACTOR) + increments[word]) | 0;
    }
    return sum;
  });
  known.push([launches, after]);
  known.sort(([one], [other]) => one - other);
  return new Uint8Array(after.buffer);
}
