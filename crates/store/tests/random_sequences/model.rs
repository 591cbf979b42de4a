//! What the store may be: states that know who went on from whom for every name there ever was.

use std::collections::{BTreeMap, BTreeSet};

use wellwritten_store::{Certainty, CommitError};

/// Checkpoint ids, oldest first.
pub type Listing = Vec<String>;

/// What the store may be. Nothing is ever taken out of `went_on_from`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    pub listing: Listing,
    pub head: Option<String>,
    pub resumed: Option<String>,
    pub pinned: BTreeSet<String>,
    pub went_on_from: BTreeMap<String, Option<String>>,
}

impl State {
    /// Everything the head ever went on from, then what of it is listed; newest first.
    pub fn timeline(&self) -> Listing {
        let before = |name: &String| self.went_on_from[name].clone();
        std::iter::successors(self.head.clone(), before)
            .filter(|name| self.listing.contains(name))
            .collect()
    }

    pub fn resume(&self, name: &str) -> Option<Self> {
        self.listing
            .iter()
            .any(|listed| listed == name)
            .then(|| Self {
                head: Some(name.to_owned()),
                resumed: Some(name.to_owned()),
                ..self.clone()
            })
    }

    /// `None` where the name was committed before: the store is not in this state if it accepts it.
    pub fn commit(&self, name: &str, keep: usize) -> Option<Self> {
        if self.went_on_from.contains_key(name) {
            return None;
        }
        let mut state = self.clone();
        state
            .went_on_from
            .insert(name.to_owned(), self.head.clone());
        state.head = Some(name.to_owned());
        state.listing.push(name.to_owned());
        state.drop_down_to(keep, 2);
        Some(state)
    }

    /// As for a commit; but the newest of the timeline is not another, nothing is lost, and it is pinned.
    pub fn import(&self, name: &str) -> Option<Self> {
        if self.went_on_from.contains_key(name) {
            return None;
        }
        let mut state = self.clone();
        state.went_on_from.insert(name.to_owned(), None);
        state.listing.push(name.to_owned());
        state.pinned.insert(name.to_owned());
        state.head.get_or_insert_with(|| name.to_owned());
        Some(state)
    }

    pub fn pin(&self, name: &str, pinned: bool) -> Option<Self> {
        let mut state = self.clone();
        if pinned {
            state.pinned.insert(name.to_owned());
        } else {
            state.pinned.remove(name);
        }
        self.listing
            .iter()
            .any(|listed| listed == name)
            .then_some(state)
    }

    pub fn prune(&self, keep: usize) -> Self {
        let mut state = self.clone();
        state.drop_down_to(keep, 1);
        state
    }

    /// Loses what is not pinned until `keep` of that are left, or only what is worth more than `worth_at_most`.
    pub fn drop_down_to(&mut self, keep: usize, worth_at_most: usize) {
        loop {
            let timeline = self.timeline();
            let worth = |candidate: &String| {
                if self.head.as_ref() == Some(candidate) {
                    3
                } else if self.resumed.as_ref() == Some(candidate) {
                    2
                } else {
                    usize::from(timeline.contains(candidate))
                }
            };
            let mut loose = self.listing.clone();
            loose.retain(|candidate| !self.pinned.contains(candidate));
            if loose.len() <= keep {
                return;
            }
            // The worst to lose comes last; the sort is stable, so that the oldest of a kind is first.
            loose.sort_by_key(worth);
            let lost = loose[0].clone();
            if worth(&lost) > worth_at_most {
                return;
            }
            self.listing.retain(|candidate| *candidate != lost);
        }
    }
}

/// What the store may show now, and what it may show after a crash of the machine.
pub struct Model {
    pub keep: usize,
    pub now: BTreeSet<State>,
    pub after_crash: BTreeSet<State>,
}

impl Model {
    pub fn new(keep: usize) -> Self {
        Self {
            keep,
            now: BTreeSet::from([State::default()]),
            after_crash: BTreeSet::from([State::default()]),
        }
    }

    pub fn change(
        &mut self,
        change: impl Fn(&State) -> Option<State>,
        outcome: &Result<Certainty, CommitError>,
    ) {
        // Lazily: a refusal changes nothing, and may be of what makes no sense to the model either.
        let committed = || self.now.iter().filter_map(change).collect::<BTreeSet<_>>();
        match outcome {
            Ok(Certainty::Durable) => {
                self.now = committed();
                self.after_crash.clone_from(&self.now);
            }
            Ok(Certainty::NameUncertain { .. }) => {
                self.now = committed();
                self.after_crash.extend(self.now.iter().cloned());
            }
            Err(CommitError::OutcomeUnknown { .. }) => {
                let committed = committed();
                self.after_crash.extend(committed.iter().cloned());
                self.now.extend(committed);
            }
            Err(_) => {}
        }
    }

    pub fn show(
        &mut self,
        listing: &Listing,
        timeline: &Listing,
        pinned: &BTreeSet<String>,
    ) -> Result<(), String> {
        let may_show = self.now.clone();
        self.now.retain(|state| {
            state.listing == *listing && state.timeline() == *timeline && state.pinned == *pinned
        });
        if self.now.is_empty() {
            return Err(format!(
                "shows {listing:?} with {timeline:?}, {pinned:?} pinned, may show {may_show:?}"
            ));
        }
        Ok(())
    }

    pub fn crash(&mut self) {
        self.now.clone_from(&self.after_crash);
    }
}
