//! `trace compare`: the oracle is a trace that was changed in one known place.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::sample_file::Folder;
use crate::wellwritten::{answer, command, run};

/// A trace of so many steps.
fn trace(folder: &Folder, name: &str, steps: u64) -> PathBuf {
    let path = folder.file(name);
    let steps = steps.to_string();
    let arguments = [
        "session",
        "run",
        "--composition",
        "counter",
        "--steps",
        &steps,
        "--trace",
    ];
    let answer = answer(command(arguments).arg(&path));
    assert_eq!(answer.exit, 0, "{}", answer.stderr);
    path
}

/// The same trace with one record changed, in its one spelling still.
fn changed(folder: &Folder, of: &PathBuf, line: usize, change: impl Fn(&mut Value)) -> PathBuf {
    let mut lines: Vec<String> = fs::read_to_string(of)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    let mut record: Value = serde_json::from_str(&lines[line]).unwrap();
    change(&mut record);
    lines[line] = serde_json_canonical(&record);
    let path = folder.file("changed.jsonl");
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

/// Keys are sorted by `serde_json`, and there are no fractions here.
fn serde_json_canonical(record: &Value) -> String {
    serde_json::to_string(record).unwrap()
}

fn compare(left: &PathBuf, right: &PathBuf, more: &[&str]) -> (i32, Value) {
    let mut command = command(["--json", "trace", "compare"]);
    let answer = answer(command.args([left, right]).args(more));
    (answer.exit, answer.json())
}

#[test]
fn equal_traces_are_equal_and_one_changed_field_is_named() {
    let folder = Folder::new();
    // More than a batch.
    let one = trace(&folder, "one.jsonl", 700);
    let other = trace(&folder, "other.jsonl", 700);
    let (exit, report) = compare(&one, &other, &[]);
    assert_eq!(
        (exit, &report["verdict"]),
        (0, &json!("equal")),
        "{report:#}"
    );
    assert_eq!(report["compared"], "700");
    let changed = changed(&folder, &one, 650, |record| {
        record["behaviour"]["agents"][1]["brainTicks"] = json!("7");
        record["operational"]["wallTimeNs"] = json!("1");
    });
    let (exit, report) = compare(&one, &changed, &[]);
    assert_eq!((exit, &report["verdict"]), (1, &json!("different")));
    let differences = report["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1, "{report:#}");
    assert_eq!(differences[0]["step"], "650");
    assert_eq!(differences[0]["field"], "agents[fly-b].brainTicks");
    assert_eq!(differences[0]["right"], "\"7\"");
    let words = run([&*one.to_string_lossy()].iter().fold(
        vec!["trace".to_owned(), "compare".to_owned()],
        |mut arguments, one| {
            arguments.extend([(*one).to_owned(), changed.to_string_lossy().into_owned()]);
            arguments
        },
    ));
    assert!(
        words
            .stdout
            .contains("step 650: agents[fly-b].brainTicks: "),
        "{}",
        words.stdout
    );
    assert!(
        words
            .stdout
            .ends_with("different: 700 transitions compared\n")
    );
}

#[test]
fn another_length_differs_and_nothing_is_not_equal() {
    let folder = Folder::new();
    let long = trace(&folder, "long.jsonl", 5);
    let short = trace(&folder, "short.jsonl", 3);
    let (exit, report) = compare(&long, &short, &[]);
    assert_eq!((exit, &report["verdict"]), (1, &json!("different")));
    assert_eq!(
        (&report["leftLength"], &report["rightLength"]),
        (&json!("5"), &json!("3"))
    );
    assert_eq!(report["differences"], json!([]));
    let empty = folder.file("empty.jsonl");
    fs::write(&empty, "").unwrap();
    let (exit, report) = compare(&empty, &empty, &[]);
    assert_eq!((exit, &report["verdict"]), (1, &json!("nothingCompared")));
}

#[test]
fn what_is_no_trace_is_refused_by_its_line() {
    let folder = Folder::new();
    let whole = trace(&folder, "whole.jsonl", 4);
    let text = fs::read_to_string(&whole).unwrap();
    for (spoiled, line) in [
        (text.replacen("\"scope\"", "\"scopf\"", 1), "line 1"),
        (text[..text.len() - 10].to_owned(), "line 4"),
        (text.replace('\n', "\n\n"), "line 2"),
    ] {
        let path = folder.file("spoiled.jsonl");
        fs::write(&path, spoiled).unwrap();
        let (exit, report) = compare(&whole, &path, &[]);
        assert_eq!(
            (exit, &report["error"]["code"]),
            (1, &json!("no-trace")),
            "{report:#}"
        );
        let message = report["error"]["message"].as_str().unwrap();
        assert!(message.contains(line), "{message}");
        assert_eq!(report["verdict"], Value::Null);
    }
    let (exit, report) = compare(&whole, &folder.file("missing"), &[]);
    assert_eq!((exit, &report["error"]["code"]), (3, &json!("open")));
}
