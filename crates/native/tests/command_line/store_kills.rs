//! Oracle: what a killed process had acknowledged is there, everything that is there is whole, and it goes on as if
//! nobody had been killed.
//!
//! Processes are killed (SIGKILL) at moments drawn from a seed, which is printed. `WELLWRITTEN_LONG=1` kills a hundred;
//! `WELLWRITTEN_SEED=<seed>` draws the same moments again, as far as a machine can be at the same place twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::Value;

use crate::sample_file::Folder;
use crate::saving_session::{Said, Saved, SavingSession};
use crate::wellwritten::run;

/// Steps that are taken after each kill and compared.
const COMPARED: u64 = 3;
const MODES: [&str; 3] = ["in-process", "thread", "process"];

/// Random numbers from a seed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn micros(&mut self, below: u64) -> Duration {
        Duration::from_micros(self.next() % below)
    }
}

fn seed() -> u64 {
    if let Ok(seed) = std::env::var("WELLWRITTEN_SEED") {
        return seed.parse().expect("a seed is a number");
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_nanos() & u128::from(u64::MAX)).unwrap()
}

/// The newest generation that a store lists, if any.
fn newest(store: &Path) -> Option<Value> {
    let report = run(["store", "ls", "--json", store.to_str().unwrap()]).json();
    let generations = report["generations"].as_array().unwrap();
    generations
        .iter()
        .find(|one| one["isLatest"] == true)
        .cloned()
}

fn number(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

/// What the kills of a test came to.
#[derive(Debug, Default)]
struct Figures {
    kills: u32,
    /// Kills after which leftovers of a commit were found: they hit within one.
    within_a_commit: u32,
    /// The same, of a generation's temporary, a manifest's, and a whole generation that no list named yet.
    generation_half: u32,
    manifest_half: u32,
    unlisted: u32,
    /// Kills after which the store held more than was told: they hit between the commit and its word.
    untold: u32,
    /// Kills before the first checkpoint of a store.
    before_the_first: u32,
}

/// A life that goes on from a checkpoint: the boundary, its epoch, and the trace of what it did from there.
struct Resumption {
    boundary: u64,
    epoch: String,
    trace: PathBuf,
}

/// One store, and processes over it that are killed one after the other.
struct Killing {
    folder: Folder,
    random: Random,
    figures: Figures,
    resumptions: Vec<Resumption>,
    acknowledged: Option<Saved>,
}

impl Killing {
    fn store(&self) -> PathBuf {
        self.folder.file("store")
    }

    /// Starts a session, kills it, and looks at what it left.
    fn kill_one(&mut self) {
        let turn = self.figures.kills as usize;
        let store = self.store();
        let resume = self.figures.kills > 0 && newest(&store).is_some();
        let mut arguments = vec!["--until", "1000000000", "--checkpoint-every", "1"];
        arguments.extend(["--mode", MODES[turn % MODES.len()]]);
        if resume {
            arguments.push("--resume");
        }
        let mut session = SavingSession::start(&store, &arguments);
        // One in four while it comes up, the others while it saves one checkpoint after the other.
        if self.random.next().is_multiple_of(4) {
            thread::sleep(self.random.micros(150_000));
        } else {
            session.wait_for_save();
            thread::sleep(self.random.micros(40_000));
        }
        session.signal(Signal::KILL);
        assert_eq!(session.end(), None, "it was killed: {:#?}", session.said);
        self.figures.kills += 1;
        let mut saved = session.said.iter().filter_map(Saved::in_line);
        self.acknowledged = saved.next_back().or(self.acknowledged.take());
        self.look();
    }

    /// Nothing acknowledged is lost, and everything that is listed is whole.
    fn look(&mut self) {
        let store = self.store();
        if !store.join("manifest.json").exists() {
            assert_eq!(self.acknowledged, None, "it is lost");
            self.figures.before_the_first += 1;
            return;
        }
        let verified = run(["store", "verify", "--json", store.to_str().unwrap()]);
        assert_eq!(verified.exit, 0, "{}", verified.stdout);
        let Some(newest) = newest(&store) else {
            assert_eq!(self.acknowledged, None, "it is lost");
            self.figures.before_the_first += 1;
            return;
        };
        let boundary = number(&newest["boundary"]);
        if let Some(acknowledged) = &self.acknowledged {
            assert!(
                boundary >= acknowledged.boundary,
                "{acknowledged:?}: {newest:#}"
            );
            if boundary == acknowledged.boundary {
                assert_eq!(newest["checkpointId"], acknowledged.checkpoint_id);
            } else {
                self.figures.untold += 1;
            }
        }
        self.resume_a_copy(boundary);
    }

    /// What is there goes on, in a copy, so that the next life meets what this one left.
    fn resume_a_copy(&mut self, boundary: u64) {
        let name = format!("copy-{}", self.figures.kills);
        let copy = self.folder.file(&name);
        fs::create_dir(&copy).unwrap();
        for entry in fs::read_dir(self.store()).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
        }
        let trace = self.folder.file(&format!("{name}.jsonl"));
        let until = (boundary + COMPARED).to_string();
        let mut arguments = vec!["--until", &until, "--resume", "--json", "--trace"];
        arguments.push(trace.to_str().unwrap());
        let mut session = SavingSession::start(&copy, &arguments);
        let status = session.end();
        let answer: String = session.said.iter().map(Said::text).collect();
        assert_eq!(status, Some(0), "{answer}");
        let report: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(number(&report["resumed"]["boundary"]), boundary);
        assert_eq!(report["resumed"]["skipped"], Value::Array(Vec::new()));
        assert_eq!(number(&report["session"]["boundary"]), boundary + COMPARED);
        self.count_leftovers(&report["opened"]["removed"]);
        self.resumptions.push(Resumption {
            boundary,
            epoch: report["session"]["epoch"].as_str().unwrap().to_owned(),
            trace,
        });
        fs::remove_dir_all(copy).unwrap();
    }

    fn count_leftovers(&mut self, removed: &Value) {
        let removed: Vec<_> = removed
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["file"].as_str().unwrap())
            .collect();
        self.figures.within_a_commit += u32::from(!removed.is_empty());
        for file in removed {
            match file {
                "~generation" => self.figures.generation_half += 1,
                "~manifest" => self.figures.manifest_half += 1,
                file => {
                    assert!(file.ends_with(".flysess"), "{file}");
                    self.figures.unlisted += 1;
                }
            }
        }
    }

    /// Each life did what a run that nobody killed did at the same boundaries.
    fn compare(&self) {
        let last = self.resumptions.iter().map(|one| one.boundary).max();
        let until = (last.expect("it was resumed") + COMPARED).to_string();
        let whole = self.folder.file("whole.jsonl");
        let arguments = [
            "session",
            "run",
            "--composition",
            "counter",
            "--until",
            &until,
            "--trace",
        ];
        let uninterrupted = run(arguments.iter().copied().chain([whole.to_str().unwrap()]));
        assert_eq!(uninterrupted.exit, 0, "{}", uninterrupted.stderr);
        let whole = fs::read_to_string(whole).unwrap();
        let lines: Vec<_> = whole.lines().collect();
        let part = self.folder.file("part.jsonl");
        let compare = |resumption: &Resumption, from: u64| {
            let from = usize::try_from(from).unwrap();
            fs::write(
                &part,
                lines[from..from + usize::try_from(COMPARED).unwrap()].join("\n") + "\n",
            )
            .unwrap();
            run([
                "trace",
                "compare",
                "--json",
                "--rebase-from",
                &resumption.epoch,
                part.to_str().unwrap(),
                resumption.trace.to_str().unwrap(),
            ])
            .json()
        };
        for resumption in &self.resumptions {
            let compared = compare(resumption, resumption.boundary);
            assert_eq!(compared["verdict"], "equal", "{compared:#}");
            assert_eq!(number(&compared["compared"]), COMPARED);
        }
        // The canary: the steps one boundary before are others.
        let one = self
            .resumptions
            .iter()
            .find(|one| one.boundary > 0)
            .unwrap();
        assert_eq!(compare(one, one.boundary - 1)["verdict"], "different");
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill_at_any_moment_and_goes_on_as_if_there_were_none() {
    let seed = seed();
    let kills = if std::env::var_os("WELLWRITTEN_LONG").is_some() {
        100
    } else {
        6
    };
    println!("WELLWRITTEN_SEED={seed}");
    let mut killing = Killing {
        folder: Folder::new(),
        random: Random(seed),
        figures: Figures::default(),
        resumptions: Vec::new(),
        acknowledged: None,
    };
    while killing.figures.kills < kills || killing.resumptions.is_empty() {
        killing.kill_one();
    }
    killing.compare();
    println!("{:?}", killing.figures);
}
