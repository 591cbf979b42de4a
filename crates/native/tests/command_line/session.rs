//! `session run`: the oracle of what it did is the digest of the same steps, run in another way, and the trace it wrote.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::sample_file::Folder;
use crate::wellwritten::{Answer, command, run};

const COUNTER: [&str; 4] = ["session", "run", "--composition", "counter"];

fn session(arguments: &[&str]) -> Answer {
    run(COUNTER.iter().chain(arguments))
}

fn digest(report: &Value) -> &str {
    report["session"]["behaviour"]["digest"].as_str().unwrap()
}

#[test]
fn every_mode_transport_and_order_gives_the_same_digest_and_every_participant_stops() {
    let mut digests = BTreeSet::new();
    for way in [
        &["--mode", "in-process"][..],
        &["--transport", "direct", "--dispatch", "reversed"],
        &["--transport", "unix", "--dispatch", "sequential"],
        &["--mode", "thread"],
        &["--mode", "process", "--dispatch", "reversed"],
        &["--mode", "process", "--transport", "unix"],
    ] {
        let answer = session(&[&["--json", "--steps", "50"], way].concat());
        let report = answer.json();
        assert_eq!(answer.exit, 0, "{way:?}: {report:#}");
        assert_eq!(report["command"], "session run");
        assert_eq!(report["session"]["phase"], "Ready(50)");
        assert_eq!(report["session"]["boundary"], "50");
        assert_eq!(report["session"]["epoch"], "e1");
        assert_eq!(report["session"]["steps"], "50");
        assert_eq!(report["session"]["behaviour"]["length"], "50");
        assert!(report["session"]["stepsPerSecond"].as_f64().unwrap() > 0.0);
        let participants = report["participants"].as_array().unwrap();
        assert_eq!(participants.len(), 3);
        assert!(
            participants.iter().all(|it| it["outcome"] == "stopped"),
            "{report:#}"
        );
        digests.insert(digest(&report).to_owned());
    }
    assert_eq!(digests.len(), 1, "{digests:?}");
    // The canary: other steps, other agents.
    for other in [&["--steps", "49"][..], &["--steps", "50", "--agents", "3"]] {
        let report = session(&[&["--json"], other].concat()).json();
        digests.insert(digest(&report).to_owned());
    }
    assert_eq!(digests.len(), 3);
}

#[test]
fn a_person_is_told_where_it_stands_how_fast_it_went_and_what_it_did() {
    let answer = session(&["--steps", "7", "--agents", "1"]);
    assert_eq!((answer.exit, &*answer.stderr), (0, ""));
    let lines: Vec<_> = answer.stdout.lines().collect();
    let [stands, did] = lines[..] else {
        panic!("{lines:?}");
    };
    assert!(
        stands.starts_with("Ready(7) of epoch e1, boundary 7: 7 steps in "),
        "{stands}"
    );
    assert!(stands.ends_with(" a second"), "{stands}");
    let report = session(&["--steps", "7", "--agents", "1", "--json"]).json();
    let digest = digest(&report);
    assert_eq!(
        did,
        format!("behaviour of 7 transitions from boundary 0: {digest}")
    );
    assert_eq!(session(&["--steps", "7", "--quiet"]).stdout, "");
}

#[test]
fn a_run_of_no_steps_stands_where_it_began() {
    let report = session(&["--steps", "0", "--json"]).json();
    assert_eq!(report["session"]["phase"], "Ready(0)");
    assert_eq!(report["session"]["behaviour"]["length"], "0");
}

#[test]
fn what_makes_no_sense_exits_with_2_and_starts_nothing() {
    for wrong in [
        &[][..],
        &["--steps", "-1"],
        &["--steps", "1", "--agents", "0"],
        &["--steps", "1", "--agents", "5"],
        &["--steps", "1", "--mode", "sandbox"],
        &["--steps", "1", "--rate", "0"],
        &["--steps", "1", "--rate", "inf"],
        &["--steps", "1", "--force"],
        &["--steps", "1", "--trace", "-"],
        &["--steps", "1", "--mode", "thread", "--transport", "direct"],
        &["--steps", "1", "--mode", "process", "--transport", "direct"],
    ] {
        let answer = session(wrong);
        assert_eq!((answer.exit, &*answer.stdout), (2, ""), "{wrong:?}");
        assert!(!answer.stderr.is_empty());
    }
    let composition = ["session", "run", "--composition", "chess", "--steps", "1"];
    assert_eq!(run(composition).exit, 2);
    let report = session(&[
        "--steps",
        "1",
        "--mode",
        "thread",
        "--transport",
        "direct",
        "--json",
    ]);
    assert_eq!(report.json()["error"]["code"], "direct-elsewhere");
    // It is not a person's to run, and says who is to.
    let answer = run(["session", "participant", "--counter", "{}"]);
    assert_eq!(answer.exit, 2);
}

#[test]
fn a_rate_is_kept() {
    let began = Instant::now();
    let report = session(&["--steps", "11", "--rate", "50", "--json"]).json();
    assert!(
        began.elapsed() >= Duration::from_millis(200),
        "ten intervals of 20 ms"
    );
    let rate = report["session"]["stepsPerSecond"].as_f64().unwrap();
    assert!(rate <= 56.0, "{rate}");
}

#[test]
fn a_trace_appears_when_it_is_complete_and_over_nothing_that_was_there() {
    let folder = Folder::new();
    let path = folder.file("trace.jsonl");
    let trace = path.to_str().unwrap();
    let answer = session(&["--steps", "5", "--trace", trace, "--json"]);
    let report = answer.json();
    assert_eq!(report["trace"]["file"], trace);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 5);
    for (step, line) in text.lines().enumerate() {
        let record: Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["behaviour"]["scope"]["step"], step.to_string());
    }
    let refused = session(&["--steps", "6", "--trace", trace, "--json"]);
    let report = refused.json();
    assert_eq!(
        (refused.exit, &report["error"]["code"]),
        (3, &"output-exists".into())
    );
    assert_eq!(report["session"], Value::Null, "nothing was started");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let replaced = session(&["--steps", "6", "--trace", trace, "--force"]);
    assert_eq!(replaced.exit, 0, "{}", replaced.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 6);
    assert_eq!(folder.names(), ["trace.jsonl"]);
}

/// A run that goes on until somebody ends it.
fn endless(arguments: &[&str]) -> Child {
    let mut command = command(
        COUNTER
            .iter()
            .chain(&["--steps", "1000000", "--rate", "100"]),
    );
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn signal(process: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    // It may have ended by itself; then there is nobody to signal.
    let _ = kill_process(pid, signal);
}

/// The processes that a process has started, once there are so many that have run for a moment.
fn children(process: u32, count: usize) -> Vec<u32> {
    for _ in 0..1000 {
        let file = format!("/proc/{process}/task/{process}/children");
        let text = fs::read_to_string(file).unwrap();
        let children: Vec<u32> = text
            .split_whitespace()
            .map(|it| it.parse().unwrap())
            .collect();
        if children.len() == count {
            return children;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{process} never had {count} children");
}

/// How often a process has waited for something.
fn waits(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

/// The participants of a run, once it steps: each is asked and waits several times a step, and seldom before.
fn stepping(process: u32, count: usize) -> Vec<u32> {
    let participants = children(process, count);
    for participant in &participants {
        let began = Instant::now();
        while waits(*participant) < 150 {
            assert!(began.elapsed() < Duration::from_mins(1), "it does not step");
            thread::sleep(Duration::from_millis(10));
        }
    }
    participants
}

fn state(process: u32) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(") ")?.1.chars().next()
}

fn are_gone(processes: &[u32]) -> bool {
    // Who reaps orphans here may take a while; what waits for that runs no more.
    (0..500).any(|_| {
        thread::sleep(Duration::from_millis(10));
        processes
            .iter()
            .all(|it| matches!(state(*it), None | Some('Z')))
    })
}

#[test]
fn an_interrupt_pauses_at_a_boundary_and_ends_in_good_order() {
    let folder = Folder::new();
    let path = folder.file("trace.jsonl");
    let mut child = endless(&[
        "--mode",
        "process",
        "--json",
        "--trace",
        path.to_str().unwrap(),
    ]);
    let participants = stepping(child.id(), 3);
    assert_eq!(child.try_wait().unwrap(), None, "it would go on");
    signal(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["exitCode"], 130);
    assert_eq!(report["interrupted"], true);
    let boundary: u64 = report["session"]["boundary"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(report["session"]["phase"], format!("Paused({boundary})"));
    for participant in report["participants"].as_array().unwrap() {
        assert_eq!(participant["outcome"], "stopped", "{report:#}");
    }
    let lines = fs::read_to_string(&path).unwrap().lines().count() as u64;
    assert_eq!(lines, boundary, "what was done is written down");
    assert!(are_gone(&participants));
}

#[test]
fn a_second_interrupt_does_not_wait_for_a_participant_that_stands_still() {
    let mut child = endless(&["--mode", "process", "--json"]);
    let participants = stepping(child.id(), 3);
    signal(participants[1], Signal::STOP);
    thread::sleep(Duration::from_millis(100));
    signal(child.id(), Signal::INT);
    thread::sleep(Duration::from_millis(300));
    assert_eq!(child.try_wait().unwrap(), None, "it waits for the boundary");
    let began = Instant::now();
    signal(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    // Ten seconds is how long a session waits for an answer.
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "{:?}",
        began.elapsed()
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["interrupted"], true);
    // A step that is left before anything moved is no harm; one that is left within ends the epoch.
    let phase = report["session"]["phase"].as_str().unwrap();
    if output.status.code() == Some(130) {
        assert!(phase.starts_with("Paused("), "{report:#}");
        assert_eq!(report["error"], Value::Null);
    } else {
        assert_eq!((output.status.code(), phase), (Some(1), "Failed"));
        assert_eq!(report["error"]["code"], "session-failed");
    }
    let outcomes = report["participants"].as_array().unwrap();
    let of = |outcome: &str| {
        outcomes
            .iter()
            .filter(|it| it["outcome"] == outcome)
            .count()
    };
    assert_eq!((of("stopped"), of("terminated")), (2, 1), "{report:#}");
    assert!(are_gone(&participants));
}

#[test]
fn a_participant_that_is_killed_ends_the_run_under_its_name() {
    let child = endless(&["--mode", "process", "--agents", "1", "--json"]);
    let participants = stepping(child.id(), 2);
    // The world is started first.
    let world = participants.iter().min().unwrap();
    signal(*world, Signal::KILL);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["error"]["code"], "session-failed", "{report:#}");
    assert_eq!(report["error"]["participant"], "world");
    let message = report["error"]["message"].as_str().unwrap();
    assert!(message.contains("signal 9"), "{message}");
    assert_eq!(report["session"]["phase"], "Failed");
    assert!(are_gone(&participants));
}

#[test]
fn participants_do_not_outlive_whoever_started_them() {
    let mut child = endless(&["--mode", "process"]);
    let participants = stepping(child.id(), 3);
    signal(child.id(), Signal::KILL);
    child.wait().unwrap();
    assert!(are_gone(&participants), "{participants:?}");
}
