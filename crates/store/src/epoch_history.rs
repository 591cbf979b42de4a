//! Which epoch names were ever used, in room that does not grow with their number.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Id, U64};

/// Every epoch name a store ever recorded, kept after the generations of that epoch rotated out.
///
/// Using an epoch's name twice would repeat event, batch and token material, so the question "was this
/// name ever used?" must outlive the generations. A list of names would grow for ever; instead a name
/// is split into a stem and a decimal ordinal (`e12` is `e` and 12), and only the highest ordinal of
/// each stem is kept. The answer errs on one side only: a lower ordinal that was skipped counts as used,
/// and a stem without an ordinal counts as used once any ordinal of it is. Names that are not numbered
/// successors of each other cost an entry each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EpochHistory {
    /// Sorted by stem, no stem twice.
    stems: Vec<EpochStem>,
}

/// The highest ordinal of one stem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EpochStem {
    stem: String,
    last_ordinal: Option<U64>,
}

impl EpochHistory {
    /// Whether `epoch` must be taken as used.
    #[must_use]
    pub fn is_used(&self, epoch: &Id) -> bool {
        let (stem, ordinal) = split(epoch.as_str());
        self.position(stem)
            .is_ok_and(|position| ordinal <= self.stems[position].last_ordinal)
    }

    /// A name that was never used: the stem of `epoch` and the ordinal after the highest used one.
    ///
    /// `None` when ordinals of that stem, or the 64 characters of a name, run out; start another stem.
    #[must_use]
    pub fn next_after(&self, epoch: &Id) -> Option<Id> {
        let (stem, ordinal) = split(epoch.as_str());
        let used = self
            .position(stem)
            .map_or(None, |position| self.stems[position].last_ordinal);
        let next = ordinal.max(used).unwrap_or(U64(0)).checked_add(1)?;
        let name: Id = format!("{stem}{next}").parse().ok()?;
        (split(name.as_str()) == (stem, Some(next))).then_some(name)
    }

    /// Marks `epoch` as used.
    pub(crate) fn record(&mut self, epoch: &Id) {
        let (stem, ordinal) = split(epoch.as_str());
        match self.position(stem) {
            Ok(position) => {
                let last = &mut self.stems[position].last_ordinal;
                *last = ordinal.max(*last);
            }
            Err(position) => self.stems.insert(
                position,
                EpochStem {
                    stem: stem.to_owned(),
                    last_ordinal: ordinal,
                },
            ),
        }
    }

    /// Whether the entries are what [`record`](Self::record) makes; said of one read from a file.
    pub(crate) fn is_well_formed(&self) -> bool {
        let sorted = self
            .stems
            .windows(2)
            .all(|pair| pair[0].stem < pair[1].stem);
        sorted && self.stems.iter().all(EpochStem::is_well_formed)
    }

    fn position(&self, stem: &str) -> Result<usize, usize> {
        self.stems
            .binary_search_by(|entry| entry.stem.as_str().cmp(stem))
    }
}

impl EpochStem {
    fn is_well_formed(&self) -> bool {
        let ordinal = self.last_ordinal.map(|ordinal| ordinal.to_string());
        let name = format!("{}{}", self.stem, ordinal.unwrap_or_default());
        name.parse::<Id>().is_ok() && split(&name) == (self.stem.as_str(), self.last_ordinal)
    }
}

/// The name as a stem and the longest ordinal that ends it in canonical spelling, if any.
fn split(name: &str) -> (&str, Option<U64>) {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    (name.len() - digits..name.len())
        .find_map(|start| Some((&name[..start], Some(U64::parse(&name[start..]).ok()?))))
        .unwrap_or((name, None))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn id(text: &str) -> Id {
        text.parse().unwrap()
    }

    #[test]
    fn names_split_into_stem_and_canonical_ordinal() {
        assert_eq!(split("e12"), ("e", Some(U64(12))));
        assert_eq!(split("e0"), ("e", Some(U64(0))));
        assert_eq!(split("e012"), ("e0", Some(U64(12))));
        assert_eq!(split("epoch"), ("epoch", None));
        assert_eq!(split("7"), ("", Some(U64(7))));
        // One more than a u64 holds: the first digit goes to the stem.
        assert_eq!(
            split("e18446744073709551616"),
            ("e1", Some(U64(8_446_744_073_709_551_616)))
        );
    }

    /// Oracle: a plain set of every recorded name. The history may call more names used than the set
    /// does, never fewer, and what it offers as new is in neither.
    #[test]
    fn no_recorded_name_is_ever_new_again() {
        let names = [
            "e1",
            "e2",
            "e9",
            "e10",
            "e03",
            "a",
            "a7",
            "7",
            "demo-1",
            "demo-1b",
            "e18446744073709551615",
            "e18446744073709551616",
        ];
        let mut history = EpochHistory::default();
        let mut model = BTreeSet::new();
        for name in names {
            let next = history.next_after(&id(name));
            assert!(next.is_none_or(|next| !model.contains(&next) && !history.is_used(&next)));
            history.record(&id(name));
            model.insert(id(name));
            assert!(
                model.iter().all(|used| history.is_used(used)),
                "after {name}"
            );
            assert!(history.is_well_formed());
        }
        assert!(!history.is_used(&id("b1")));
        assert!(!history.is_used(&id("demo-2")));
        assert_eq!(history.next_after(&id("demo-1")), Some(id("demo-2")));
        assert_eq!(
            history.next_after(&id("e1")),
            None,
            "the ordinals of `e` are used up"
        );
    }

    #[test]
    fn room_does_not_grow_with_numbered_epochs() {
        let mut history = EpochHistory::default();
        for ordinal in 0..1000 {
            history.record(&id(&format!("e{ordinal}")));
        }
        assert_eq!(history.stems.len(), 1);
        assert_eq!(history.next_after(&id("e3")), Some(id("e1000")));
    }
}
