//! Walks through every moment, every crash at it, every recovery from that, and every crash of those.

use std::collections::BTreeSet;
use std::ops::AddAssign;

use futures::executor::block_on;
use wellwritten_store::testing::{DiskImage, Operation, SimulatedMedium, Snapshot, SyncIgnored};
use wellwritten_store::{Store, StoreConfig, file_name};

use crate::script::{EMPTY, GOING_ON, KEEP, RECOVERY, SCRIPT, names, sample, shown};

/// What was looked at and what was wrong.
#[derive(Debug, Default)]
pub struct Findings {
    /// How many different disks, each with what it was allowed to hold.
    pub images: usize,
    /// How many recoveries.
    pub recoveries: usize,
    pub violations: Vec<String>,
}

impl AddAssign for Findings {
    fn add_assign(&mut self, other: Self) {
        self.images += other.images;
        self.recoveries += other.recoveries;
        self.violations.extend(other.violations);
    }
}

/// What the store may show.
type Allowed = Vec<&'static str>;

fn config() -> StoreConfig {
    StoreConfig {
        keep_generations: KEEP,
    }
}

/// What the store shows after one save more.
fn recovered(shows: &str) -> &'static str {
    let before = SCRIPT.iter().find(|step| step.shows == shows);
    before.map_or(EMPTY.1, |step| step.recovered)
}

/// Opens the store and compares everything with what is allowed; what it shows.
fn observe(medium: &SimulatedMedium, allowed: &[&'static str]) -> Result<&'static str, String> {
    block_on(async {
        let (store, report) = Store::open(medium.clone(), config())
            .await
            .map_err(|error| format!("does not open: {error}"))?;
        if !report.missing.is_empty() {
            return Err(format!("{:?} are gone", report.missing));
        }
        let found = shown(&store);
        let found = *allowed
            .iter()
            .find(|allowed| **allowed == found)
            .ok_or_else(|| format!("shows {found:?}, allowed is {allowed:?}"))?;
        for name in names(found) {
            let bytes = store
                .read(&name.parse().map_err(|_| format!("{name} is no id"))?)
                .await
                .map_err(|error| format!("does not read: {error}"))?;
            if bytes != sample(name).bytes {
                return Err(format!("{name} has other bytes than were committed"));
            }
        }
        let last = found
            .split(' ')
            .rfind(|word| !word.ends_with('*') && !word.starts_with('+'))
            .and_then(|word| names(word).next());
        let latest = store.latest().map(|latest| latest.checkpoint_id.as_str());
        if latest != last {
            return Err(format!("latest is {latest:?} of {found:?}"));
        }
        let expected: BTreeSet<String> = names(found)
            .map(|name| format!("{name}{}", file_name::GENERATION_SUFFIX))
            .collect();
        let files: BTreeSet<String> = medium
            .files()
            .into_keys()
            .filter(|name| name != file_name::MANIFEST)
            .collect();
        if files != expected {
            return Err(format!("holds {files:?} and shows {found:?}"));
        }
        Ok(found)
    })
}

/// Saves once more on what a crash left, and finds that again.
fn go_on(medium: &SimulatedMedium) -> Result<(), String> {
    block_on(async {
        let mut saved = String::new();
        for opening in 0..2 {
            let (mut store, _) = Store::open(medium.clone(), config())
                .await
                .map_err(|error| format!("does not open to go on: {error}"))?;
            if opening == 0 {
                let certainty = GOING_ON.make(&mut store).await;
                certainty.map_err(|error| format!("does not go on: {error}"))?;
                saved = shown(&store);
            }
            let found = shown(&store);
            if found != saved || !names(&found).any(|name| name == "q") {
                return Err(format!("shows {found:?} after going on to {saved:?}"));
            }
            for name in names(&found) {
                let id = name.parse().map_err(|_| format!("{name} is no id"))?;
                if store.read(&id).await.as_ref() != Ok(&sample(name).bytes) {
                    return Err(format!("{name} does not read after going on"));
                }
            }
        }
        Ok(())
    })
}

/// One exploration: a medium that does every sync, or one that leaves some out.
pub struct Exploration {
    ignored: Option<SyncIgnored>,
    /// The moment from which on there is something to find.
    from: usize,
    /// Whether a save more is made on every disk that a crash left.
    goes_on: bool,
    seen: BTreeSet<(DiskImage, Allowed)>,
    recovered: BTreeSet<(DiskImage, Allowed)>,
}

impl Exploration {
    pub fn new(ignored: Option<SyncIgnored>) -> Self {
        let from = match ignored {
            Some(SyncIgnored::Number(number)) => number,
            _ => 0,
        };
        Self {
            ignored,
            from,
            goes_on: std::env::var_os("WELLWRITTEN_LONG").is_some(),
            seen: BTreeSet::new(),
            recovered: BTreeSet::new(),
        }
    }

    /// Plays the script and explores every moment of it; with a sync left out, up to the first violation.
    pub fn run(mut self) -> Findings {
        let (medium, acknowledged_at) = play(self.ignored.as_ref());
        let snapshots = medium.snapshots();
        let allowed_at = |moment: usize| {
            let acknowledged = acknowledged_at.iter().filter(|at| **at <= moment).count();
            allowed_after(acknowledged)
        };
        let mut findings = Findings::default();
        for (moment, snapshot) in snapshots.iter().enumerate().skip(self.from) {
            if self.has_enough(&findings) {
                break;
            }
            findings += self.crash_everywhere(snapshot, &allowed_at(moment));
        }
        for (moment, snapshot) in snapshots.iter().enumerate().skip(self.from) {
            if self.has_enough(&findings) {
                break;
            }
            findings += self.recover_everywhere(snapshot, &allowed_at(moment));
        }
        findings
    }

    /// A canary has sung with one violation.
    fn has_enough(&self, findings: &Findings) -> bool {
        self.ignored.is_some() && !findings.violations.is_empty()
    }

    /// Every recovery from `snapshot`: after a kill, and after every crash.
    fn recover_everywhere(&mut self, snapshot: &Snapshot, allowed: &[&'static str]) -> Findings {
        let mut findings = self.recover(&SimulatedMedium::after_kill(snapshot), allowed);
        for image in snapshot.crash_images() {
            if self.has_enough(&findings) {
                break;
            }
            let medium = SimulatedMedium::after_crash(&image);
            if self.recovered.insert((image, allowed.to_vec())) {
                findings += self.recover(&medium, allowed);
            }
        }
        findings
    }

    /// Every crash of `snapshot`, each checked against `allowed`.
    fn crash_everywhere(&mut self, snapshot: &Snapshot, allowed: &[&'static str]) -> Findings {
        let mut findings = Findings::default();
        for image in snapshot.crash_images() {
            let key = (image, allowed.to_vec());
            if self.seen.contains(&key) {
                continue;
            }
            if self.has_enough(&findings) {
                break;
            }
            findings.images += 1;
            let medium = SimulatedMedium::after_crash(&key.0);
            let mut observed = observe(&medium, allowed).map(drop);
            if self.goes_on {
                observed = observed.and_then(|()| go_on(&medium));
            }
            findings.violations.extend(observed.err());
            self.seen.insert(key);
        }
        findings
    }

    /// Opens the store on `medium`, which shows one of `allowed`, and saves once more; a crash at every operation of
    /// that.
    fn recover(&mut self, medium: &SimulatedMedium, allowed: &[&'static str]) -> Findings {
        match &self.ignored {
            // That was one call of the script.
            None | Some(SyncIgnored::Number(_)) => {}
            Some(ignored) => medium.ignore(ignored.clone()),
        }
        let mut findings = Findings {
            recoveries: 1,
            ..Findings::default()
        };
        let opened_and_saved = block_on(async {
            let (mut store, _) = Store::open(medium.clone(), config()).await.ok()?;
            let opened_at = medium.operations().len();
            let found = shown(&store);
            let found = *allowed.iter().find(|allowed| **allowed == found)?;
            RECOVERY.make(&mut store).await.ok()?;
            Some((found, opened_at))
        });
        let Some((found, opened_at)) = opened_and_saved else {
            let violation = format!("recovery from {allowed:?} failed");
            findings.violations.push(violation);
            return findings;
        };
        let snapshots = medium.snapshots();
        let last = snapshots.len() - 1;
        for (moment, snapshot) in snapshots.iter().enumerate() {
            // What opening found is a promise from then on; before, it may still become either.
            let allowed = if moment < opened_at {
                allowed.to_vec()
            } else if moment < last {
                vec![found, recovered(found)]
            } else {
                vec![recovered(found)]
            };
            findings += self.crash_everywhere(snapshot, &allowed);
        }
        findings
    }
}

/// Plays the script; how many operations had been done when each step was acknowledged.
fn play(ignored: Option<&SyncIgnored>) -> (SimulatedMedium, Vec<usize>) {
    let medium = SimulatedMedium::new();
    if let Some(ignored) = ignored {
        medium.ignore(ignored.clone());
    }
    let mut acknowledged_at = Vec::new();
    block_on(async {
        let (mut store, _) = Store::open(medium.clone(), config()).await.unwrap();
        for step in &SCRIPT {
            let certainty = step.change.make(&mut store).await.unwrap();
            assert!(certainty.is_durable(), "{:?}", step.change);
            assert_eq!(shown(&store), step.shows, "{:?}", step.change);
            acknowledged_at.push(medium.operations().len());
        }
    });
    (medium, acknowledged_at)
}

/// Every call of the script.
pub fn operations() -> Vec<Operation> {
    play(None).0.operations()
}

/// What the store may show when so many steps are acknowledged: that, or what the step in progress makes of it.
fn allowed_after(acknowledged: usize) -> Allowed {
    let shows = |steps: usize| match steps.checked_sub(1) {
        Some(last) => SCRIPT[last].shows,
        None => EMPTY.0,
    };
    let mut allowed = vec![shows(acknowledged)];
    if acknowledged < SCRIPT.len() {
        allowed.push(shows(acknowledged + 1));
    }
    allowed
}
