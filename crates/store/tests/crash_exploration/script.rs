//! What the store under exploration does, and what it shows after each step: written down, not computed.

use wellwritten_envelope::Id;
use wellwritten_store::testing::{SampleGeneration, SimulatedMedium};
use wellwritten_store::{Certainty, CommitError, Store, StoreReader};

/// How many generations that are not pinned stay.
pub const KEEP: usize = 2;

/// One change of the store.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    Save(&'static str),
    Import(&'static str),
    Pin(&'static str),
    Unpin(&'static str),
    Prune(usize),
    Resume(&'static str),
    Claim(&'static str),
}

/// A change, what the store shows once it is acknowledged, and what it shows after one save more, `r`.
///
/// Shown are the generations, oldest commit first, `!` where pinned, `*` where abandoned, and `+` with an epoch that
/// was claimed.
pub struct Step {
    pub change: Change,
    pub shows: &'static str,
    pub recovered: &'static str,
}

/// What an empty store shows, and after one save.
pub const EMPTY: (&str, &str) = ("", "r");

const fn step(change: Change, shows: &'static str, recovered: &'static str) -> Step {
    Step {
        change,
        shows,
        recovered,
    }
}

/// Ten commits, one of them an import, with rotation of timeline and abandoned future, pinned ones that are passed
/// over and let go, a pruning, two resumptions, and an epoch.
pub const SCRIPT: [Step; 17] = [
    step(Change::Save("g0"), "g0", "g0 r"),
    step(Change::Save("g1"), "g0 g1", "g1 r"),
    step(Change::Pin("g0"), "g0! g1", "g0! g1 r"),
    step(Change::Save("g2"), "g0! g1 g2", "g0! g2 r"),
    step(Change::Import("x"), "g0! g1 g2 x!*", "g0! g2 x!* r"),
    step(Change::Save("g3"), "g0! g2 x!* g3", "g0! x!* g3 r"),
    step(Change::Prune(1), "g0! x!* g3", "g0! x!* g3 r"),
    step(Change::Unpin("g0"), "g0 x!* g3", "x!* g3 r"),
    step(Change::Save("g4"), "x!* g3 g4", "x!* g4 r"),
    step(Change::Resume("g3"), "x!* g3 g4*", "x!* g3 r"),
    step(Change::Save("g5"), "x!* g3 g5", "x!* g3 r"),
    step(Change::Resume("x"), "x! g3* g5*", "x! g5* r"),
    step(Change::Save("g6"), "x! g5* g6", "x! g6 r"),
    step(Change::Claim("e9"), "x! g5* g6 +e9", "x! g6 r +e9"),
    step(Change::Unpin("x"), "x g5* g6 +e9", "x r +e9"),
    step(Change::Save("g7"), "x g7 +e9", "x r +e9"),
    step(Change::Save("g8"), "x g8 +e9", "x r +e9"),
];

/// The save that recovery makes.
pub const RECOVERY: Change = Change::Save("r");

/// The save that is made after a second crash.
pub const GOING_ON: Change = Change::Save("q");

/// The generation of that name: each has other bytes.
pub fn sample(name: &str) -> SampleGeneration {
    let boundary = name.bytes().map(u64::from).sum();
    let epoch = if name == "x" { "f1" } else { "e1" };
    SampleGeneration::new(name, epoch, boundary)
}

fn id(name: &str) -> Id {
    name.parse().unwrap()
}

impl Change {
    /// Makes the change.
    pub async fn make(self, store: &mut Store<SimulatedMedium>) -> Result<Certainty, CommitError> {
        match self {
            Self::Save(name) => Ok(store.save(&sample(name).to_save()).await?.certainty),
            Self::Import(name) => {
                let imported = store.import(&sample(name).bytes).await;
                Ok(imported.expect("a whole one").certainty)
            }
            Self::Pin(name) => store.set_pinned(&id(name), true).await,
            Self::Unpin(name) => store.set_pinned(&id(name), false).await,
            Self::Prune(keep) => Ok(store.prune(keep).await?.certainty),
            Self::Resume(name) => store.mark_resumed(&id(name)).await,
            Self::Claim(epoch) => store.claim_epoch(&id(epoch)).await,
        }
    }
}

/// What the store shows, in the words of [`Step`].
pub fn shown(store: &StoreReader<SimulatedMedium>) -> String {
    let marked = store.generations().rev().map(|generation| {
        let pin = if store.is_pinned(generation) { "!" } else { "" };
        let star = if store.is_abandoned(generation) {
            "*"
        } else {
            ""
        };
        format!("{}{pin}{star}", generation.checkpoint_id)
    });
    let claimed = store.epochs().is_used(&id("e9")).then(|| "+e9".to_owned());
    marked.chain(claimed).collect::<Vec<_>>().join(" ")
}

/// The names in what is shown.
pub fn names(shown: &str) -> impl Iterator<Item = &str> {
    shown
        .split(' ')
        .map(|word| word.trim_end_matches(['!', '*']))
        .filter(|word| !word.is_empty() && !word.starts_with('+'))
}
