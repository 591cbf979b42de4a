//! Offsets where 30, 31 and 32 bits end. Oracle: a map from word to value, which knows no ranges.

use std::collections::BTreeMap;

use wellwritten_device::{Access, Binding, DeviceError, DeviceLimits, GuardedBuffer};

use crate::rig::{Rig, bytes};

const EDGES: [u64; 3] = [1 << 30, 1 << 31, 1 << 32];
/// A little over 4 GiB, of which the host gives only what is touched.
const SIZE_BYTES: u64 = (1 << 32) + 8192;

fn huge() -> (Rig, GuardedBuffer) {
    let rig = Rig::late();
    rig.control().grant(DeviceLimits {
        max_buffer_size: SIZE_BYTES,
        ..DeviceLimits::WEBGPU_DEFAULT
    });
    let huge = rig.device.alloc(SIZE_BYTES, "huge").unwrap();
    rig.settle();
    (rig, huge)
}

#[test]
fn writes_launches_copies_and_reads_around_the_edges() {
    let (rig, huge) = huge();
    let small = rig.alloc(256, "small");
    let fill = rig.fill("fill", 9);
    let mut model: BTreeMap<u64, u32> = BTreeMap::new();
    let mut seed = 1u64;
    let mut random = |end: u64| {
        seed = seed
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (seed >> 33) % end
    };
    for round in 0..300u32 {
        let edge = EDGES[usize::try_from(random(3)).unwrap()];
        let kind = random(4);
        // From up to 1 KiB before the edge to 1 KiB after it, across it more often than not.
        let start = match kind {
            1 => (edge - 1024 + random(8) * 256) / 256 * 256,
            _ => edge - 1024 + random(512) * 4,
        };
        let words = 1 + random(255);
        let range = huge.slice(start, start + 4 * words).unwrap();
        let value = match kind {
            0 => {
                let count = usize::try_from(words).unwrap();
                rig.write(&range, &vec![round; count]);
                round
            }
            1 => {
                let bindings = [Binding::new(range, Access::Write)];
                rig.device.launch(&fill, &bindings, [1, 1, 1]).unwrap();
                9
            }
            2 => {
                let count = usize::try_from(words).unwrap();
                let source = small.slice(0, 4 * words).unwrap();
                rig.write(&source, &vec![round + 1000; count]);
                rig.device.copy(&source, &range).unwrap();
                round + 1000
            }
            _ => {
                let expected: Vec<u32> = (start / 4..start / 4 + words)
                    .map(|word| model.get(&word).copied().unwrap_or(0))
                    .collect();
                assert_eq!(rig.read(&range).unwrap(), bytes(&expected), "round {round}");
                continue;
            }
        };
        model.extend((start / 4..start / 4 + words).map(|word| (word, value)));
    }
    for edge in EDGES {
        let around = huge.slice(edge - 2048, edge + 4096).unwrap();
        let expected: Vec<u32> = ((edge - 2048) / 4..(edge + 4096) / 4)
            .map(|word| model.get(&word).copied().unwrap_or(0))
            .collect();
        assert!(expected.iter().any(|word| *word != 0));
        assert_eq!(rig.read(&around).unwrap(), bytes(&expected));
    }
    // What would have been hit had an offset lost its high bits.
    let start = huge.slice(0, 8192).unwrap();
    assert!(rig.read(&start).unwrap().iter().all(|byte| *byte == 0));
}

#[test]
fn one_byte_off_is_refused_with_its_number() {
    let (rig, huge) = huge();
    let fill = rig.fill("fill", 9);
    for edge in EDGES {
        for offset in [edge - 1, edge + 1] {
            let range = huge.slice(offset, offset + 4).unwrap();
            let written = rig.device.write(&range, &[0; 4]);
            let bindings = [Binding::new(range, Access::Write)];
            let launched = rig.device.launch(&fill, &bindings, [1, 1, 1]);
            for (refused, multiple) in [(written, 4), (launched, 256)] {
                assert!(
                    matches!(
                        refused,
                        Err(DeviceError::Alignment { value, required, .. })
                            if value == offset && required == multiple
                    ),
                    "{offset}: {refused:?}"
                );
            }
        }
    }
    for (start, end) in [
        (SIZE_BYTES - 4, SIZE_BYTES + 4),
        (SIZE_BYTES + 4, SIZE_BYTES + 8),
        (u64::MAX - 3, u64::MAX),
        (1 << 32, 1 << 31),
    ] {
        assert!(huge.slice(start, end).is_err(), "{start}..{end}");
    }
}

#[test]
fn a_failure_beyond_32_bits_claims_its_own_bytes_and_no_others() {
    let (rig, huge) = huge();
    for edge in EDGES {
        let before = huge.slice(edge - 256, edge).unwrap();
        let bad = huge.slice(edge, edge + 256).unwrap();
        let after = huge.slice(edge + 256, edge + 512).unwrap();
        let bindings = [Binding::new(bad.clone(), Access::Write)];
        let broken = rig.broken("diffuse");
        rig.device.launch(&broken, &bindings, [1, 1, 1]).unwrap();
        assert!(rig.refusal(&bad).contains("diffuse"));
        for sound in [before, after] {
            assert_eq!(rig.read_words(&sound).unwrap(), [0; 64]);
        }
    }
    let low = huge.slice(0, 256).unwrap();
    assert_eq!(rig.read_words(&low).unwrap(), [0; 64]);
}
