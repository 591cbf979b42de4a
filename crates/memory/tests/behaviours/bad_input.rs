//! Bad input: impossible ranges and sizes, and offsets where narrow integers wrap. Each gets a typed
//! error with its numbers, or works; nothing is lost, nothing panics, nothing wraps.

use crate::endless_storage::EndlessStorage;
use crate::support::{
    buffer, enters, fails, is_empty_when_swept, memory_of, reads, refused, skips, spans, writes,
};
use std::collections::BTreeSet;
use std::num::NonZeroU32;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use wellwritten_memory::{
    ByteRange, BytesStorage, Failure, FailureKind, MemoryConfiguration, MemoryManagement,
    PoolConfiguration, PoolKind, RangeError, ReserveError, StreamId, SubmissionId, Uninitialized,
    WhenFull,
};

/// Offsets where an integer of some width ends, and their neighbours.
fn edges() -> Vec<u64> {
    let powers = [0, 8, 16, 30, 31, 32, 33, 52, 53, 62, 63];
    let around = powers.map(|power| 1u64 << power);
    let mut edges: Vec<u64> = around
        .iter()
        .chain(&[u64::MAX - 1])
        .flat_map(|&edge| [edge - 1, edge, edge + 1])
        .collect();
    edges.dedup();
    edges
}

fn endless(configuration: MemoryConfiguration) -> MemoryManagement<EndlessStorage> {
    MemoryManagement::new(
        EndlessStorage::default(),
        configuration,
        Uninitialized::Trust,
    )
}

fn configurations() -> [MemoryConfiguration; 3] {
    let nothing_shared = PoolKind::SubSlices { page_size_bytes: 0 };
    [
        MemoryConfiguration::ExclusivePages,
        MemoryConfiguration::SubSlices,
        MemoryConfiguration::Custom(vec![PoolConfiguration::new(nothing_shared)]),
    ]
}

#[test]
fn ranges_out_of_bounds_are_refused_with_their_numbers() {
    let mut memory = memory_of(MemoryConfiguration::ExclusivePages);
    let field = buffer(&mut memory, "field");
    for start in edges() {
        for end in edges() {
            let slice = field.slice(start, end);
            let inner = field.slice(8, 16).and_then(|inner| inner.slice(start, end));
            if start > end {
                let refused = RangeError::Backwards { start, end };
                assert_eq!(slice.err(), Some(refused));
                assert_eq!(inner.err(), Some(refused));
                continue;
            }
            for (made, size_bytes, offset) in [(slice, 64, 0), (inner, 8, 8)] {
                if end > size_bytes {
                    let refused = RangeError::OutOfBounds {
                        start,
                        end,
                        size_bytes,
                    };
                    assert_eq!(made.err(), Some(refused));
                } else {
                    let range = made.expect("in bounds").range();
                    assert_eq!((range.start, range.end), (offset + start, offset + end));
                }
            }
        }
    }
}

#[test]
fn trims_that_leave_less_than_nothing_are_refused() {
    let mut memory = memory_of(MemoryConfiguration::ExclusivePages);
    let field = buffer(&mut memory, "field");
    let view = field.slice(16, 48).expect("in bounds");
    for front in edges() {
        for behind in edges() {
            let trimmed = view.trimmed(front, behind);
            if u128::from(front) + u128::from(behind) > 32 {
                assert!(trimmed.is_err(), "{front} and {behind}");
                continue;
            }
            let range = trimmed.expect("something is left").range();
            assert_eq!((range.start, range.end), (16 + front, 48 - behind));
        }
    }
}

#[test]
fn no_bytes_cannot_be_reserved() {
    for configuration in configurations() {
        let mut memory = memory_of(configuration);
        assert_eq!(
            memory.reserve(0, "none").err(),
            Some(ReserveError::ZeroSize)
        );
        assert_eq!(memory.buffers(), []);
        is_empty_when_swept(&mut memory);
    }
}

#[test]
fn reservations_of_impossible_sizes_are_refused_and_lose_nothing() {
    for configuration in configurations() {
        let storage = BytesStorage::new(256, 1 << 20);
        let mut memory = MemoryManagement::new(storage, configuration, Uninitialized::Refuse);
        // A page of the usual size is over the limit of this storage already.
        let mut kept = memory.reserve(100, "kept").ok().map(|made| made.handle);
        let usage = memory.memory_usage();
        let near_the_end = (0..1024).map(|less| u64::MAX - less);
        let sizes = near_the_end.chain(edges().into_iter().filter(|&size| size > 1 << 20));
        for size in sizes {
            let refused = memory.reserve(size, "all").err();
            let Some(
                ReserveError::TooLarge {
                    requested_bytes, ..
                }
                | ReserveError::PoolFull {
                    requested_bytes, ..
                }
                | ReserveError::Storage {
                    requested_bytes, ..
                },
            ) = refused
            else {
                panic!("{size}: {refused:?}")
            };
            assert_eq!(requested_bytes, size);
        }
        assert_eq!(memory.memory_usage(), usage);
        assert_eq!(memory.buffers().len(), usize::from(kept.is_some()));
        kept.take();
        is_empty_when_swept(&mut memory);
    }
}

#[test]
fn a_storage_without_end_is_still_counted_without_wrapping() {
    for configuration in configurations() {
        let mut memory = endless(configuration);
        let half = memory.reserve(1 << 63, "half").expect("no end");
        for size in [1 << 63, u64::MAX >> 1, u64::MAX - 255] {
            let refused = memory.reserve(size, "the other half").err();
            let typed = matches!(
                refused,
                Some(ReserveError::PoolFull { .. } | ReserveError::TooLarge { .. })
            );
            assert!(typed, "{size}: {refused:?}");
        }
        let usage = memory.memory_usage();
        assert_eq!(
            (usage.live_bytes, usage.page_bytes, usage.pages),
            (1 << 63, 1 << 63, 1)
        );
        drop(half);
        is_empty_when_swept(&mut memory);
    }
}

#[test]
fn impossible_configurations_are_refused_at_the_reservation() {
    let mut none = memory_of(MemoryConfiguration::Custom(vec![]));
    let refused = none.reserve(1, "field").err();
    let nothing_fits = ReserveError::TooLarge {
        requested_bytes: 1,
        largest_bytes: 0,
    };
    assert_eq!(refused, Some(nothing_fits));
    let pools = [
        PoolKind::ExclusivePages,
        PoolKind::SubSlices {
            page_size_bytes: u64::MAX,
        },
    ];
    for kind in pools {
        let pool = PoolConfiguration {
            cap_bytes: 0,
            when_full: WhenFull::Refuse,
            ..PoolConfiguration::new(kind)
        };
        let mut memory = memory_of(MemoryConfiguration::Custom(vec![pool]));
        let refused = memory.reserve(1, "field").err();
        let typed = matches!(
            refused,
            Some(ReserveError::PoolFull { .. } | ReserveError::TooLarge { .. })
        );
        assert!(typed, "{refused:?}");
        is_empty_when_swept(&mut memory);
    }
}

/// The model of [`claims_at_any_offset_stay_where_they_were_set`]: the root failure that each piece
/// between two edges carries.
struct Pieces {
    edges: Vec<u64>,
    roots: Vec<Option<String>>,
}

impl Pieces {
    fn set(&mut self, start: u64, end: u64, root: Option<&str>) {
        for (pair, held) in self.edges.windows(2).zip(&mut self.roots) {
            if start <= pair[0] && pair[1] <= end {
                *held = root.map(String::from);
            }
        }
    }

    fn is_stale(&self, start: u64, end: u64) -> bool {
        let mut pieces = self.edges.windows(2).zip(&self.roots);
        pieces.any(|(pair, root)| root.is_some() && start <= pair[0] && pair[1] <= end)
    }

    /// In words, equal neighbours as one.
    fn spans(&self) -> Vec<String> {
        let mut fused: Vec<(u64, u64, &str)> = Vec::new();
        for (pair, root) in self.edges.windows(2).zip(&self.roots) {
            let held = root.as_deref().unwrap_or("trusted");
            match fused.last_mut() {
                Some(last) if last.2 == held => last.1 = pair[1],
                _ => fused.push((pair[0], pair[1], held)),
            }
        }
        let in_words = |(start, end, held): &(u64, u64, &str)| format!("{start}..{end} {held}");
        fused.iter().map(in_words).collect()
    }
}

#[test]
fn claims_at_any_offset_stay_where_they_were_set() {
    let size = u64::MAX - (1 << 33);
    let mut memory = endless(MemoryConfiguration::SubSlices);
    let field = memory.reserve(size, "field").expect("no end").handle;
    let view = buffer(&mut memory, "view");
    let edges: BTreeSet<u64> = edges().into_iter().chain([0, size]).collect();
    let edges: Vec<u64> = edges.into_iter().filter(|&edge| edge <= size).collect();
    let mut model = Pieces {
        roots: vec![None; edges.len() - 1],
        edges: edges.clone(),
    };
    let mut state = 1_u64;
    let mut below = |limit: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 40) as usize % limit
    };
    let (mut refusals, mut trusted) = (0, 0);
    for number in 0..2000 {
        let (one, other) = (below(edges.len()), below(edges.len()));
        let (start, end) = (edges[one.min(other)], edges[one.max(other)]);
        let range = field.slice(start, end).expect("in bounds");
        match below(3) {
            0 => {
                let root = format!("failure {number}");
                fails(&mut memory, "kernel", &[range], &root);
                model.set(start, end, Some(&root));
            }
            1 => {
                writes(&mut memory, &range);
                model.set(start, end, None);
            }
            _ => {
                if model.is_stale(start, end) {
                    refusals += 1;
                    let report = refused(&mut memory, &range);
                    assert!(
                        report
                            .ranges
                            .iter()
                            .all(|at| start <= at.start && at.end <= end)
                    );
                    skips(&mut memory, "kernel", &[range], &[view.binding()]);
                } else {
                    trusted += 1;
                    reads(&mut memory, &range);
                }
            }
        }
        assert_eq!(spans(&memory, &field), model.spans(), "after {number}");
    }
    assert!(
        refusals > 100 && trusted > 100,
        "{refusals} refused, {trusted} trusted"
    );
    let coarse = memory.spans_limited(&field.binding(), 3).expect("live");
    assert_eq!(
        (coarse[0].start, coarse.last().expect("spans").end),
        (0, size)
    );
    drop((field, view));
    is_empty_when_swept(&mut memory);
}

#[test]
fn a_view_of_nothing_is_one_span_or_none() {
    let mut memory = memory_of(MemoryConfiguration::ExclusivePages);
    let field = buffer(&mut memory, "field");
    fails(
        &mut memory,
        "kernel",
        &[field.slice(0, 8).expect("in bounds")],
        "root",
    );
    let empty = field.slice(64, 64).expect("in bounds");
    assert_eq!(memory.spans(&empty), Ok(vec![]));
    assert_eq!(memory.spans_limited(&empty, 0), Ok(vec![]));
    let coarse = memory.spans_limited(&field.binding(), 0).expect("live");
    assert_eq!((coarse.len(), coarse[0].start, coarse[0].end), (1, 0, 64));
}

#[test]
fn labels_and_messages_may_be_anything() {
    let mut memory = memory_of(MemoryConfiguration::ExclusivePages);
    let long = "a label\n\"quoted\" \u{0} \u{1f9ea}".repeat(1000);
    for label in ["", long.as_str()] {
        let field = buffer(&mut memory, label);
        let unit = crate::support::enters(&mut memory, label, &[], &[field.binding()]);
        memory.finish_failed(unit, Failure::new(FailureKind::Internal, label));
        let report = refused(&mut memory, &field.binding());
        assert_eq!(
            (report.label.as_str(), report.failures[0].work.as_str()),
            (label, label)
        );
        assert!(report.to_string().starts_with(label));
    }
    is_empty_when_swept(&mut memory);
}

#[test]
fn sums_that_pass_64_bits_stay_at_the_largest_number() {
    let one = PoolConfiguration {
        cap_bytes: 1 << 63,
        ..PoolConfiguration::new(PoolKind::ExclusivePages)
    };
    let mut memory = endless(MemoryConfiguration::Custom(vec![one.clone(), one]));
    let halves = [(); 2].map(|()| memory.reserve(1 << 63, "half").expect("room").handle);
    let usage = memory.memory_usage();
    assert_eq!((usage.buffers, usage.pages), (2, 2));
    assert_eq!((usage.live_bytes, usage.page_bytes), (u64::MAX, u64::MAX));
    drop(halves);
    is_empty_when_swept(&mut memory);
}

#[test]
fn a_size_that_no_pool_takes_is_told_the_largest_that_one_does() {
    for (configuration, largest) in [
        (MemoryConfiguration::ExclusivePages, 1 << 63),
        (MemoryConfiguration::SubSlices, u64::MAX - 255),
    ] {
        let mut memory = endless(configuration);
        for requested_bytes in [largest + 1, u64::MAX] {
            let refused = ReserveError::TooLarge {
                requested_bytes,
                largest_bytes: largest,
            };
            assert_eq!(memory.reserve(requested_bytes, "huge").err(), Some(refused));
        }
        assert!(memory.reserve(largest, "largest").is_ok());
    }
}

#[test]
fn trimming_more_than_there_is_is_refused_with_its_numbers() {
    let mut memory = memory_of(MemoryConfiguration::ExclusivePages);
    let field = buffer(&mut memory, "field");
    for (front, behind) in [(65, 0), (0, 65), (33, 32), (u64::MAX, u64::MAX)] {
        let refused = RangeError::Overtrimmed {
            front,
            behind,
            size_bytes: 64,
        };
        assert_eq!(field.binding().trimmed(front, behind).err(), Some(refused));
    }
    let middle = field.binding().trimmed(16, 16).expect("32 bytes are left");
    assert_eq!((middle.offset_start(), middle.offset_end()), (16, 16));
    assert_eq!(middle.trimmed(32, 0).expect("none is left").size_bytes(), 0);
}

#[test]
fn a_unit_of_another_manager_has_no_effect() {
    let mut memories = [(); 2].map(|()| memory_of(MemoryConfiguration::ExclusivePages));
    let [ours, theirs] = &mut memories;
    let (field, other) = (buffer(ours, "field"), buffer(theirs, "other"));
    let unit = enters(ours, "kernel", &[], &[field.binding()]);
    let foreign = enters(theirs, "kernel", &[], &[other.binding()]);
    ours.finish_clean(foreign);
    ours.finish_pending(foreign, SubmissionId(1));
    let failure = Failure::new(FailureKind::Internal, "foreign");
    assert_eq!(ours.finish_failed(foreign, failure.clone()), None);
    assert_eq!(ours.fail_unit(foreign, failure), None);
    assert!(!ours.settle(SubmissionId(1), Ok(())));
    let report = refused(ours, &field.binding());
    assert_eq!(report.failures[0].kind, FailureKind::TornDown);
    ours.finish_clean(unit);
    reads(ours, &field.binding());
}

#[test]
fn a_unit_of_a_manager_that_is_gone_has_no_effect() {
    let mut old = memory_of(MemoryConfiguration::ExclusivePages);
    let field = buffer(&mut old, "field");
    let stale = enters(&mut old, "kernel", &[], &[field.binding()]);
    drop((old, field));
    // The next manager may well lie where the last one did, and number its units alike.
    for _ in 0..16 {
        let mut memory = memory_of(MemoryConfiguration::ExclusivePages);
        let field = buffer(&mut memory, "field");
        let unit = enters(&mut memory, "kernel", &[], &[field.binding()]);
        assert_ne!(unit, stale);
        memory.finish_clean(stale);
        refused(&mut memory, &field.binding());
    }
}

#[test]
fn the_largest_number_of_streams_takes_no_room() {
    let mut memory = MemoryManagement::with_streams(
        BytesStorage::new(16, u64::MAX),
        MemoryConfiguration::ExclusivePages,
        Uninitialized::Trust,
        NonZeroU32::MAX,
    );
    let last = StreamId(u64::from(u32::MAX) - 1);
    let field = memory.reserve_on(last, 64, "field").expect("room").handle;
    assert_eq!(memory.memory_report().pools[0].stream, u32::MAX - 1);
    assert!(!memory.capture(last).is_recording());
    drop(field);
    is_empty_when_swept(&mut memory);
}

#[test]
fn a_pool_that_cannot_take_a_size_leaves_it_to_one_that_can() {
    let pools = [
        PoolConfiguration::new(PoolKind::ExclusivePages),
        PoolConfiguration::new(PoolKind::SubSlices { page_size_bytes: 0 }),
    ];
    let mut memory = endless(MemoryConfiguration::Custom(pools.to_vec()));
    assert!(memory.reserve((1 << 63) + 1, "huge").is_ok());
    let refused = ReserveError::TooLarge {
        requested_bytes: u64::MAX,
        largest_bytes: u64::MAX - 255,
    };
    assert_eq!(memory.reserve(u64::MAX, "huger").err(), Some(refused));
}

#[test]
fn a_range_that_is_turned_around_holds_no_byte() {
    let mut range = ByteRange::new(4, 8).expect("in order");
    range.start = 10;
    assert_eq!((range.len(), range.is_empty()), (0, true));
}
