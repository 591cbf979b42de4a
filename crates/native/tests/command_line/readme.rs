//! What the README promises a program is what a program gets.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::sample_file::{Folder, SampleFile, flip};
use crate::wellwritten::{envelope, run};

const README: &str = include_str!("../../README.md");

/// Every key of every object, except inside the manifest and the refusal, which are not this program's.
fn keys(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                into.insert(key.clone());
                if !matches!(key.as_str(), "manifest" | "refusal" | "state") {
                    keys(value, into);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, into)),
        _ => {}
    }
}

fn is_documented(word: &str) -> bool {
    README.contains(&format!("`{word}`"))
}

#[test]
fn every_key_of_every_answer_is_documented() {
    let folder = Folder::new();
    let (sound, _) = folder.sample(2);
    let sound = sound.to_str().unwrap();
    let damaged = folder.file("damaged");
    let layout = SampleFile::small(2).write(&damaged);
    flip(&damaged, layout.payloads[0]);
    let damaged = damaged.to_str().unwrap();
    let old = folder.file("old");
    let mut sample = SampleFile::small(1);
    sample.manifest["note"] = "kept".into();
    sample.write(&old);
    let old = old.to_str().unwrap();
    let output = folder.file("output");
    let output = output.to_str().unwrap();

    let mut found = BTreeSet::new();
    for arguments in [
        &["inspect", sound][..],
        &["inspect", damaged],
        &["verify", sound, damaged, "missing"],
        &["extract", sound, "--manifest", "-o", output],
        &["extract", damaged, "--all", "-o", "/nowhere/at/all"],
        &["convert", sound, "--to", "1", "--force", "-o", output],
        &["convert", old, "--to", "2", "--force", "-o", output],
    ] {
        let arguments = ["--json"].iter().chain(arguments);
        keys(&envelope(arguments).json(), &mut found);
    }
    let trace = folder.file("trace.jsonl");
    let trace = trace.to_str().unwrap();
    let store = folder.file("store");
    let store = store.to_str().unwrap();
    let exported = folder.file("exported");
    let exported = exported.to_str().unwrap();
    let session = ["--json", "session", "run", "--composition", "counter"];
    let compare = ["--json", "trace", "compare"];
    for arguments in [
        [&session[..], &["--steps", "2", "--trace", trace]].concat(),
        [
            &session[..],
            &["--steps", "2", "--mode", "thread", "--transport", "direct"],
        ]
        .concat(),
        [&session[..], &["--steps", "2", "--store", store]].concat(),
        [
            &session[..],
            &["--steps", "2", "--store", store, "--resume"],
        ]
        .concat(),
        vec!["--json", "store", "ls", store],
        vec!["--json", "store", "verify", store],
        vec![
            "--json",
            "store",
            "export",
            store,
            "ckpt-e1-2",
            "-o",
            exported,
        ],
        vec!["--json", "store", "import", store, exported, damaged],
        vec!["--json", "store", "pin", store, "ckpt-e1-2"],
        vec!["--json", "store", "prune", store, "--keep", "1"],
        vec!["--json", "store", "ls", "/nowhere"],
        [&compare[..], &[trace, trace]].concat(),
        [&compare[..], &[trace, "missing"]].concat(),
    ] {
        keys(&run(arguments).json(), &mut found);
    }
    assert!(found.len() > 50, "{found:?}");
    let missing: Vec<_> = found.iter().filter(|key| !is_documented(key)).collect();
    assert!(missing.is_empty(), "not in the README: {missing:?}");
    assert!(!is_documented("no-such-key"), "the canary");
}

#[test]
fn every_error_code_is_documented_and_no_other() {
    let source =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/command_error.rs")).unwrap();
    let body = source.split("pub const fn code").nth(1).unwrap();
    let body = body.split("\n    }\n").next().unwrap();
    let codes: BTreeSet<&str> = body
        .lines()
        .filter_map(|line| line.split("=> \"").nth(1)?.split('"').next())
        .collect();
    assert!(codes.len() >= 9, "{codes:?}");
    let table = README.split("| `code`").nth(1).unwrap();
    let documented: BTreeSet<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('|').next())
        .flat_map(|cell| cell.split('`'))
        .filter(|word| !word.trim_matches([',', ' ']).is_empty())
        .collect();
    assert_eq!(codes, documented);
}
