//! [`SortedMap`] and [`SortedSet`]: a map and a set in key order, in one sorted vector.
//!
//! Identities only ever grow, so what is added usually goes to the end, which costs what a push costs; anything
//! else moves the entries behind it. What lives here is counted in hundreds. Against a B-tree it is a tenth of
//! the code for each type of entry, and every visitor downloads that code.

use alloc::vec::Vec;
use core::fmt;
use core::ops::{Bound, Index, RangeBounds};

/// A map in key order.
#[derive(Clone, PartialEq, Eq)]
pub struct SortedMap<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries.iter().map(|(key, value)| (key, value));
        formatter.debug_map().entries(entries).finish()
    }
}

impl<K, V> SortedMap<K, V> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// How many entries there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Every entry in key order.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + ExactSizeIterator {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// Every key in order.
    #[must_use]
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator {
        self.entries.iter().map(|(key, _)| key)
    }

    /// Every value in key order.
    #[must_use]
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Every entry in key order.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&K, &mut V)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// Every value in key order.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// Keeps the entries that `keep` says.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    fn find(&self, key: &K) -> Result<usize, usize> {
        match self.entries.last() {
            Some((last, _)) if last < key => Err(self.entries.len()),
            _ => self.entries.binary_search_by(|(other, _)| other.cmp(key)),
        }
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.find(key).ok().map(|at| &self.entries[at].1)
    }

    /// The value of `key`.
    #[must_use]
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.find(key).ok().map(|at| &mut self.entries[at].1)
    }

    /// Whether `key` has a value.
    #[must_use]
    pub fn contains_key(&self, key: &K) -> bool {
        self.find(key).is_ok()
    }

    /// Gives `key` a value; the one it had, if any.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => Some(core::mem::replace(&mut self.entries[at].1, value)),
            Err(at) => {
                self.entries.insert(at, (key, value));
                None
            }
        }
    }

    /// The value of `key`, which is made where it has none.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let at = match self.find(&key) {
            Ok(at) => at,
            Err(at) => {
                self.entries.insert(at, (key, make()));
                at
            }
        };
        &mut self.entries[at].1
    }

    /// The value of `key`, which is made where it has none.
    pub fn get_or_insert_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.get_or_insert_with(key, V::default)
    }

    /// Takes the value of `key` away.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.find(key).ok().map(|at| self.entries.remove(at).1)
    }

    /// The entries whose keys lie in `range`, in key order.
    pub fn range(
        &self,
        range: impl RangeBounds<K>,
    ) -> impl DoubleEndedIterator<Item = (&K, &V)> + ExactSizeIterator {
        let start = match range.start_bound() {
            Bound::Included(bound) => self.entries.partition_point(|(key, _)| key < bound),
            Bound::Excluded(bound) => self.entries.partition_point(|(key, _)| key <= bound),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(bound) => self.entries.partition_point(|(key, _)| key <= bound),
            Bound::Excluded(bound) => self.entries.partition_point(|(key, _)| key < bound),
            Bound::Unbounded => self.entries.len(),
        };
        let found = self.entries.get(start..end).unwrap_or_default();
        found.iter().map(|(key, value)| (key, value))
    }
}

impl<K: Ord, V> Index<&K> for SortedMap<K, V> {
    type Output = V;

    fn index(&self, key: &K) -> &V {
        self.get(key)
            .expect("the caller knows that the key is there")
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = alloc::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

/// A set in order.
#[derive(Clone, PartialEq, Eq)]
pub struct SortedSet<K> {
    keys: SortedMap<K, ()>,
}

impl<K> Default for SortedSet<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug> fmt::Debug for SortedSet<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.iter()).finish()
    }
}

impl<K> SortedSet<K> {
    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            keys: SortedMap::new(),
        }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Every one in order.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator {
        self.keys.keys()
    }

    /// The least.
    #[must_use]
    pub fn first(&self) -> Option<&K> {
        self.iter().next()
    }

    /// The greatest.
    #[must_use]
    pub fn last(&self) -> Option<&K> {
        self.iter().next_back()
    }

    /// Keeps those that `keep` says.
    pub fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        self.keys.retain(|key, ()| keep(key));
    }

    /// Removes all of them.
    pub fn clear(&mut self) {
        self.keys.clear();
    }
}

impl<K: Ord> SortedSet<K> {
    /// Whether `key` is in it.
    #[must_use]
    pub fn contains(&self, key: &K) -> bool {
        self.keys.contains_key(key)
    }

    /// Adds `key`; whether it was not there before.
    pub fn insert(&mut self, key: K) -> bool {
        self.keys.insert(key, ()).is_none()
    }

    /// Takes `key` out; whether it was there.
    pub fn remove(&mut self, key: &K) -> bool {
        self.keys.remove(key).is_some()
    }

    /// Those that lie in `range`, in order.
    pub fn range(&self, range: impl RangeBounds<K>) -> impl DoubleEndedIterator<Item = &K> {
        self.keys.range(range).map(|(key, ())| key)
    }
}

impl<K> IntoIterator for SortedSet<K> {
    type Item = K;
    type IntoIter = core::iter::Map<alloc::vec::IntoIter<(K, ())>, fn((K, ())) -> K>;

    fn into_iter(self) -> Self::IntoIter {
        self.keys.into_iter().map(|(key, ())| key)
    }
}

#[cfg(test)]
mod tests {
    //! Oracle: `BTreeMap`, through the same random calls. A failure prints its seed: put it in `SEEDS`.

    use alloc::collections::BTreeMap;

    use super::*;

    const SEEDS: [u64; 4] = [1, 2, 3, 0x5eed];

    #[test]
    fn it_answers_as_a_b_tree_does() {
        for seed in SEEDS {
            let mut state = seed;
            let mut next = |bound: u64| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 33) % bound
            };
            let mut map = SortedMap::new();
            let mut model = BTreeMap::new();
            for _ in 0..3000 {
                let (key, value) = (next(40), next(1000));
                match next(6) {
                    0..3 => assert_eq!(map.insert(key, value), model.insert(key, value), "{seed}"),
                    3 => assert_eq!(map.remove(&key), model.remove(&key), "{seed}"),
                    4 => {
                        *map.get_or_insert_default(key) += value;
                        *model.entry(key).or_default() += value;
                    }
                    _ => {
                        let end = key + next(20);
                        assert!(map.range(key..end).eq(model.range(key..end)), "{seed}");
                        assert!(
                            map.range(..key).rev().eq(model.range(..key).rev()),
                            "{seed}"
                        );
                        assert!(map.range(key..=end).eq(model.range(key..=end)), "{seed}");
                    }
                }
                assert_eq!(map.get(&key), model.get(&key), "{seed}");
                assert_eq!(map.contains_key(&key), model.contains_key(&key), "{seed}");
                assert_eq!(map.len(), model.len(), "{seed}");
                assert!(map.iter().eq(model.iter()), "{seed}");
                if next(200) == 0 {
                    map.retain(|key, _| key % 3 == 0);
                    model.retain(|key, _| key % 3 == 0);
                }
            }
        }
    }

    #[test]
    fn a_set_holds_each_once_in_order() {
        let mut set = SortedSet::new();
        assert!([3, 1, 2].into_iter().all(|key| set.insert(key)));
        assert!(!set.insert(2) && set.remove(&1) && !set.remove(&1));
        assert_eq!((set.len(), set.last()), (2, Some(&3)));
        assert!(set.range(3..).eq([&3]) && set.contains(&2) && !set.contains(&1));
        assert!(set.into_iter().eq([2, 3]));
    }
}
