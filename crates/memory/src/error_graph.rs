//! [`ErrorGraph`]: the failures that live bytes still carry, and how each came to the bytes.

use crate::byte_range::ByteRange;
use crate::failure::{Failure, FailureKind};
use crate::identity::{BufferId, FailureId};
use crate::region::{Place, Region};
use crate::sorted_map::{SortedMap, SortedSet};
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use hashbrown::HashMap;

/// Identity of a skip step inside the graph. Larger means later, so a parent is always smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StepId(u64);

/// How a failure came to some bytes: they belong to the work that failed, or a skip passed it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provenance {
    Root(FailureId),
    Step(StepId),
}

/// One launch that did not run because bytes it needed carried a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
#[cfg_attr(
    feature = "typescript",
    derive(tsify::Tsify),
    tsify(large_number_types_as_bigints)
)]
pub struct SkipStep {
    /// The work that was skipped.
    pub work: String,
    /// What it would have read, which carried the failure.
    pub needed: Region,
    /// What it would have written, which carries the failure since.
    pub produced: Region,
}

#[derive(Debug)]
struct FailureNode {
    /// `None` while the failure is provisional.
    failure: Option<Failure>,
    work: Rc<str>,
    holders: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct StepKey {
    failure: FailureId,
    work: Rc<str>,
    needed: Place,
    produced: Place,
}

/// What is left of a step's identity once the buffer it would have written is freed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FadedKey {
    failure: FailureId,
    work: Rc<str>,
    needed: (Rc<str>, ByteRange),
    produced: (Rc<str>, ByteRange),
}

impl StepKey {
    fn faded(&self) -> FadedKey {
        let named = |place: &Place| (Rc::clone(&place.label), place.range);
        FadedKey {
            failure: self.failure,
            work: Rc::clone(&self.work),
            needed: named(&self.needed),
            produced: named(&self.produced),
        }
    }

    fn text(&self) -> SkipStep {
        SkipStep {
            work: self.work.to_string(),
            needed: self.needed.region(),
            produced: self.produced.region(),
        }
    }
}

#[derive(Debug)]
struct StepNode {
    key: StepKey,
    parent: Provenance,
    holders: u64,
    /// Whether it only stands for its parent, an earlier step that says the same.
    alias: bool,
}

/// Every failure that some live byte, or a read in flight, still carries.
///
/// A node lives exactly while something holds it: a claim, a unit of work, a skip step, a read in
/// flight. Skip steps with the same work, needed and produced bytes under one failure are one node, so
/// a loop that skips forever does not grow the graph. Nor does one that skips into a new buffer every
/// time: a step whose produced buffer is freed is one with an earlier such step of the same work, labels
/// and ranges.
#[derive(Debug)]
pub struct ErrorGraph {
    failures: HashMap<FailureId, FailureNode>,
    steps: SortedMap<StepId, StepNode>,
    step_by_key: HashMap<StepKey, StepId>,
    steps_by_produced: SortedSet<(BufferId, StepId)>,
    step_by_faded: HashMap<FadedKey, StepId>,
    next_failure: FailureId,
    next_step: u64,
    /// What every provisional failure says: held once, so that entering a scope allocates nothing.
    torn_down: Failure,
}

impl ErrorGraph {
    pub(crate) fn new() -> Self {
        Self {
            failures: HashMap::new(),
            steps: SortedMap::new(),
            step_by_key: HashMap::new(),
            steps_by_produced: SortedSet::new(),
            step_by_faded: HashMap::new(),
            next_failure: FailureId::FIRST,
            next_step: 0,
            torn_down: Failure::new(
                FailureKind::TornDown,
                "the work entered its write scope and never told how it ended",
            ),
        }
    }

    /// How many failures are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.failures.len()
    }

    /// Whether no failure is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.failures.is_empty()
    }

    /// How many skip steps are held.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The failure with this id, while something carries it.
    #[must_use]
    pub fn error(&self, id: FailureId) -> Option<&Failure> {
        self.failures
            .get(&id)
            .map(|node| node.failure.as_ref().unwrap_or(&self.torn_down))
    }

    /// The work in which this failure arose, while something carries it.
    #[must_use]
    pub fn work(&self, id: FailureId) -> Option<&str> {
        self.failures.get(&id).map(|node| &*node.work)
    }

    /// The ids of the failures held, oldest first.
    #[must_use]
    pub fn ids(&self) -> Vec<FailureId> {
        let mut ids: Vec<FailureId> = self.failures.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Adds a failure, held once by the caller.
    pub(crate) fn mint(&mut self, failure: Failure, work: Rc<str>) -> FailureId {
        self.insert(Some(failure), work)
    }

    /// Adds the provisional failure of a scope that was entered, held once by the caller.
    pub(crate) fn mint_provisional(&mut self, work: Rc<str>) -> FailureId {
        self.insert(None, work)
    }

    fn insert(&mut self, failure: Option<Failure>, work: Rc<str>) -> FailureId {
        let id = FailureId::mint(&mut self.next_failure);
        self.failures.insert(
            id,
            FailureNode {
                failure,
                work,
                holders: 1,
            },
        );
        id
    }

    /// Puts the real failure where a provisional one was.
    pub(crate) fn replace(&mut self, id: FailureId, failure: Failure) {
        if let Some(node) = self.failures.get_mut(&id) {
            node.failure = Some(failure);
        }
    }

    /// The step of `work`, held once more; the known one where this failure has it already.
    pub(crate) fn step(
        &mut self,
        parent: Provenance,
        work: &Rc<str>,
        needed: &Place,
        produced: &Place,
    ) -> StepId {
        let failure = self.root(parent);
        let key = StepKey {
            failure,
            work: Rc::clone(work),
            needed: needed.clone(),
            produced: produced.clone(),
        };
        if let Some(&known) = self.step_by_key.get(&key) {
            self.hold(Provenance::Step(known), 1);
            return known;
        }
        self.hold(parent, 1);
        let id = StepId(self.next_step);
        self.next_step += 1;
        self.step_by_key.insert(key.clone(), id);
        self.steps_by_produced.insert((produced.buffer, id));
        self.steps.insert(
            id,
            StepNode {
                key,
                parent,
                holders: 1,
                alias: false,
            },
        );
        id
    }

    /// The failure at the root of `provenance`.
    pub(crate) fn root(&self, provenance: Provenance) -> FailureId {
        match provenance {
            Provenance::Root(id) => id,
            Provenance::Step(id) => self.steps[&id].key.failure,
        }
    }

    /// Every step from the root failure down to the bytes that carry `provenance`, root first.
    pub(crate) fn path(&self, provenance: Provenance) -> Vec<SkipStep> {
        let mut path = Vec::new();
        let mut at = provenance;
        while let Provenance::Step(id) = at {
            let node = &self.steps[&id];
            if !node.alias {
                path.push(node.key.text());
            }
            at = node.parent;
        }
        path.reverse();
        path
    }

    /// Every step held, a parent before its children: (step, its parent, root failure, step text).
    pub(crate) fn all_steps(
        &self,
    ) -> impl Iterator<Item = (StepId, Provenance, FailureId, SkipStep)> {
        self.steps
            .iter()
            .filter(|(_, node)| !node.alias)
            .map(|(id, node)| {
                (
                    *id,
                    self.resolved(node.parent),
                    node.key.failure,
                    node.key.text(),
                )
            })
    }

    /// The node itself, or the earlier one that it stands for.
    fn resolved(&self, mut at: Provenance) -> Provenance {
        while let Provenance::Step(id) = at {
            let node = &self.steps[&id];
            if !node.alias {
                break;
            }
            at = node.parent;
        }
        at
    }

    /// A buffer is freed: the steps that would have written it fade, and those that say the same become
    /// one. The later stands for the earlier, so that a parent is always the smaller.
    pub(crate) fn fade(&mut self, buffer: BufferId) {
        let first = (buffer, StepId(0));
        let fading: Vec<StepId> = self
            .steps_by_produced
            .range(first..)
            .take_while(|(produced, _)| *produced == buffer)
            .map(|(_, id)| *id)
            .collect();
        for id in fading {
            self.steps_by_produced.remove(&(buffer, id));
            let Some(node) = self.steps.get(&id) else {
                continue;
            };
            let faded = node.key.faded();
            let Some(&known) = self.step_by_faded.get(&faded) else {
                self.step_by_faded.insert(faded, id);
                continue;
            };
            let (earlier, later) = (known.min(id), known.max(id));
            self.step_by_faded.insert(faded, earlier);
            self.hold(Provenance::Step(earlier), 1);
            if let Some(node) = self.steps.get_mut(&later) {
                let parent = core::mem::replace(&mut node.parent, Provenance::Step(earlier));
                node.alias = true;
                self.release(parent);
            }
        }
    }

    /// Adds `count` holders.
    pub(crate) fn hold(&mut self, provenance: Provenance, count: u64) {
        match provenance {
            Provenance::Root(id) => {
                self.failures
                    .get_mut(&id)
                    .expect("a held failure is in the graph")
                    .holders += count;
            }
            Provenance::Step(id) => {
                self.steps
                    .get_mut(&id)
                    .expect("a held step is in the graph")
                    .holders += count;
            }
        }
    }

    /// Takes one holder away, and with the last one the node and what only it held.
    pub(crate) fn release(&mut self, provenance: Provenance) {
        let mut at = provenance;
        loop {
            match at {
                Provenance::Root(id) => {
                    let node = self
                        .failures
                        .get_mut(&id)
                        .expect("a held failure is in the graph");
                    node.holders -= 1;
                    if node.holders == 0 {
                        self.failures.remove(&id);
                    }
                    return;
                }
                Provenance::Step(id) => {
                    let node = self
                        .steps
                        .get_mut(&id)
                        .expect("a held step is in the graph");
                    node.holders -= 1;
                    if node.holders > 0 {
                        return;
                    }
                    let node = self.steps.remove(&id).expect("it was just there");
                    self.step_by_key.remove(&node.key);
                    self.steps_by_produced
                        .remove(&(node.key.produced.buffer, id));
                    let faded = node.key.faded();
                    if self.step_by_faded.get(&faded) == Some(&id) {
                        self.step_by_faded.remove(&faded);
                    }
                    at = node.parent;
                }
            }
        }
    }
}
