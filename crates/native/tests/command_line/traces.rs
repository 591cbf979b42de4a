//! `trace compare`: the oracle is a trace that was changed in one known place.

use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::{Value, json};
use wellwritten_counter::{CounterComposition, DirectCounters, Faults};
use wellwritten_native::TokioClock;
use wellwritten_session::{CallBudgets, Coordinator, DispatchOrder, Host, Id, TraceExport};

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
    // Keys are sorted by `serde_json`, and there are no fractions here.
    lines[line] = serde_json::to_string(&record).unwrap();
    let path = folder.file("changed.jsonl");
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
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
    let (one, changed) = (one.to_str().unwrap(), changed.to_str().unwrap());
    let words = run(["trace", "compare", one, changed]);
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
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (spoiled, line) in [
        (text.replacen("\"scope\"", "\"scopf\"", 1), "line 1"),
        (text[..text.len() - 10].to_owned(), "line 4"),
        (text.replace('\n', "\n\n"), "line 2"),
        (lines[2..].concat() + lines[0], "line 3"),
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
    let standard = PathBuf::from("-");
    let (exit, report) = compare(&standard, &standard, &[]);
    assert_eq!((exit, &report["error"]["code"]), (2, &json!("same-input")));
    let (exit, report) = compare(&whole, &folder.file("missing"), &[]);
    assert_eq!((exit, &report["error"]["code"]), (3, &json!("open")));
}

/// The trace of so many steps under an epoch of that name, by the library.
fn trace_under(folder: &Folder, epoch: &str, steps: u64) -> PathBuf {
    let counter = CounterComposition {
        epoch: Some(Id::parse(epoch).unwrap()),
        ..CounterComposition::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let records = runtime.block_on(async {
        let composition = counter
            .composition(DispatchOrder::Concurrent, Faults::none())
            .unwrap();
        let host = Host {
            factory: DirectCounters::new(counter, Faults::none()),
            clock: Rc::new(TokioClock::new()),
            budgets: CallBudgets::default(),
            store: None,
            saves: wellwritten_session::WriterConfig::default(),
            observer: None,
        };
        let session = Coordinator::new(composition, host).await.unwrap();
        session.bootstrap().await.unwrap();
        for _ in 0..steps {
            session.step().await.unwrap();
        }
        session.trace().0
    });
    let path = folder.file(&format!("{epoch}.jsonl"));
    fs::write(&path, TraceExport::new(records).to_json_lines()).unwrap();
    path
}

#[test]
fn what_ran_under_another_epoch_is_carried_over_by_name_or_refused() {
    let folder = Folder::new();
    let one = trace_under(&folder, "e1", 20);
    let seven = trace_under(&folder, "e7", 20);
    let (exit, report) = compare(&one, &seven, &[]);
    assert_eq!(
        (exit, &report["verdict"]),
        (1, &json!("different")),
        "raw, they differ"
    );
    for from in ["e1", "e7"] {
        let (exit, report) = compare(&one, &seven, &["--rebase-from", from]);
        assert_eq!(
            (exit, &report["verdict"]),
            (0, &json!("equal")),
            "{report:#}"
        );
        assert_eq!(report["compared"], "20");
    }
    for other in [&seven, &one] {
        let (exit, report) = compare(&one, other, &["--rebase-from", "e1", "--rebase-from", "e3"]);
        assert_eq!(
            (exit, &report["error"]["code"]),
            (2, &json!("unused-epoch")),
            "{report:#}"
        );
    }
    // The command line's own run is the library's.
    let (exit, _) = compare(
        &trace(&folder, "own.jsonl", 20),
        &seven,
        &["--rebase-from", "e7"],
    );
    assert_eq!(exit, 0);
    let foreign = changed(&folder, &one, 3, |record| {
        record["behaviour"]["eventIds"][0] = json!("ev-0000000000000000");
    });
    let (exit, report) = compare(&foreign, &seven, &["--rebase-from", "e1"]);
    assert_eq!(
        (exit, &report["error"]["code"]),
        (2, &json!("unknown-event")),
        "{report:#}"
    );
    let message = report["error"]["message"].as_str().unwrap();
    assert!(message.contains("step 3"), "{message}");
    let batch = changed(&folder, &one, 4, |record| {
        record["behaviour"]["batchId"] = json!("batch-x-4");
    });
    let (exit, report) = compare(&batch, &seven, &["--rebase-from", "e1"]);
    assert_eq!(
        (exit, &report["error"]["code"]),
        (2, &json!("rebase")),
        "{report:#}"
    );
}
