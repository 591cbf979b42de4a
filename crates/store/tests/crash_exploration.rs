//! Oracle: whatever moment the machine crashes at, and whatever of the unsynced operations reached the
//! disk, opening the store yields the list of generations as of the last acknowledged commit or the one
//! in progress, each with its exact bytes, and nothing else is left in the folder.
//!
//! Exhaustive over every prefix of the operations of five commits that keep two generations; from every
//! such state over a kill of the process, or a crash of the machine, followed by recovery (open and
//! commit once more) and a second crash at every operation of that recovery.

use std::collections::BTreeSet;
use std::ops::AddAssign;

use futures::executor::block_on;
use wellwritten_store::testing::{
    DiskImage, SampleGeneration, SimulatedMedium, Snapshot, SyncIgnored,
};
use wellwritten_store::{Store, StoreConfig, file_name};

const KEEP: usize = 2;
const COMMITS: usize = 5;

/// Checkpoint ids, oldest first.
type Listing = Vec<String>;

/// What was looked at and what was wrong.
#[derive(Debug, Default)]
struct Findings {
    images: usize,
    violations: Vec<String>,
}

impl AddAssign for Findings {
    fn add_assign(&mut self, other: Self) {
        self.images += other.images;
        self.violations.extend(other.violations);
    }
}

fn config() -> StoreConfig {
    StoreConfig {
        keep_generations: KEEP,
    }
}

fn sample(number: usize) -> SampleGeneration {
    SampleGeneration::new(&format!("g{number}"), "e1", number as u64)
}

fn recovery_sample() -> SampleGeneration {
    SampleGeneration::new("recovered", "e2", 1000)
}

/// The plain model of rotation: the newest `KEEP`.
fn newest(mut listing: Listing) -> Listing {
    listing.drain(..listing.len().saturating_sub(KEEP));
    listing
}

fn listing_after(commits: usize) -> Listing {
    newest((0..commits).map(|number| format!("g{number}")).collect())
}

/// Opens the store and compares everything with what is allowed; the listing found.
fn observe(medium: &SimulatedMedium, allowed: &[Listing]) -> Result<Listing, String> {
    block_on(async {
        let (store, _) = Store::open(medium.clone(), config())
            .await
            .map_err(|error| format!("does not open: {error}"))?;
        let mut listing = Listing::new();
        for generation in store.generations().collect::<Vec<_>>().into_iter().rev() {
            let name = generation.checkpoint_id.to_string();
            let bytes = store
                .read(&generation.checkpoint_id)
                .await
                .map_err(|error| format!("does not read: {error}"))?;
            let committed = match name.strip_prefix('g') {
                Some(number) => sample(number.parse().map_err(|_| format!("made up {name}"))?),
                None => recovery_sample(),
            };
            if bytes != committed.bytes {
                return Err(format!("{name} has other bytes than were committed"));
            }
            listing.push(name);
        }
        if !allowed.contains(&listing) {
            return Err(format!("lists {listing:?}, allowed is {allowed:?}"));
        }
        if store.latest().map(|latest| latest.checkpoint_id.as_str())
            != listing.last().map(String::as_str)
        {
            return Err(format!("latest is {:?} of {listing:?}", store.latest()));
        }
        let expected: BTreeSet<String> = listing
            .iter()
            .map(|name| format!("{name}.flysess"))
            .collect();
        let found: BTreeSet<String> = medium
            .files()
            .into_keys()
            .filter(|name| name != file_name::MANIFEST)
            .collect();
        if found == expected {
            Ok(listing)
        } else {
            Err(format!("holds {found:?} for the listing {listing:?}"))
        }
    })
}

/// Every crash of `snapshot`, each checked against `allowed`.
fn crash_everywhere(
    snapshot: &Snapshot,
    allowed: &[Listing],
    seen: &mut BTreeSet<(DiskImage, Vec<Listing>)>,
) -> Findings {
    let mut findings = Findings::default();
    for image in snapshot.crash_images() {
        let key = (image, allowed.to_vec());
        if seen.contains(&key) {
            continue;
        }
        findings.images += 1;
        if let Err(violation) = observe(&SimulatedMedium::after_crash(&key.0), allowed) {
            findings.violations.push(violation);
        }
        seen.insert(key);
    }
    findings
}

/// Opens the store on `medium`, which finds one of `allowed`, and commits once more; a crash at every
/// operation of that.
fn recover(
    medium: &SimulatedMedium,
    allowed: &[Listing],
    ignored: Option<&SyncIgnored>,
    seen: &mut BTreeSet<(DiskImage, Vec<Listing>)>,
) -> Findings {
    if let Some(ignored) = ignored {
        medium.ignore(ignored.clone());
    }
    let opened_and_committed = block_on(async {
        let (mut store, _) = Store::open(medium.clone(), config()).await.ok()?;
        let opened_at = medium.operations().len();
        let names = store
            .generations()
            .map(|generation| generation.checkpoint_id.to_string());
        let found: Listing = names.collect::<Vec<_>>().into_iter().rev().collect();
        store.commit(recovery_sample().to_commit()).await.ok()?;
        Some((found, opened_at))
    });
    let Some((found, opened_at)) = opened_and_committed else {
        return Findings {
            images: 1,
            violations: vec!["recovery failed".to_owned()],
        };
    };
    let recovered = newest(
        found
            .iter()
            .cloned()
            .chain(["recovered".to_owned()])
            .collect(),
    );
    let snapshots = medium.snapshots();
    let last = snapshots.len() - 1;
    let mut findings = Findings::default();
    for (moment, snapshot) in snapshots.iter().enumerate() {
        // What opening found is a promise from then on; before, it may still become either.
        let allowed = if moment < opened_at {
            allowed.to_vec()
        } else if moment < last {
            vec![found.clone(), recovered.clone()]
        } else {
            vec![recovered.clone()]
        };
        findings += crash_everywhere(snapshot, &allowed, seen);
    }
    findings
}

/// Explores a medium that does every sync, or all of it up to the first violation on one that ignores a
/// sync.
fn explore(ignored: Option<&SyncIgnored>) -> Findings {
    let medium = SimulatedMedium::new();
    if let Some(ignored) = ignored {
        medium.ignore(ignored.clone());
    }
    // How many operations had been done when each commit was acknowledged.
    let mut acknowledged_at = Vec::new();
    block_on(async {
        let (mut store, _) = Store::open(medium.clone(), config()).await.unwrap();
        for number in 0..COMMITS {
            let committed = store.commit(sample(number).to_commit()).await.unwrap();
            assert!(committed.certainty.is_durable());
            acknowledged_at.push(medium.operations().len());
        }
    });
    let snapshots = medium.snapshots();
    assert!(
        snapshots.len() > COMMITS * 10,
        "{} operations are too few to be all",
        snapshots.len()
    );
    let mut findings = Findings::default();
    let mut seen = BTreeSet::new();
    let mut recovered_images = BTreeSet::new();
    for (moment, snapshot) in snapshots.iter().enumerate() {
        if ignored.is_some() && !findings.violations.is_empty() {
            break;
        }
        let acknowledged = acknowledged_at.iter().filter(|at| **at <= moment).count();
        let allowed: Vec<_> = (acknowledged..=COMMITS.min(acknowledged + 1))
            .map(listing_after)
            .collect();
        findings += crash_everywhere(snapshot, &allowed, &mut seen);
        findings += recover(
            &SimulatedMedium::after_kill(snapshot),
            &allowed,
            ignored,
            &mut seen,
        );
        for image in snapshot.crash_images() {
            let medium = SimulatedMedium::after_crash(&image);
            if recovered_images.insert((image, allowed.clone())) {
                findings += recover(&medium, &allowed, ignored, &mut seen);
            }
        }
    }
    findings
}

#[test]
fn every_crash_yields_the_last_acknowledged_generation_or_the_next() {
    let findings = explore(None);
    println!("{} different disks after a crash", findings.images);
    assert!(
        findings.images > 500,
        "{} disks are too few to be all",
        findings.images
    );
    assert_eq!(findings.violations, Vec::<String>::new());
}

/// Canary: the exploration notices each sync of the commit order and of opening that is left out.
#[test]
fn a_sync_that_is_left_out_is_noticed() {
    for ignored in [
        SyncIgnored::File(file_name::GENERATION_TEMPORARY.to_owned()),
        SyncIgnored::File(file_name::MANIFEST_TEMPORARY.to_owned()),
        SyncIgnored::DirectoryAfterRenameTo(file_name::GENERATION_SUFFIX.to_owned()),
        SyncIgnored::DirectoryAfterRenameTo(file_name::MANIFEST.to_owned()),
        SyncIgnored::DirectoryAtOpening,
    ] {
        let findings = explore(Some(&ignored));
        assert!(
            !findings.violations.is_empty(),
            "{ignored:?} was not noticed"
        );
        println!("{ignored:?}: {}", findings.violations[0]);
    }
}
