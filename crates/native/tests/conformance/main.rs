//! Oracle: the scenarios of `wellwritten-conformance`, which know no transport and no mode, played on everything a native host
//! has: in process directly and over sockets, on threads, in processes.
//!
//! A test program of its own, as there is a test for each scenario on each stage: `cargo test -p wellwritten-native --test
//! conformance -- unix_process` plays those whose names contain that.

mod native_stage;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::task::LocalSet;
use wellwritten_conformance::{SCENARIOS, Scenario, ScenarioFailure, Stage};

use crate::native_stage::NativeStage;

/// Scenarios that are played at once: most of them wait for most of their time.
const AT_ONCE: usize = 8;
/// Longer than any scenario takes, so that one that hangs fails.
const PATIENCE: Duration = Duration::from_mins(2);

struct Case {
    name: String,
    stage: NativeStage,
    scenario: Scenario,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let filters: Vec<&String> = arguments.iter().filter(|it| !it.starts_with('-')).collect();
    let cases: VecDeque<Case> = cases()
        .filter(|case| filters.is_empty() || filters.iter().any(|it| case.name.contains(*it)))
        .collect();
    if arguments.iter().any(|argument| argument == "--list") {
        for case in &cases {
            println!("{}: test", case.name);
        }
        return ExitCode::SUCCESS;
    }
    check_that_failures_are_noticed();
    let (count, filtered) = (cases.len(), self::cases().count() - cases.len());
    println!("\nrunning {count} tests");
    let began = Instant::now();
    let failures = play_all(cases);
    if !failures.is_empty() {
        println!("\nfailures:");
        for (name, failure) in &failures {
            println!("\n---- {name} ----\n{failure}");
        }
    }
    let verdict = if failures.is_empty() { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {verdict}. {} passed; {} failed; 0 ignored; 0 measured; {filtered} filtered out; finished in {:.2}s\n",
        count - failures.len(),
        failures.len(),
        began.elapsed().as_secs_f64(),
    );
    ExitCode::from(u8::from(!failures.is_empty()))
}

/// The canary: scenarios that fail or panic must not pass.
fn check_that_failures_are_noticed() {
    let fails = Scenario {
        name: "fails",
        run: |_| {
            let (expected, found) = ("a failure".to_owned(), "one".to_owned());
            Box::pin(async { Err(ScenarioFailure { expected, found }) })
        },
    };
    let panics = Scenario {
        name: "panics",
        run: |_| Box::pin(async { panic!("a panic that must be noticed") }),
    };
    for scenario in [fails, panics] {
        let case = Case {
            name: scenario.name.to_owned(),
            stage: NativeStage::Direct,
            scenario,
        };
        assert!(play(&case).is_err(), "{} and nobody noticed", case.name);
    }
}

fn cases() -> impl Iterator<Item = Case> {
    // The long runs are the last of the list: begun first, they do not end alone.
    SCENARIOS.iter().rev().flat_map(|scenario| {
        NativeStage::ALL.map(|stage| Case {
            name: format!("{}::{}", stage.label(), scenario.name),
            stage,
            scenario: *scenario,
        })
    })
}

/// Plays every case, some at once; gives the names of those that failed, and why.
fn play_all(cases: VecDeque<Case>) -> Vec<(String, String)> {
    let (waiting, failures) = (Mutex::new(cases), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("nobody panics here").pop_front();
                    let Some(case) = next else {
                        return;
                    };
                    let began = Instant::now();
                    let played = play(&case);
                    let verdict = if played.is_ok() { "ok" } else { "FAILED" };
                    let seconds = began.elapsed().as_secs_f64();
                    println!("test {} ... {verdict} <{seconds:.2}s>", case.name);
                    if let Err(failure) = played {
                        let mut failures = failures.lock().expect("nobody panics here");
                        failures.push((case.name, failure));
                    }
                }
            });
        }
    });
    failures.into_inner().expect("nobody panics here")
}

fn play(case: &Case) -> Result<(), String> {
    let played = catch_unwind(AssertUnwindSafe(|| {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let stage: Rc<dyn Stage> = Rc::new(case.stage);
        let playing = async { tokio::time::timeout(PATIENCE, (case.scenario.run)(stage)).await };
        match LocalSet::new().block_on(&runtime, playing) {
            Ok(verdict) => verdict.map_err(|failure| failure.to_string()),
            Err(_) => Err(format!("it did not end within {PATIENCE:?}")),
        }
    }));
    played.unwrap_or_else(|_| Err("it panicked: see above".to_owned()))
}
