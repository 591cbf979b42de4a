//! [`ByteSet`]: which bytes of which buffers are in a set.

use crate::buffers::BufferKey;
use crate::byte_range::ByteRange;
use crate::sorted_map::SortedMap;
use alloc::vec::Vec;

/// A set of bytes: disjoint ranges of buffers, neighbours fused.
#[derive(Debug, Default)]
pub(crate) struct ByteSet {
    end_by_start: SortedMap<(BufferKey, u64), u64>,
}

impl ByteSet {
    /// Puts every byte of `range` in.
    pub(crate) fn insert(&mut self, buffer: BufferKey, range: ByteRange) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        loop {
            let upto = self.end_by_start.range((buffer, 0)..=(buffer, end));
            let last = upto.map(|(&(_, start), &end)| (start, end)).next_back();
            let Some((before, until)) = last.filter(|(_, until)| *until >= start) else {
                break;
            };
            self.end_by_start.remove(&(buffer, before));
            start = start.min(before);
            end = end.max(until);
        }
        self.end_by_start.insert((buffer, start), end);
    }

    /// The bytes of `range` that are not in, in order.
    pub(crate) fn missing(&self, buffer: BufferKey, range: ByteRange) -> Vec<ByteRange> {
        let mut missing = Vec::new();
        let mut at = range.start;
        let before = self
            .end_by_start
            .range((buffer, 0)..(buffer, range.start))
            .next_back();
        let inside = self
            .end_by_start
            .range((buffer, range.start)..(buffer, range.end));
        for (&(_, start), &end) in before.into_iter().chain(inside) {
            if start > at {
                missing.extend(ByteRange::new(at, start));
            }
            at = at.max(end.min(range.end));
        }
        if at < range.end {
            missing.extend(ByteRange::new(at, range.end));
        }
        missing
    }

    pub(crate) fn clear(&mut self) {
        self.end_by_start.clear();
    }
}

#[cfg(test)]
mod tests {
    //! Oracle: the bytes themselves, one by one.

    use super::*;
    use crate::identity::BufferId;
    use alloc::collections::BTreeSet;

    #[test]
    fn it_answers_as_a_set_of_single_bytes_does() {
        let keys = [1, 2].map(|number| BufferKey {
            id: BufferId::from_u64(number).expect("not zero"),
            slot: 0,
        });
        let mut set = ByteSet::default();
        let mut model = [BTreeSet::new(), BTreeSet::new()];
        let mut state = 11_u64;
        let mut next = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % limit
        };
        for round in 0..5000 {
            let which = usize::from(next(2) == 1);
            let (one, other) = (next(65), next(65));
            let range = ByteRange::new(one.min(other), one.max(other)).expect("in order");
            let bytes = range.start..range.end;
            let missing = set.missing(keys[which], range);
            for byte in bytes.clone() {
                let told = missing.iter().any(|gap| gap.contains(byte));
                assert_eq!(
                    told,
                    !model[which].contains(&byte),
                    "round {round}, byte {byte}"
                );
            }
            assert!(missing.windows(2).all(|pair| pair[0].end < pair[1].start));
            if next(4) == 0 {
                set.insert(keys[which], range);
                model[which].extend(bytes);
            }
            if next(100) == 0 {
                set.clear();
                model = [BTreeSet::new(), BTreeSet::new()];
            }
        }
    }
}
