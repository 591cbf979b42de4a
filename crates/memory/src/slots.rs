//! [`Slots`]: a table of values under small indices that are used again.

use alloc::vec::Vec;

/// Values under indices that are used again once a value is gone.
///
/// What every launch looks up lives here: an index costs no search and no hash. Whoever keeps an index
/// keeps the identity of the value beside it, to tell a later tenant of the same slot.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self {
            values: Vec::new(),
            free: Vec::new(),
        }
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// The index that the next value gets.
    pub(crate) fn next(&self) -> u32 {
        match self.free.last() {
            Some(slot) => *slot,
            None => u32::try_from(self.values.len()).expect("fewer than 2^32 values at a time"),
        }
    }

    /// Puts a value under [`Slots::next`].
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        let slot = self.next();
        if self.free.pop().is_some() {
            self.values[slot as usize] = Some(value);
        } else {
            self.values.push(Some(value));
        }
        slot
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        self.values.get(slot as usize)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.values.get_mut(slot as usize)?.as_mut()
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Option<T> {
        let value = self.values.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(value)
    }

    /// Every value, by index.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut().filter_map(Option::as_mut)
    }

    /// Every value with its index, by index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..)
            .zip(&self.values)
            .filter_map(|(slot, value)| Some((slot, value.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_used_again_and_only_then() {
        let mut slots = Slots::new();
        assert_eq!((slots.insert('a'), slots.insert('b')), (0, 1));
        assert_eq!((slots.remove(0), slots.remove(0)), (Some('a'), None));
        assert_eq!(
            (slots.get(0), slots.get(1), slots.get(7)),
            (None, Some(&'b'), None)
        );
        assert_eq!((slots.next(), slots.insert('c'), slots.next()), (0, 0, 2));
        assert_eq!(slots.len(), 2);
        assert!(slots.iter().eq([(0, &'c'), (1, &'b')]));
    }
}
