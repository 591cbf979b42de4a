//! The kernels of the oracle, as WGSL and as a function: every word they write depends on all they read of its place.

use std::fmt::Write as _;
use std::rc::Rc;

use wellwritten_device::{Access, HostKernelError, KernelSource};

/// Invocations of a workgroup.
const GROUP: u32 = 64;

/// What makes two launches of one kernel over the same bytes write different ones. It travels in the second and
/// third workgroup count.
pub(super) fn salt(operation: usize) -> [u32; 2] {
    let part = |number: usize| u32::try_from(number % 12 + 1).expect("at most 12");
    [part(operation), part(operation / 12)]
}

/// The workgroups of a launch whose longest binding has so many words.
pub(super) fn workgroups(words: usize, salt: [u32; 2]) -> [u32; 3] {
    let words = u32::try_from(words).expect("small buffers");
    [words.div_ceil(GROUP), salt[0], salt[1]]
}

/// One written word, from the words it depends on.
pub(super) fn mix(inputs: &[u32], salt: [u32; 2], index: usize) -> u32 {
    let index = u32::try_from(index).expect("small buffers");
    let start = (salt[0] * 16 + salt[1]).wrapping_mul(0x9e37_79b9) ^ index;
    inputs.iter().fold(start, |sum, input| {
        sum.rotate_left(5) ^ input.wrapping_mul(0x85eb_ca6b)
    })
}

/// What word `index` of written binding `which` depends on: that word of every binding read, as often as those are
/// shorter, and what it held itself where it is read and written.
pub(super) fn inputs<'a>(
    accesses: &'a [Access],
    read: impl Fn(usize, usize) -> u32 + 'a,
    length: impl Fn(usize) -> usize + 'a,
    which: usize,
    index: usize,
) -> Vec<u32> {
    let others = (0..accesses.len()).filter(|at| accesses[*at] == Access::Read);
    let mut words: Vec<u32> = others.map(|at| read(at, index % length(at))).collect();
    if accesses[which] == Access::ReadWrite {
        words.push(read(which, index));
    }
    words
}

/// The kernel for bindings of these accesses.
pub(super) fn kernel(label: &str, accesses: &[Access]) -> KernelSource {
    let accesses = accesses.to_vec();
    KernelSource::wgsl(label, wgsl(&accesses)).with_host(Rc::new(move |launch| {
        let [_, y, z] = launch.workgroups();
        let words = (0..accesses.len())
            .map(|index| Ok(launch.words(index)?.to_vec()))
            .collect::<Result<Vec<Vec<u32>>, HostKernelError>>()?;
        for which in (0..accesses.len()).filter(|at| accesses[*at].writes()) {
            let read = |at: usize, index: usize| words[at][index];
            let length = |at: usize| words[at].len();
            let written = (0..words[which].len())
                .map(|index| {
                    mix(
                        &inputs(&accesses, read, length, which, index),
                        [y, z],
                        index,
                    )
                })
                .collect();
            launch.take(which)?;
            launch.put(which, written)?;
        }
        Ok(())
    }))
}

fn wgsl(accesses: &[Access]) -> String {
    let mut text = String::new();
    for (index, access) in accesses.iter().enumerate() {
        let mode = if access.writes() {
            "read_write"
        } else {
            "read"
        };
        writeln!(
            text,
            "@group(0) @binding({index}) var<storage, {mode}> b{index}: array<u32>;"
        )
        .expect("a String takes it");
    }
    text.push_str(
        "fn step(sum: u32, input: u32) -> u32 {
    return ((sum << 5u) | (sum >> 27u)) ^ (input * 0x85ebca6bu);
}
@compute @workgroup_size(64) fn main(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    if (id.y != 0u || id.z != 0u) { return; }
    let start = ((groups.y * 16u + groups.z) * 0x9e3779b9u) ^ id.x;
",
    );
    for (which, access) in accesses.iter().enumerate() {
        if !access.writes() {
            continue;
        }
        writeln!(text, "    if (id.x < arrayLength(&b{which})) {{").expect("a String takes it");
        text.push_str("        var sum = start;\n");
        for (index, other) in accesses.iter().enumerate() {
            if *other == Access::Read {
                writeln!(
                    text,
                    "        sum = step(sum, b{index}[id.x % arrayLength(&b{index})]);"
                )
                .expect("a String takes it");
            }
        }
        if *access == Access::ReadWrite {
            writeln!(text, "        sum = step(sum, b{which}[id.x]);").expect("a String takes it");
        }
        writeln!(text, "        b{which}[id.x] = sum;\n    }}").expect("a String takes it");
    }
    text.push_str("}\n");
    text
}
