//! Logical streams: how they fold onto pooled ones, and that each pooled one has pools of its own.

use crate::support::{buffer, enters, fails, is_empty_when_swept, reads, refused, roots};
use std::num::NonZeroU32;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use wellwritten_memory::{
    BytesStorage, Entry, MemoryConfiguration, MemoryManagement, StreamFactory, StreamId,
    StreamPool, Uninitialized,
};

/// Makes numbers, until there are no more.
struct Numbers {
    made: u32,
    most: u32,
}

impl StreamFactory for Numbers {
    type Stream = u32;
    type Error = &'static str;

    fn create(&mut self) -> Result<u32, &'static str> {
        if self.made == self.most {
            return Err("no more streams");
        }
        self.made += 1;
        Ok(self.made)
    }
}

fn pool(max: u32, most: u32) -> StreamPool<Numbers> {
    let max = NonZeroU32::new(max).expect("at least one");
    StreamPool::new(Numbers { made: 0, most }, max)
}

fn memory(configuration: MemoryConfiguration) -> MemoryManagement<BytesStorage> {
    let four = NonZeroU32::new(4).expect("not zero");
    let storage = BytesStorage::new(16, u64::MAX);
    MemoryManagement::with_streams(storage, configuration, Uninitialized::Trust, four)
}

#[test]
fn logical_streams_fold_onto_the_pooled_ones() {
    let mut pool = pool(4, 4);
    for id in [0, 1, 2, 3, 4, 5, 11, u64::MAX] {
        assert_eq!(u64::from(pool.slot(StreamId(id))), id % 4);
    }
    let first = pool.get(StreamId(6)).copied();
    assert_eq!(first, Ok(1));
    for id in [2, 6, 10, 6 + (4 << 40)] {
        assert_eq!(pool.get(StreamId(id)).copied(), first, "stream {id}");
    }
}

#[test]
fn a_pooled_stream_is_made_when_it_is_first_used() {
    let mut pool = pool(4, 2);
    assert_eq!(pool.try_get(StreamId(1)), None);
    assert_eq!(pool.try_get_mut(StreamId(1)), None);
    assert_eq!(pool.get(StreamId(1)).copied(), Ok(1));
    assert_eq!(pool.try_get(StreamId(5)), Some(&1));
    assert_eq!(pool.get(StreamId(3)).copied(), Ok(2));
    assert_eq!(pool.get(StreamId(0)), Err("no more streams"));
    let made: Vec<(u32, u32)> = pool.iter().map(|(slot, number)| (slot, *number)).collect();
    assert_eq!(made, [(1, 1), (3, 2)], "a refusal changes nothing");
}

#[test]
fn what_one_pooled_stream_frees_the_others_do_not_get() {
    for configuration in [
        MemoryConfiguration::ExclusivePages,
        MemoryConfiguration::SubSlices,
    ] {
        let mut memory = memory(configuration);
        drop(memory.reserve_on(StreamId(1), 64, "first"));
        let elsewhere = memory.reserve_on(StreamId(2), 64, "second").expect("room");
        assert!(!elsewhere.recycled);
        assert_eq!(memory.storage().pages(), 2);
        let folded = memory.reserve_on(StreamId(5), 64, "third").expect("room");
        assert!(folded.recycled);
        assert_eq!(memory.storage().pages(), 2);
        let slots: Vec<u32> = memory
            .memory_report()
            .pools
            .iter()
            .map(|pool| pool.stream)
            .collect();
        assert_eq!(slots, [1, 2]);
        drop((elsewhere, folded));
        is_empty_when_swept(&mut memory);
        assert_eq!(memory.storage().pages(), 0);
    }
}

#[test]
fn a_failure_is_met_on_every_stream() {
    let mut memory = memory(MemoryConfiguration::SubSlices);
    let field = memory
        .reserve_on(StreamId(1), 64, "field")
        .expect("room")
        .handle;
    let view = buffer(&mut memory, "view");
    fails(&mut memory, "kernel", &[field.binding()], "root");
    let entry = memory.enter_on(StreamId(7), "kernel", &[field.binding()], &[view.binding()]);
    assert!(matches!(entry, Ok(Entry::Skipped { .. })));
    assert_eq!(roots(&refused(&mut memory, &view.binding())), ["root"]);
    let entry = memory.enter_on(StreamId(2), "write", &[], &[view.binding()]);
    let Ok(Entry::Entered(unit)) = entry else {
        panic!("it reads nothing: {entry:?}")
    };
    memory.finish_clean(unit);
    reads(&mut memory, &view.binding());
    let unit = enters(&mut memory, "kernel", &[view.binding()], &[]);
    memory.finish_clean(unit);
}

#[test]
fn a_report_shows_every_pool_and_says_it_in_words() {
    let mut memory = memory(MemoryConfiguration::ExclusivePages);
    let kept = memory.reserve_on(StreamId(6), 100, "kept").expect("room");
    drop(memory.reserve_on(StreamId(6), 1000, "dropped"));
    memory.cleanup(false);
    let report = memory.memory_report();
    assert_eq!(report.usage, memory.memory_usage());
    let [pool] = &report.pools[..] else {
        panic!("one pool was used: {report}")
    };
    assert_eq!(
        (pool.stream, pool.pages, pool.page_bytes),
        (2, 2, 112 + 1024)
    );
    assert_eq!((pool.free_bytes, pool.largest_free_bytes), (1024, 1024));
    let text = report.to_string();
    let first = "1 buffers of 100 bytes take up 112 of 1136 bytes in 2 pages";
    assert_eq!(text.lines().next(), Some(first));
    assert!(text.contains("pooled stream 2"), "{text}");
    drop(kept);
}
