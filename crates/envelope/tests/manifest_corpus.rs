//! Oracle: the reader itself, on every field of four manifests with every probe in its place. The verdicts are
//! committed; `web/test/manifest-schema.test.ts` holds the schema, in another validator, and the reader, as wasm,
//! against them. Which refusals the schema cannot share is said here, and there they must be exactly those.

mod generated_file;
mod sample_envelope;

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::thread;

use generated_file::{is_stale, keep_up_to_date};
use sample_envelope::{Forgery, manifest};
use serde_json::{Map, Value, json};
use wellwritten_envelope::{
    EnvelopeError, EnvelopeRule, EnvelopeVersion, EventWatermarks, U64, UnknownFields,
    canonical_json, decode,
};

const FILE: &str = "web/test/generated/manifest-corpus.json";

/// What is done to one value of a manifest.
#[derive(Clone)]
enum Probe {
    Remove,
    Set(Value),
    /// An object gets a field more.
    AddField(&'static str, Value),
    /// A list loses its last element.
    Shorten,
    /// A list gets its first element once more.
    Repeat,
    /// A list gets its first element as often as fits no envelope.
    Flood,
    /// An object becomes the list of its values.
    AsList,
}

fn probes() -> Vec<(String, Probe)> {
    let digest = "0123456789abcdef".repeat(4);
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(2),
        json!(3),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(2_147_483_647),
        json!(2_147_483_648_i64),
        json!(-2_147_483_648_i64),
        json!(-2_147_483_649_i64),
        json!(""),
        json!("0"),
        json!("1"),
        json!("2"),
        json!("01"),
        json!("-1"),
        json!("+1"),
        json!("1.0"),
        json!("1e3"),
        json!("1\n"),
        json!(" 1"),
        json!("\u{663}"),
        json!("9999999999999999999"),
        json!("18446744073709551615"),
        json!("18446744073709551616"),
        json!("18446744073709551620"),
        json!("18446744073800000000"),
        json!("20000000000000000000"),
        json!("100000000000000000000"),
        json!("world"),
        json!("World"),
        json!("a.b_c-d"),
        json!(".a"),
        json!("-a"),
        json!("a b"),
        json!("a\n"),
        json!("\u{e9}"),
        json!("z".repeat(64)),
        json!("z".repeat(65)),
        json!(digest),
        json!(digest.to_uppercase()),
        json!(digest[1..]),
        json!(format!("{digest}0")),
        json!(format!("{}g", &digest[1..])),
        json!("sha256"),
        json!("blake3"),
        json!("BLAKE3"),
        json!([]),
        json!({}),
        json!([null]),
        json!(["helper"]),
        json!({"lastSourceStep": "1", "issued": "2"}),
        json!({"lastEventId": "e", "lastOrdinal": "2"}),
        json!({"lastSourceStep": "1", "lastOrdinal": "2"}),
        json!({"numerator": "0", "denominator": "1"}),
        json!({"numerator": "0", "denominator": "2"}),
        json!({"numerator": "1", "denominator": "0"}),
        json!({"numerator": "2", "denominator": "4"}),
        json!({"numerator": "4", "denominator": "2", "unit": "ns"}),
    ];
    let mut probes: Vec<(String, Probe)> = values
        .into_iter()
        .map(|value| (format!("= {value}"), Probe::Set(value)))
        .collect();
    let fields = [
        ("unheardOf", json!({"a": [1]})),
        ("lastEventId", json!("e")),
        ("lastOrdinal", json!("2")),
        ("digestAlgorithm", json!("sha256")),
        ("indexDigest", json!(null)),
    ];
    probes.extend(fields.map(|(name, value)| (format!("+ {name}"), Probe::AddField(name, value))));
    probes.extend([
        ("removed".to_owned(), Probe::Remove),
        ("shorter".to_owned(), Probe::Shorten),
        ("repeated".to_owned(), Probe::Repeat),
        ("flooded".to_owned(), Probe::Flood),
        ("as a list".to_owned(), Probe::AsList),
    ]);
    probes
}

/// What the TypeScript side needs to do the same.
fn as_json(probe: &Probe) -> Value {
    match probe {
        Probe::Remove => json!({"do": "remove"}),
        Probe::Set(value) => json!({"do": "set", "value": value}),
        Probe::AddField(name, value) => json!({"do": "add-field", "field": name, "value": value}),
        Probe::Shorten => json!({"do": "shorten"}),
        Probe::Repeat => json!({"do": "repeat"}),
        Probe::Flood => json!({"do": "flood"}),
        Probe::AsList => json!({"do": "as-list"}),
    }
}

/// The value after the probe; `None` where the probe says nothing about such a value, or changes nothing.
fn changed(value: &Value, probe: &Probe) -> Option<Value> {
    let after = match (probe, value) {
        (Probe::Set(other), _) => other.clone(),
        (Probe::AddField(name, field), Value::Object(object)) if !object.contains_key(*name) => {
            let mut object = object.clone();
            object.insert((*name).to_owned(), field.clone());
            Value::Object(object)
        }
        (Probe::Shorten, Value::Array(list)) => {
            Value::Array(list[..list.len().checked_sub(1)?].to_vec())
        }
        (Probe::Repeat, Value::Array(list)) => {
            Value::Array(list.iter().chain(list.first()).cloned().collect())
        }
        (Probe::Flood, Value::Array(list)) => Value::Array(vec![list.first()?.clone(); 65]),
        (Probe::AsList, Value::Object(object)) => Value::Array(object.values().cloned().collect()),
        _ => return None,
    };
    (after != *value).then_some(after)
}

/// Paths of every value below `value`, itself included.
fn paths(value: &Value) -> Vec<String> {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(object) => object.iter().map(|(k, v)| (k.clone(), v)).collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(i, v)| (i.to_string(), v))
            .collect(),
        _ => vec![],
    };
    let mut all = vec![String::new()];
    for (step, value) in below {
        all.extend(
            paths(value)
                .into_iter()
                .map(|path| format!("/{step}{path}")),
        );
    }
    all
}

/// The manifest after a probe at one path.
fn probed(manifest: &Value, path: &str, probe: &Probe) -> Option<Value> {
    let mut manifest = manifest.clone();
    if let Probe::Remove = probe {
        let (parent, step) = path.rsplit_once('/')?;
        match manifest.pointer_mut(parent)? {
            Value::Object(object) => object.remove(step)?,
            Value::Array(items) => items.remove(step.parse().ok()?),
            _ => return None,
        };
    } else {
        let value = manifest.pointer_mut(path)?;
        *value = changed(value, probe)?;
    }
    Some(manifest)
}

fn refusal(file: &Forgery, manifest: &Value) -> Option<EnvelopeError> {
    let text = canonical_json(manifest).unwrap();
    decode(&file.clone().remanifest(text).write()).err()
}

/// Why the schema takes what the reader refuses; `None` where it can refuse it as well.
fn beyond_schema(manifest: &Value, error: &EnvelopeError) -> Option<&'static str> {
    let reason = match error.rule() {
        EnvelopeRule::PayloadRows => "the table",
        EnvelopeRule::PayloadReference => "references",
        EnvelopeRule::ManifestField if error.to_string().contains("is not reduced") => "reduction",
        _ => return None,
    };
    let length = |path: &str| {
        manifest
            .pointer(path)
            .and_then(Value::as_array)
            .map_or(0, Vec::len)
    };
    // A number of payloads that no set of references fits, a name twice in one list, zero over more than one.
    let least = 3;
    let rows = length("/payloads");
    let most_others = 64 - least;
    let lists = ["/agents", "/helperState", "/coordinator/executorState"];
    let helpers = manifest["helperState"].as_array()?;
    let repeated = (1..helpers.len()).any(|at| helpers[..at].contains(&helpers[at]));
    let zero_over = ["/worldTime", "/agents/0/remainder"].iter().any(|path| {
        let part = |name| {
            manifest
                .pointer(&format!("{path}/{name}"))
                .cloned()
                .unwrap_or_default()
        };
        part("numerator") == "0" && part("denominator") != "1"
    });
    let sayable = !(least..=64).contains(&rows)
        || lists.iter().any(|list| length(list) > most_others)
        || repeated
        || zero_over;
    (!sayable).then_some(reason)
}

fn subjects() -> Vec<(&'static str, Forgery)> {
    let older = |version, unknown| {
        let mut older = manifest(version);
        older.agents[0].index_digest = None;
        older.coordinator.admission_state = None;
        older.coordinator.event_watermarks = EventWatermarks::LastEvent {
            last_event_id: sample_envelope::id("evt-1"),
            last_ordinal: U64(7),
            unknown,
        };
        older
    };
    let amended = UnknownFields(Map::from_iter([("amendment".to_owned(), json!(1))]));
    let older_two = older(EnvelopeVersion::Two, UnknownFields::none());
    let older_one = older(EnvelopeVersion::One, amended);
    let mut payloads = sample_envelope::payloads();
    payloads.retain(|(name, _)| name.as_str() != "coordinator-admission");
    vec![
        ("version-2", Forgery::of(EnvelopeVersion::Two)),
        ("version-1", Forgery::of(EnvelopeVersion::One)),
        ("version-2-older", Forgery::with(&older_two, &payloads)),
        ("version-1-older", Forgery::with(&older_one, &payloads)),
    ]
}

#[derive(Default)]
struct Row {
    accepted: Vec<usize>,
    refused: BTreeMap<String, Vec<usize>>,
    beyond_schema: BTreeMap<&'static str, Vec<usize>>,
}

/// Every probe at every path of one manifest.
fn rows(file: &Forgery, probes: &[(String, Probe)]) -> Vec<(String, Row)> {
    let manifest: Value = serde_json::from_slice(&file.manifest).unwrap();
    paths(&manifest)
        .into_iter()
        .map(|path| {
            let mut row = Row::default();
            for (index, (_, probe)) in probes.iter().enumerate() {
                let Some(after) = probed(&manifest, &path, probe) else {
                    continue;
                };
                let Some(error) = refusal(file, &after) else {
                    row.accepted.push(index);
                    continue;
                };
                let rule = serde_json::to_value(error.rule()).unwrap();
                let rule = rule.as_str().unwrap().to_owned();
                row.refused.entry(rule).or_default().push(index);
                if let Some(reason) = beyond_schema(&after, &error) {
                    row.beyond_schema.entry(reason).or_default().push(index);
                }
            }
            (path, row)
        })
        .collect()
}

/// Manifests whose text is wrong although their value is not.
fn texts() -> Vec<(&'static str, String, EnvelopeRule)> {
    let text = String::from_utf8(Forgery::of(EnvelopeVersion::One).manifest).unwrap();
    let after_brace = |inserted: &str| text.replacen('{', &format!("{{{inserted}"), 1);
    let cases = [
        ("a space", after_brace(" "), EnvelopeRule::ManifestCanonical),
        (
            "a newline at the end",
            format!("{text}\n"),
            EnvelopeRule::ManifestCanonical,
        ),
        (
            "an escape that is not needed",
            text.replacen("arena", "\\u0061rena", 1),
            EnvelopeRule::ManifestCanonical,
        ),
        (
            "a fraction of zero",
            after_brace(r#""a":1.0,"#),
            EnvelopeRule::ManifestCanonical,
        ),
        (
            "keys out of order",
            after_brace(r#""zz":1,"#),
            EnvelopeRule::ManifestCanonical,
        ),
        (
            "a key twice",
            after_brace(r#""a":1,"a":1,"#),
            EnvelopeRule::ManifestJson,
        ),
        (
            "an integer beyond 2^53-1",
            after_brace(r#""a":9007199254740992,"#),
            EnvelopeRule::ManifestJson,
        ),
    ];
    cases
        .into_iter()
        .inspect(|(name, text, rule)| {
            let file = Forgery::of(EnvelopeVersion::One).remanifest(text.clone().into_bytes());
            assert_eq!(decode(&file.write()).unwrap_err().rule(), *rule, "{name}");
        })
        .collect()
}

/// The corpus as a file, and how many manifests the reader accepts and refuses; made once.
fn corpus() -> &'static (String, usize, usize) {
    static CORPUS: OnceLock<(String, usize, usize)> = OnceLock::new();
    CORPUS.get_or_init(written_corpus)
}

/// A path of a manifest a line.
fn written_corpus() -> (String, usize, usize) {
    let probes = probes();
    let (mut accepted, mut refused) = (0, 0);
    let mut lines = vec!["{\"probes\": [".to_owned()];
    let list = |items: Vec<Value>| {
        let items: Vec<String> = items.iter().map(|item| format!("  {item}")).collect();
        items.join(",\n")
    };
    lines.push(list(
        probes
            .iter()
            .map(|(name, probe)| {
                let mut value = as_json(probe);
                value["name"] = json!(name);
                value
            })
            .collect(),
    ));
    lines.push("], \"texts\": [".to_owned());
    lines.push(list(
        texts()
            .into_iter()
            .map(|(name, text, rule)| json!({"name": name, "text": text, "rule": rule}))
            .collect(),
    ));
    lines.push("], \"manifests\": {".to_owned());
    let subjects = subjects();
    let judged: Vec<Vec<(String, Row)>> = thread::scope(|scope| {
        let threads: Vec<_> = subjects
            .iter()
            .map(|(_, file)| scope.spawn(|| rows(file, &probes)))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap());
        joined.collect()
    });
    let manifests: Vec<String> = subjects
        .iter()
        .zip(judged)
        .map(|((name, file), rows)| {
            let manifest: Value = serde_json::from_slice(&file.manifest).unwrap();
            let payloads: Vec<Value> = sample_envelope::payloads()
                .into_iter()
                .take(file.entries.len())
                .map(|(name, bytes)| json!({"name": name, "bytes": bytes}))
                .collect();
            let payloads = Value::Array(payloads);
            let rows = rows
                .into_iter()
                .map(|(path, row)| {
                    accepted += row.accepted.len();
                    refused += row.refused.values().map(Vec::len).sum::<usize>();
                    json!({
                        "at": path, "accepted": row.accepted, "refused": row.refused,
                        "beyondSchema": row.beyond_schema,
                    })
                })
                .collect();
            format!(
                " {}: {{\n  \"manifest\": {manifest},\n  \"payloads\": {payloads},\n  \"rows\": [\n{}\n]}}",
                json!(name),
                list(rows)
            )
        })
        .collect();
    lines.push(manifests.join(",\n"));
    lines.push("}}\n".to_owned());
    (lines.join("\n"), accepted, refused)
}

#[test]
fn the_committed_corpus_is_what_the_reader_says() {
    let (text, accepted, refused) = corpus();
    serde_json::from_str::<Value>(text).expect("it is JSON");
    assert!(
        *accepted > 500 && *refused > 5000,
        "{accepted} accepted, {refused} refused"
    );
    keep_up_to_date(&[(FILE.to_owned(), text.clone())]);
}

#[test]
fn canary_another_verdict_is_noticed() {
    let text = &corpus().0;
    let changed = text.replacen("\"accepted\":[", "\"accepted\":[0,", 1);
    assert_ne!(changed, *text);
    assert!(is_stale(FILE, &changed));
}
