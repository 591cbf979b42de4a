//! Oracle: a checkpoint says many things twice. Whatever single word of it is changed, with every digest recomputed, some
//! other word still says what it was; so no such checkpoint is ever run. The few words that are said only once are listed
//! by name, and a test holds that list against what really is accepted.

use std::sync::Arc;

use futures::executor::block_on;
use serde_json::{Value, json};
use wellwritten_envelope::{Manifest, decode};
use wellwritten_session::{
    Digest, ErrorCode, Id, Phase, RestoreRequest, SessionError, StatePayload,
};
use wellwritten_store::{PayloadBytes, SaveRequest};

use crate::rig::{Rig, RigOptions, id};

/// A checkpoint as JSON: the manifest without its payload table, and each payload's name, header and body.
#[derive(Clone)]
struct Words {
    manifest: Value,
    payloads: Vec<(String, Value, Value)>,
}

/// State that one participant alone holds, and nobody else knows: what its digest is for.
const SAID_ONCE: [&str; 4] = [
    "agent-fly-a body/lcg",
    "agent-fly-a body/signal",
    "agent-fly-b body/lcg",
    "agent-fly-b body/signal",
];

fn failed(terminal_after: Option<u32>) -> (Rig, Words) {
    let rig = Rig::ready_with(
        RigOptions {
            terminal_after,
            ..RigOptions::default()
        },
        std::rc::Rc::default(),
    );
    rig.steps(2);
    rig.save("good");
    rig.fail();
    let bytes = {
        let store = block_on(rig.store.lock());
        block_on(store.read(&id("good"))).unwrap()
    };
    let envelope = decode(&bytes).unwrap();
    let mut manifest = serde_json::to_value(&envelope.manifest).unwrap();
    manifest["checkpointId"] = "bad".into();
    manifest["payloads"] = json!([]);
    let payloads = envelope.payloads.iter().map(|view| {
        let payload = StatePayload::decode(view.bytes).unwrap();
        let mut header = serde_json::to_value(&payload.header).unwrap();
        header["checkpointId"] = "bad".into();
        let body = serde_json::from_slice(payload.body).unwrap();
        (view.name.to_string(), header, body)
    });
    let payloads = payloads.collect();
    (rig, Words { manifest, payloads })
}

/// The frame of a payload, written without asking whether its header reads.
fn framed(header: &Value, body: &Value) -> Vec<u8> {
    let (header, body) = (header.to_string(), body.to_string());
    let mut bytes = b"WWSTATE1".to_vec();
    bytes.extend(u32::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(body.as_bytes());
    let digest = Digest::blake3(&bytes);
    bytes.extend(digest.as_bytes());
    bytes
}

impl Words {
    /// Every document, and what it is called.
    fn documents(&mut self) -> Vec<(String, &mut Value)> {
        let mut documents = vec![("manifest ".to_owned(), &mut self.manifest)];
        for (name, header, body) in &mut self.payloads {
            documents.push((format!("{name} header"), header));
            documents.push((format!("{name} body"), body));
        }
        documents
    }

    /// The places of every scalar and every empty list.
    fn leaves(&mut self) -> Vec<String> {
        let mut leaves = Vec::new();
        for (name, document) in self.documents() {
            collect(document, &name, &mut leaves);
        }
        leaves
    }

    fn at(&mut self, leaf: &str) -> &mut Value {
        let documents = self.documents();
        let found = documents.into_iter().find_map(|(name, document)| {
            let pointer = leaf.strip_prefix(&name)?;
            document.pointer_mut(pointer)
        });
        found.unwrap_or_else(|| panic!("{leaf} is nowhere"))
    }

    /// Commits it as `bad`; false where it cannot even be written.
    fn commit(&self, rig: &Rig) -> bool {
        let Ok(manifest) = serde_json::from_value::<Manifest>(self.manifest.clone()) else {
            return false;
        };
        let owned = |bytes: Vec<u8>| -> PayloadBytes { Arc::new(bytes) };
        let payloads = self
            .payloads
            .iter()
            .map(|(name, header, body)| (id(name), owned(framed(header, body))))
            .collect();
        let is_bad = manifest.checkpoint_id == id("bad");
        let mut store = block_on(rig.store.lock());
        let committed = block_on(store.save(&SaveRequest { manifest, payloads }));
        committed.is_ok() && is_bad
    }
}

fn collect(value: &Value, place: &str, leaves: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                collect(field, &format!("{place}/{name}"), leaves);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{place}/{index}"), leaves);
            }
        }
        _ if place == "manifest /payloads" => {}
        _ => leaves.push(place.to_owned()),
    }
}

/// Other values of the same kind.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => {
            if let Ok(number) = text.parse::<u64>() {
                let next = number.wrapping_add(1).to_string();
                let far = number.wrapping_add(1 << 40).to_string();
                return vec![next.into(), far.into()];
            }
            if text.len() == 64 {
                return vec![Digest::blake3(text.as_bytes()).to_string().into()];
            }
            vec![format!("{text}x").into()]
        }
        Value::Number(number) => match number.as_i64() {
            Some(whole) => vec![(whole + 1).into()],
            None => match number.as_u64() {
                Some(whole) => vec![(whole - 1).into()],
                None => vec![(number.as_f64().unwrap() + 1.0).into()],
            },
        },
        Value::Bool(bit) => vec![(!bit).into()],
        Value::Null => vec![
            "x".into(),
            Digest::blake3(b"x").to_string().into(),
            json!({"decisionContextDigest": Digest::blake3(b"x"), "brainTicks": "1",
                "remainder": {"numerator": "0", "denominator": "1"}}),
        ],
        Value::Array(_) => vec![json!(["task-ledger"]), json!(["x"])],
        Value::Object(_) => unreachable!("an object is no leaf"),
    }
}

fn restore(rig: &Rig, checkpoint_id: &str) -> Result<(), SessionError> {
    block_on(rig.session.restore(RestoreRequest {
        checkpoint_id: Some(id(checkpoint_id)),
        ..RestoreRequest::default()
    }))
    .map(drop)
}

/// Refused, with nobody activated; the intact bytes then restore and step.
fn refused(rig: &Rig, what: &str) -> SessionError {
    rig.bench.logged();
    let error = restore(rig, "bad").expect_err(what);
    let log = rig.bench.logged();
    assert!(
        !log.iter().any(|point| point.ends_with(".activate")),
        "{what}: {log:?}"
    );
    assert_eq!(rig.session.phase(), Phase::Failed, "{what}: {error}");
    let tainted = rig.session.status().tainted;
    let staged = |participant: &Id| log.contains(&format!("{participant}.stage"));
    assert!(tainted.iter().all(staged), "{what}: {tainted:?}, {log:?}");
    runs(rig, what);
    error
}

fn runs(rig: &Rig, what: &str) {
    block_on(rig.session.replace_participants()).unwrap();
    restore(rig, "good").expect(what);
    if rig.session.status().terminal.is_none() {
        rig.session.resume().expect(what);
        rig.steps(1);
    }
}

#[test]
fn no_word_of_a_checkpoint_can_be_changed_alone() {
    // A session that goes on, and one whose episode is over: its record says so too.
    for terminal_after in [None, Some(2)] {
        let (rig, words) = failed(terminal_after);
        assert!(words.commit(&rig));
        restore(&rig, "bad").expect("canary: the copying itself is not what is refused");
        let leaves = words.clone().leaves();
        assert!(leaves.len() > 200, "{} leaves", leaves.len());
        let mut asked = 0;
        for leaf in leaves {
            for other in others(words.clone().at(&leaf)) {
                let (rig, mut words) = failed(terminal_after);
                let what = format!("{leaf} as {other}");
                *words.at(&leaf) = other;
                if !words.commit(&rig) {
                    continue;
                }
                asked += 1;
                if SAID_ONCE.contains(&leaf.as_str()) {
                    restore(&rig, "bad").expect(&what);
                } else {
                    refused(&rig, &what);
                }
            }
        }
        assert!(asked > 200, "{asked} checkpoints were put to a restore");
    }
}

/// Words that were changed in all places but one: the last place still tells.
#[test]
fn one_dissenting_place_is_enough() {
    let ticks = [
        "manifest /agents/0/brainTicks",
        "coordinator-admission body/agents/0/brainTicks",
        "agent-fly-a header/agent/brainTicks",
        "agent-fly-a body/ticks",
    ];
    let events = [
        "manifest /coordinator/eventWatermarks/issued",
        "coordinator-admission body/eventsIssued",
        "task-ledger body/value/eventsIssued",
    ];
    let last_event = [
        "manifest /coordinator/eventWatermarks/lastSourceStep",
        "coordinator-admission body/lastEventStep",
        "task-ledger body/value/lastEventStep",
    ];
    let counter = [
        "world body/counter",
        "world body/frames/0/counter",
        "prior-inspection body/value/counter",
        "task-ledger body/value/counter",
        "coordinator-admission body/progress/value/counter",
        "coordinator-admission body/terminal/outcome/value/counter",
    ];
    let world_time = [
        "manifest /worldTime/numerator",
        "coordinator-admission body/worldTime/numerator",
        "world body/time/numerator",
    ];
    for group in [&ticks[..], &events, &last_event, &counter, &world_time] {
        let is_of_the_boundary = [world_time[0], last_event[0]].contains(&group[0]);
        for dissenting in group {
            let (rig, mut words) = failed(Some(2));
            for leaf in group {
                if leaf != dissenting {
                    let value = words.at(leaf);
                    *value = others(value).remove(0);
                }
            }
            assert!(words.commit(&rig), "{dissenting}");
            let error = refused(&rig, dissenting);
            assert_eq!(error.code(), ErrorCode::IncompatibleState, "{error}");
        }
        // Canary: said alike everywhere, it is another checkpoint, and as good a one.
        let (rig, mut words) = failed(Some(2));
        for leaf in group {
            let value = words.at(leaf);
            *value = others(value).remove(0);
        }
        assert!(words.commit(&rig));
        if is_of_the_boundary {
            // But for the time, which follows from the boundary, and an event that is still to come.
            refused(&rig, "another time, everywhere");
        } else {
            restore(&rig, "bad").unwrap();
        }
    }
}

#[test]
fn a_disagreement_found_at_staging_names_the_field_and_both_values() {
    let (rig, mut words) = failed(None);
    *words.at("world body/episode") = "other".into();
    assert!(words.commit(&rig));
    let error = restore(&rig, "bad").unwrap_err();
    assert_eq!(error.participant(), Some(&id("world")));
    let text = error.to_string();
    assert!(
        text.contains("its episodeId is other, elsewhere in the checkpoint it is ep1"),
        "{text}"
    );
    assert_eq!(rig.session.status().tainted, [id("world")]);
}

#[test]
fn an_epoch_that_none_could_follow_is_refused_and_changes_nothing() {
    let (rig, _) = failed(None);
    for (name, is_taken) in [
        ("e18446744073709551615", false),
        ("e18446744073709551614", false),
        ("e1000000000000000000", false),
        ("e999999999999999999", true),
    ] {
        let request = RestoreRequest {
            checkpoint_id: Some(id("good")),
            epoch: Some(id(name)),
            ..RestoreRequest::default()
        };
        let restored = block_on(rig.session.restore(request));
        match restored {
            Ok(_) => assert!(is_taken, "{name}"),
            Err(error) => {
                assert!(!is_taken && error.is_refusal(), "{name}: {error}");
                assert!(matches!(error, SessionError::EpochNumber { .. }), "{error}");
            }
        }
    }
    // What can be asked for at most still has a successor of 19 digits, which nobody could ask for; from there on names
    // are found in another stem.
    rig.fail();
    restore(&rig, "good").unwrap();
    assert_eq!(rig.session.status().epoch, id("f1"));
}

/// A store of an older session whose epochs ran out does not keep a new one from beginning.
#[test]
fn a_stem_without_names_left_is_left_for_another() {
    let rig = Rig::ready();
    rig.save("good");
    let epoch = id("e18446744073709551615");
    block_on(async { rig.store.lock().await.claim_epoch(&epoch).await }).unwrap();
    rig.fail();
    restore(&rig, "good").unwrap();
    assert_eq!(rig.session.status().epoch, id("f1"));
    let Rig {
        bench,
        medium,
        store,
        session,
        ..
    } = rig;
    drop((session, store));
    let rig = Rig::starting(RigOptions::default(), bench, medium);
    block_on(rig.session.bootstrap()).unwrap();
    assert_eq!(rig.session.status().epoch, id("f2"));
}

/// A manifest may leave these out or say them otherwise, as other writers do; a session cannot be restored from that.
#[test]
fn what_another_writer_leaves_out_is_refused_by_name() {
    const RECORD: &str = "coordinator-admission";
    fn no_record(words: &mut Words) {
        *words.at("manifest /coordinator/admissionState") = Value::Null;
        words.payloads.retain(|(name, ..)| name != RECORD);
    }
    fn older_watermarks(words: &mut Words) {
        words.manifest["coordinator"]["eventWatermarks"] =
            json!({"lastEventId": "evt-1", "lastOrdinal": "7"});
    }
    fn both(words: &mut Words) {
        no_record(words);
        older_watermarks(words);
    }
    let changes: [fn(&mut Words); 3] = [no_record, older_watermarks, both];
    let no_bytes = "the envelope does not hold it";
    for (change, said) in changes
        .into_iter()
        .zip([no_bytes, "eventWatermarks", no_bytes])
    {
        let (rig, mut words) = failed(None);
        assert_eq!(words.manifest["envelopeVersion"], 2);
        change(&mut words);
        assert!(words.commit(&rig), "it is a sound envelope");
        let error = refused(&rig, said);
        assert_eq!(error.code(), ErrorCode::IncompatibleState, "{error}");
        assert!(
            matches!(&error, SessionError::CoordinatorPayload { payload, .. } if *payload == id(RECORD)),
            "{error}"
        );
        let mut causes = std::iter::successors(Some(&error as &dyn std::error::Error), |cause| {
            cause.source()
        });
        assert!(
            causes.any(|cause| cause.to_string().contains(said)),
            "{error}"
        );
    }
}
