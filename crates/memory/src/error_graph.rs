//! [`ErrorGraph`]: the failures that live bytes still carry, and how each came to the bytes.

use crate::buffers::BufferKey;
use crate::failure::{Failure, FailureKind};
use crate::identity::FailureId;
use crate::region::{Place, Region};
use crate::slots::Slots;
use crate::sort_by_key::sort_by_key;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::iter;
use hashbrown::HashMap;

/// A skip step inside the graph, as long as something holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StepId(u32);

/// How a failure came to some bytes: they belong to the work that failed, or a skip passed it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// The failure of a scope that is open, or was torn down, and that only its unit of work holds.
#[derive(Debug)]
struct Provisional {
    id: FailureId,
    work: Rc<str>,
}

/// Beyond this many, the older half of the provisional failures moves in with the others: they are those of
/// scopes that were torn down, or of a deep nest, and are not looked for in a list.
const MOST_PROVISIONAL: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct StepKey {
    failure: FailureId,
    work: Rc<str>,
    needed: Place,
    produced: Place,
}

impl StepKey {
    /// What is left of it once the buffer it would have written is freed: the words.
    fn faded(&self) -> Self {
        let nowhere = |place: &Place| Place {
            key: BufferKey::NOWHERE,
            label: Rc::clone(&place.label),
            range: place.range,
        };
        Self {
            failure: self.failure,
            work: Rc::clone(&self.work),
            needed: nowhere(&self.needed),
            produced: nowhere(&self.produced),
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
    /// Counts the steps: a parent's is always smaller.
    number: u64,
    /// Whether the buffer it would have written is freed.
    is_faded: bool,
    /// Whether it only stands for its parent, a step that says the same and came there the same way.
    is_alias: bool,
    /// The parent under which it is known, unless it is an alias.
    known_under: Provenance,
    /// Its neighbours among the steps that would have written the same buffer, which is not freed.
    produced_before: Option<StepId>,
    produced_after: Option<StepId>,
}

impl StepNode {
    /// What it is known by.
    fn known_as(&self) -> StepKey {
        if self.is_faded {
            self.key.faded()
        } else {
            self.key.clone()
        }
    }

    /// Whether it is known by this key.
    fn says(&self, key: &StepKey) -> bool {
        if self.is_faded {
            self.key.faded() == *key
        } else {
            self.key == *key
        }
    }
}

/// Every failure that some live byte, or a read in flight, still carries.
///
/// A node lives exactly while something holds it: a claim, a unit of work, a skip step, a read in
/// flight. Skip steps that follow the same step and say the same (work, needed and produced bytes) are one node,
/// and a step that its own path has already is that earlier one: a way that goes in a circle is told without the
/// circle. So a loop that skips forever does not grow the graph. Nor does one that skips into a new buffer every
/// time: once the buffer is freed, a step is known by its words (labels and ranges) alone.
#[derive(Debug)]
pub struct ErrorGraph {
    failures: HashMap<FailureId, FailureNode>,
    /// In ascending order. Every launch pushes one and usually pops it again, without hashing.
    provisional: Vec<Provisional>,
    /// How many provisional failures lie with the others.
    displaced: usize,
    /// Whether the last of them is of a scope that claims its write set just now.
    pub(crate) is_entering: bool,
    steps: Slots<StepNode>,
    /// The slot of each step by the step it follows and what it says; and under no parent, how many say that.
    known: HashMap<(Option<Provenance>, StepKey), u32>,
    /// The latest step that would have written a buffer; it leads to the others.
    last_by_produced: HashMap<BufferKey, StepId>,
    next_failure: FailureId,
    next_step: u64,
    /// How often it changed, but for provisional failures that came and went.
    changes: u64,
    /// What every provisional failure says: held once, so that entering a scope allocates nothing.
    torn_down: Failure,
}

impl ErrorGraph {
    pub(crate) fn new() -> Self {
        Self {
            failures: HashMap::new(),
            provisional: Vec::with_capacity(MOST_PROVISIONAL),
            displaced: 0,
            is_entering: false,
            steps: Slots::new(),
            known: HashMap::new(),
            last_by_produced: HashMap::new(),
            next_failure: FailureId::FIRST,
            next_step: 0,
            changes: 0,
            torn_down: Failure::new(
                FailureKind::TornDown,
                "the work entered its write scope and never told how it ended",
            ),
        }
    }

    /// How many failures are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.failures.len() + self.provisional.len()
    }

    /// Whether no failure is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many skip steps are held.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The failure with this id, while something carries it.
    #[must_use]
    pub fn error(&self, id: FailureId) -> Option<&Failure> {
        match self.failures.get(&id) {
            Some(node) => Some(node.failure.as_ref().unwrap_or(&self.torn_down)),
            None => self.find_provisional(id).map(|_| &self.torn_down),
        }
    }

    /// The work in which this failure arose, while something carries it.
    #[must_use]
    pub fn work(&self, id: FailureId) -> Option<&str> {
        match self.failures.get(&id) {
            Some(node) => Some(&node.work),
            None => self
                .find_provisional(id)
                .map(|at| &*self.provisional[at].work),
        }
    }

    /// The ids of the failures held, oldest first.
    #[must_use]
    pub fn ids(&self) -> Vec<FailureId> {
        let mut ids: Vec<FailureId> = self.failures.keys().copied().collect();
        ids.extend(self.provisional.iter().map(|provisional| provisional.id));
        sort_by_key(&mut ids, |id| *id);
        ids
    }

    fn find_provisional(&self, id: FailureId) -> Option<usize> {
        self.provisional
            .iter()
            .rposition(|provisional| provisional.id == id)
    }

    /// How often it changed, or what carries its failures did.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Notes a change.
    pub(crate) fn note_change(&mut self) {
        self.changes += 1;
    }

    /// Adds a failure, held once by the caller.
    pub(crate) fn mint(&mut self, failure: Failure, work: Rc<str>) -> FailureId {
        self.note_change();
        let id = FailureId::mint(&mut self.next_failure);
        let node = FailureNode {
            failure: Some(failure),
            work,
            holders: 1,
        };
        self.failures.insert(id, node);
        id
    }

    /// Adds the provisional failure of a scope that was entered, held once by the caller.
    #[inline]
    pub(crate) fn mint_provisional(&mut self, work: Rc<str>) -> FailureId {
        if self.provisional.len() == MOST_PROVISIONAL {
            for _ in 0..MOST_PROVISIONAL / 2 {
                self.settle_in(0);
            }
        }
        let id = FailureId::mint(&mut self.next_failure);
        // Made in the list: `push` would make it on the stack and copy it, and wait for its own stores.
        self.provisional
            .extend(iter::once_with(|| Provisional { id, work }));
        id
    }

    /// Which scopes are open, in two numbers that differ where the scopes do: how many only their units know of,
    /// and the sum of their ids.
    pub(crate) fn open_scopes(&self) -> (usize, u64) {
        let ids = self.provisional.iter().map(|open| open.id.get());
        (self.provisional.len(), ids.fold(0, u64::wrapping_add))
    }

    /// Whether a scope is open, torn-down ones included, besides the one that claims its write set just now.
    #[inline]
    pub(crate) fn has_others_open(&self) -> bool {
        self.provisional.len() > usize::from(self.is_entering) || self.displaced > 0
    }

    /// Moves a provisional failure, which its unit alone holds, in with the others.
    fn settle_in(&mut self, at: usize) -> &mut FailureNode {
        self.note_change();
        self.displaced += 1;
        let Provisional { id, work } = self.provisional.remove(at);
        self.failures.entry(id).or_insert(FailureNode {
            failure: None,
            work,
            holders: 1,
        })
    }

    /// The node of a held failure, which is no longer its unit's alone where it is provisional.
    fn failure_node(&mut self, id: FailureId) -> Option<&mut FailureNode> {
        match self.find_provisional(id) {
            Some(at) => Some(self.settle_in(at)),
            None => self.failures.get_mut(&id),
        }
    }

    /// Puts the real failure where a provisional one was.
    pub(crate) fn replace(&mut self, id: FailureId, failure: Failure) {
        self.note_change();
        if let Some(node) = self.failure_node(id)
            && node.failure.replace(failure).is_none()
        {
            self.displaced -= 1;
        }
    }

    /// Takes the unit's hold on its provisional failure away.
    #[inline]
    pub(crate) fn release_provisional(&mut self, id: FailureId) {
        if let Some(last) = self.provisional.last()
            && last.id == id
        {
            self.provisional.pop();
            return;
        }
        self.release(Provenance::Root(id));
    }

    /// The step of `work` after `parent`, held once more; the known one where it has it already.
    pub(crate) fn step(
        &mut self,
        parent: Provenance,
        work: &Rc<str>,
        needed: &Place,
        produced: &Place,
    ) -> StepId {
        let parent = self.resolved(parent);
        let key = StepKey {
            failure: self.root(parent),
            work: Rc::clone(work),
            needed: needed.clone(),
            produced: produced.clone(),
        };
        if let Some(known) = self.find(parent, &key) {
            self.hold(Provenance::Step(known), 1);
            return known;
        }
        self.note_change();
        self.hold(parent, 1);
        let id = StepId(self.steps.next());
        let produced_before = self.last_by_produced.insert(produced.key, id);
        if let Some(before) = produced_before.and_then(|before| self.steps.get_mut(before.0)) {
            before.produced_after = Some(id);
        }
        self.make_known(parent, key.clone(), id);
        self.steps.insert(StepNode {
            key,
            parent,
            holders: 1,
            number: self.next_step,
            is_faded: false,
            is_alias: false,
            known_under: parent,
            produced_before,
            produced_after: None,
        });
        self.next_step += 1;
        id
    }

    /// The step that says this right after `parent`, or on its way.
    fn find(&self, parent: Provenance, key: &StepKey) -> Option<StepId> {
        // Nearly always nothing says it, or the first place to look has it: no way is walked.
        self.known.get(&(None, key.clone()))?;
        if let Some(slot) = self.known.get(&(Some(parent), key.clone())) {
            return Some(StepId(*slot));
        }
        let mut at = parent;
        while let Provenance::Step(id) = at {
            let node = self.node(id);
            if node.says(key) {
                return Some(id);
            }
            at = self.resolved(node.parent);
        }
        None
    }

    fn make_known(&mut self, parent: Provenance, key: StepKey, id: StepId) {
        *self.known.entry((None, key.clone())).or_insert(0) += 1;
        self.known.insert((Some(parent), key), id.0);
    }

    fn make_unknown(&mut self, parent: Provenance, key: StepKey) {
        self.known.remove(&(Some(parent), key.clone()));
        let count = (None, key);
        if let Some(several) = self.known.get_mut(&count) {
            *several -= 1;
            if *several == 0 {
                self.known.remove(&count);
            }
        }
    }

    /// A step is no longer one of those that would have written its buffer.
    fn unlink_produced(&mut self, id: StepId) {
        let Some(node) = self.steps.get_mut(id.0) else {
            return;
        };
        let (before, after) = (node.produced_before.take(), node.produced_after.take());
        let buffer = node.key.produced.key;
        if let Some(before) = before.and_then(|before| self.steps.get_mut(before.0)) {
            before.produced_after = after;
        }
        if let Some(after) = after.and_then(|after| self.steps.get_mut(after.0)) {
            after.produced_before = before;
        } else if self.last_by_produced.get(&buffer) == Some(&id) {
            match before {
                Some(before) => self.last_by_produced.insert(buffer, before),
                None => self.last_by_produced.remove(&buffer),
            };
        }
    }

    /// A step that is known to be held.
    fn node(&self, id: StepId) -> &StepNode {
        self.steps.get(id.0).expect("a held step is in the graph")
    }

    /// The failure at the root of `provenance`.
    pub(crate) fn root(&self, provenance: Provenance) -> FailureId {
        match provenance {
            Provenance::Root(id) => id,
            Provenance::Step(id) => self.node(id).key.failure,
        }
    }

    /// What a step says.
    pub(crate) fn text(&self, id: StepId) -> SkipStep {
        self.node(id).key.text()
    }

    /// The step that this one follows, or the failure itself.
    pub(crate) fn parent(&self, id: StepId) -> Provenance {
        self.resolved(self.node(id).parent)
    }

    /// Every step held that stands for itself, a parent before its children.
    pub(crate) fn all_steps(&self) -> Vec<StepId> {
        let steps = self.steps.iter().filter(|(_, node)| !node.is_alias);
        let mut numbered: Vec<(u64, StepId)> = steps
            .map(|(slot, node)| (node.number, StepId(slot)))
            .collect();
        sort_by_key(&mut numbered, |(number, _)| *number);
        numbered.into_iter().map(|(_, id)| id).collect()
    }

    /// The node itself, or the earlier one that it stands for.
    pub(crate) fn resolved(&self, mut at: Provenance) -> Provenance {
        while let Provenance::Step(id) = at {
            let node = self.node(id);
            if !node.is_alias {
                break;
            }
            at = node.parent;
        }
        at
    }

    /// A buffer is freed: the steps that would have written it fade, and each that says what one on its way says,
    /// or one after the same step, becomes one with that.
    pub(crate) fn fade(&mut self, buffer: BufferKey) {
        let mut fading = Vec::new();
        let mut at = self.last_by_produced.remove(&buffer);
        while let Some(node) = at.and_then(|id| self.steps.get_mut(id.0)) {
            fading.extend(at);
            node.produced_after = None;
            at = node.produced_before.take();
        }
        for id in fading {
            self.fade_step(id);
        }
    }

    fn fade_step(&mut self, id: StepId) {
        // One of the others may have held it.
        let Some(node) = self.steps.get_mut(id.0) else {
            return;
        };
        let (known_under, number) = (node.known_under, node.number);
        let key = core::mem::replace(&mut node.is_faded, true);
        debug_assert!(!key, "a buffer is freed once");
        let (key, old_parent) = (node.key.clone(), node.parent);
        self.make_unknown(known_under, key.clone());
        let (key, parent) = (key.faded(), self.resolved(old_parent));
        let Some(same) = self.find(parent, &key) else {
            self.make_known(parent, key, id);
            if let Some(node) = self.steps.get_mut(id.0) {
                node.known_under = parent;
            }
            return;
        };
        self.note_change();
        self.hold(Provenance::Step(same), 1);
        if let Some(same) = self.steps.get_mut(same.0) {
            // It stands for both now, and no later than either: a parent's number is the smaller.
            same.number = same.number.min(number);
        }
        if let Some(node) = self.steps.get_mut(id.0) {
            node.parent = Provenance::Step(same);
            node.is_alias = true;
        }
        self.release(old_parent);
    }

    /// Adds `count` holders.
    pub(crate) fn hold(&mut self, provenance: Provenance, count: u64) {
        match provenance {
            Provenance::Root(id) => {
                self.failure_node(id)
                    .expect("a held failure is in the graph")
                    .holders += count;
            }
            Provenance::Step(id) => {
                self.steps
                    .get_mut(id.0)
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
                        .failure_node(id)
                        .expect("a held failure is in the graph");
                    node.holders -= 1;
                    if node.holders == 0
                        && let Some(node) = self.failures.remove(&id)
                    {
                        self.displaced -= usize::from(node.failure.is_none());
                        self.note_change();
                    }
                    return;
                }
                Provenance::Step(id) => {
                    let node = self
                        .steps
                        .get_mut(id.0)
                        .expect("a held step is in the graph");
                    node.holders -= 1;
                    if node.holders > 0 {
                        return;
                    }
                    self.note_change();
                    self.unlink_produced(id);
                    let node = self.steps.remove(id.0).expect("it was just there");
                    if !node.is_alias {
                        self.make_unknown(node.known_under, node.known_as());
                    }
                    at = node.parent;
                }
            }
        }
    }
}
