//! Pools: reuse, coalescing, cleanup, caps, and reservations that fail.

use crate::support::{
    buffer, fails, is_empty_when_swept, memory, memory_of, reads, refused, roots, skips, writes,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use wellwritten_memory::{
    BytesStorage, Failure, FailureKind, HandleError, MemoryConfiguration, MemoryManagement,
    PoolConfiguration, PoolKind, ReadRefusal, ReserveError, Storage, StreamId, Uninitialized,
    WhenFull,
};

fn shared_pages(page_size_bytes: u64) -> MemoryConfiguration {
    MemoryConfiguration::Custom(vec![PoolConfiguration::new(PoolKind::SubSlices {
        page_size_bytes,
    })])
}

fn out_of_memory(message: &str) -> Failure {
    Failure::new(FailureKind::OutOfMemory, message)
}

#[test]
fn freed_neighbours_coalesce_and_old_bytes_are_told() {
    // Freed in every order, the four slices are one again.
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3], [1, 3, 0, 2]] {
        let mut memory = memory_of(shared_pages(1024));
        let mut slices = [(); 4].map(|()| {
            let made = memory.reserve(256, "slice").expect("room");
            assert!(!made.recycled);
            Some(made.handle)
        });
        assert_eq!(memory.storage().pages(), 1);
        for index in order {
            slices[index] = None;
            memory.cleanup(false);
        }
        let whole = memory.reserve(1024, "whole").expect("room");
        assert!(whole.recycled);
        assert_eq!(memory.storage().pages(), 1, "freed in the order {order:?}");
    }
}

#[test]
fn coalescing_sheds_the_claims_of_what_it_joins() {
    let mut memory = memory_of(shared_pages(128));
    let (left, right) = (buffer(&mut memory, "left"), buffer(&mut memory, "right"));
    fails(
        &mut memory,
        "kernel",
        &[left.binding(), right.binding()],
        "both",
    );
    drop((left, right));
    let whole = memory.reserve(128, "whole").expect("room");
    assert!(whole.recycled && memory.graph().is_empty());
    reads(&mut memory, &whole.handle.binding());
}

#[test]
fn pages_are_used_again_by_size_class() {
    let mut memory = memory();
    let first = memory.reserve(1000, "first").expect("room");
    let page = memory
        .locate(&first.handle.binding())
        .expect("placed")
        .storage;
    drop(first);
    let smaller = memory.reserve(1001, "close").expect("room");
    assert!(smaller.recycled);
    let location = memory.locate(&smaller.handle.binding()).expect("placed");
    assert_eq!((location.storage, location.size_bytes), (page, 1001));
    let other = memory.reserve(2000, "far").expect("room");
    assert!(!other.recycled);
}

#[test]
fn unused_pages_go_back_at_the_third_periodic_cleanup_or_at_once() {
    for configuration in [shared_pages(1024), MemoryConfiguration::ExclusivePages] {
        let mut memory = memory_of(configuration);
        let kept = buffer(&mut memory, "kept");
        drop(memory.reserve(1024, "dropped"));
        for expected in [2, 2, 1, 1] {
            memory.cleanup(false);
            assert_eq!(memory.storage().pages(), expected);
        }
        drop(memory.reserve(1024, "dropped"));
        memory.cleanup(true);
        assert_eq!(memory.storage().pages(), 1, "what is in use stays");
        drop(kept);
        is_empty_when_swept(&mut memory);
    }
}

#[test]
fn the_usage_adds_up() {
    let mut memory = memory_of(shared_pages(1024));
    let handles = [memory.reserve(100, "one"), memory.reserve(10, "two")];
    let usage = memory.memory_usage();
    assert_eq!((usage.buffers, usage.live_bytes), (2, 110));
    assert_eq!(
        (usage.taken_bytes, usage.page_bytes, usage.pages),
        (112 + 16, 1024, 1)
    );
    drop(handles);
    let usage = memory.memory_usage();
    assert_eq!((usage.buffers, usage.live_bytes, usage.pages), (0, 0, 1));
    is_empty_when_swept(&mut memory);
}

fn capped(when_full: WhenFull) -> MemoryManagement<BytesStorage> {
    let pool = |cap_bytes, when_full| PoolConfiguration {
        cap_bytes,
        when_full,
        ..PoolConfiguration::new(PoolKind::ExclusivePages)
    };
    let pools = vec![pool(256, when_full), pool(512, WhenFull::Refuse)];
    MemoryManagement::new(
        BytesStorage::new(256, u64::MAX),
        MemoryConfiguration::Custom(pools),
        Uninitialized::Trust,
    )
}

#[test]
fn a_full_pool_spills_into_the_next_as_configured() {
    let mut memory = capped(WhenFull::Spill);
    let held = [(); 3].map(|()| memory.reserve(100, "spilled").expect("room"));
    let full = ReserveError::PoolFull {
        requested_bytes: 100,
        page_bytes: 512,
        cap_bytes: 512,
    };
    assert_eq!(memory.reserve(100, "over").err(), Some(full));
    drop(held);
    assert!(memory.reserve(100, "again").expect("freed").recycled);
}

#[test]
fn a_full_pool_refuses_as_configured() {
    let mut memory = capped(WhenFull::Refuse);
    let held = memory.reserve(100, "first").expect("room");
    let full = ReserveError::PoolFull {
        requested_bytes: 100,
        page_bytes: 256,
        cap_bytes: 256,
    };
    assert_eq!(memory.reserve(100, "second").err(), Some(full));
    assert_eq!(memory.memory_usage().buffers, 1);
    drop(held);
    assert!(memory.reserve(100, "second").is_ok());
}

#[test]
fn a_pool_at_its_cap_gives_unused_pages_back_first() {
    let pools = vec![PoolConfiguration {
        cap_bytes: 1024,
        ..PoolConfiguration::new(PoolKind::ExclusivePages)
    }];
    let mut memory = memory_of(MemoryConfiguration::Custom(pools));
    drop(memory.reserve(1024, "all"));
    // Of another size class: the free page is of no use to it.
    let small = memory.reserve(16, "small").expect("the unused page went");
    assert!(!small.recycled);
    assert_eq!(memory.memory_usage().page_bytes, 16);
}

#[test]
fn a_failed_reservation_reads_as_unallocated() {
    let mut memory = memory();
    let view = buffer(&mut memory, "view");
    let missing = memory.reserve_failed(64, "field", out_of_memory("no 64 bytes"));
    let Err(refusal @ ReadRefusal::Unallocated { .. }) = memory.watch(&missing.binding()) else {
        panic!("it was read")
    };
    let text = refusal.to_string();
    let expected = "\"field\" (buffer 2) is unallocated\nfield: no 64 bytes";
    assert!(text.starts_with(expected), "{text}");
    let located = memory.locate(&missing.binding());
    assert!(matches!(located, Err(HandleError::Unallocated { .. })));
    // Neither reading nor writing it runs, and what depends on it names it.
    let (missing_binding, view_binding) = (missing.binding(), view.binding());
    for (inputs, outputs) in [
        (vec![missing_binding.clone()], vec![view_binding.clone()]),
        (vec![], vec![missing_binding.clone(), view_binding.clone()]),
    ] {
        skips(&mut memory, "kernel", &inputs, &outputs);
        let report = refused(&mut memory, &view_binding);
        assert_eq!(roots(&report), ["no 64 bytes"]);
        writes(&mut memory, &view_binding);
    }
    let watched = memory.watch(&missing_binding);
    assert!(matches!(watched, Err(ReadRefusal::Unallocated { .. })));
    drop(missing);
    memory.cleanup(false);
    assert!(memory.graph().is_empty());
}

#[test]
fn a_failed_page_takes_every_buffer_on_it() {
    let mut memory = MemoryManagement::new(
        BytesStorage::default(),
        MemoryConfiguration::SubSlices,
        Uninitialized::Trust,
    );
    let (left, right) = (buffer(&mut memory, "left"), buffer(&mut memory, "right"));
    let page = memory.locate(&left.binding()).expect("placed").storage;
    memory.fail_page(page, "page", out_of_memory("4 MiB"));
    for handle in [&left, &right] {
        let watched = memory.watch(&handle.binding());
        assert!(matches!(watched, Err(ReadRefusal::Unallocated { .. })));
    }
    assert_eq!((memory.graph().len(), memory.storage().pages()), (1, 0));
    drop((left, right));
    is_empty_when_swept(&mut memory);
    assert_eq!(memory.storage().alignment(), 256);
}

#[test]
fn a_failed_page_is_taken_from_the_pool_it_came_from() {
    let exclusive = PoolConfiguration {
        largest_bytes: 512,
        ..PoolConfiguration::new(PoolKind::ExclusivePages)
    };
    let shared = PoolConfiguration::new(PoolKind::SubSlices {
        page_size_bytes: 4096,
    });
    for configuration in [
        MemoryConfiguration::ExclusivePages,
        MemoryConfiguration::Custom(vec![exclusive, shared]),
    ] {
        let mut memory = MemoryManagement::with_streams(
            BytesStorage::new(16, u64::MAX),
            configuration,
            Uninitialized::Trust,
            2.try_into().expect("two"),
        );
        let small = memory.reserve(64, "small").expect("room").handle;
        let other = memory.reserve_on(StreamId(1), 1024, "other");
        let other = other.expect("room").handle;
        let page = memory.locate(&other.binding()).expect("placed").storage;
        let failed = memory.fail_page(page, "other", out_of_memory("no page"));
        assert!(failed.is_some());
        reads(&mut memory, &small.binding());
        assert_eq!(memory.memory_usage().pages, 1);
        drop((small, other));
        is_empty_when_swept(&mut memory);
    }
}

#[test]
fn a_free_page_can_fail_too() {
    for configuration in [MemoryConfiguration::ExclusivePages, shared_pages(64)] {
        let mut memory = memory_of(configuration);
        let freed = buffer(&mut memory, "freed");
        let page = memory.locate(&freed.binding()).expect("placed").storage;
        drop(freed);
        let failed = memory.fail_page(page, "freed", out_of_memory("no page"));
        assert_eq!(failed, None, "no buffer was on it");
        assert_eq!(
            (memory.storage().pages(), memory.memory_usage().pages),
            (0, 0)
        );
        let again = memory.fail_page(page, "freed", out_of_memory("no page"));
        assert_eq!(again, None, "it is gone already");
        assert!(!memory.reserve(64, "new").expect("room").recycled);
    }
}
