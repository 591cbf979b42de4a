//! Oracle: reading what was written gives back what was written, for every variant of every type that crosses; the
//! list of variants is what the types' own readers say it is, so that a new one without a sample is missed here.

mod mutations;
mod samples;
mod variants;

use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wellwritten_envelope::{EnvelopeRule, to_json};

use super::*;
use crate::commit::CommitStep;
use crate::damage::Damage;
use crate::medium_error::{LockError, MediumError};
use crate::record_field::RecordField;
use crate::store_error::StoreError;
use crate::store_manifest::ManifestFault;
use crate::testing::SampleGeneration;
use crate::verify_report::DamageKind;
use samples::{replies, requests, samples_of};
use variants::variants_of;

/// Attachments as they arrive: copied.
fn received(message: &WireMessage) -> Vec<Vec<u8>> {
    let attachments = message.attachments.iter();
    attachments
        .map(|bytes| (**bytes).as_ref().to_vec())
        .collect()
}

/// The request as text and bytes: requests cannot be compared.
fn spelled(request: StoreRequest) -> (String, Vec<Vec<u8>>) {
    let message = encode_request(request).unwrap();
    let attachments = received(&message);
    (message.text, attachments)
}

fn variant_of(value: &impl Serialize) -> String {
    match to_json(value).unwrap() {
        Value::String(name) => name,
        Value::Object(object) => object.into_iter().next().unwrap().0,
        other => panic!("{other} is no variant"),
    }
}

/// Every sample comes back, and there is one of every variant.
fn every_variant_returns<T>(samples: Vec<T>)
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let type_name = std::any::type_name::<T>();
    let mut seen = BTreeSet::new();
    for sample in samples {
        seen.insert(variant_of(&sample));
        let text = write(&sample).unwrap();
        assert_eq!(
            read::<T>(&text).as_ref(),
            Ok(&sample),
            "{type_name}: {text}"
        );
    }
    let there_are: BTreeSet<String> = variants_of::<T>().into_iter().collect();
    assert!(!there_are.is_empty());
    assert_eq!(seen, there_are, "samples of {type_name}");
}

#[test]
fn every_variant_of_every_type_returns() {
    every_variant_returns(samples_of::<MediumError>());
    every_variant_returns(samples_of::<LockError>());
    every_variant_returns(samples_of::<ManifestFault>());
    every_variant_returns(samples_of::<StoreError>());
    every_variant_returns(samples_of::<Damage>());
    every_variant_returns(samples_of::<ReadError>());
    every_variant_returns(samples_of::<SelectError>());
    every_variant_returns(samples_of::<CommitError>());
    every_variant_returns(samples_of::<ImportError>());
    every_variant_returns(samples_of::<UsageError>());
    every_variant_returns(samples_of::<Resolution>());
    every_variant_returns(samples_of::<Certainty>());
    every_variant_returns(samples_of::<CommitStep>());
    every_variant_returns(samples_of::<RecordField>());
    every_variant_returns(samples_of::<DamageKind>());
    every_variant_returns(samples_of::<EnvelopeRule>());
}

#[test]
fn every_request_returns() {
    let mut seen = BTreeSet::new();
    for sample in requests() {
        let name = format!("{sample:?}");
        let (text, attachments) = spelled(sample);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(variant_of(&value), name);
        let read = decode_request(&text, attachments.clone()).unwrap();
        assert_eq!(format!("{read:?}"), name);
        assert_eq!(spelled(read), (text, attachments));
        seen.insert(name);
    }
    let there_are: BTreeSet<String> = variants_of::<RequestText>().into_iter().collect();
    assert_eq!(seen, there_are);
}

#[test]
fn every_reply_returns() {
    let mut seen = BTreeSet::new();
    for sample in replies() {
        let message = encode_reply(sample.clone()).unwrap();
        let value: Value = serde_json::from_str(&message.text).unwrap();
        let (name, result) = value.as_object().unwrap().iter().next().unwrap();
        seen.insert(format!("{name} {}", variant_of(result)));
        let read = decode_reply(&message.text, received(&message));
        assert_eq!(read.as_ref(), Ok(&sample), "{}", message.text);
    }
    let names = variants_of::<ReplyText>();
    let there_are: BTreeSet<String> = names
        .iter()
        .flat_map(|name| [format!("{name} Ok"), format!("{name} Err")])
        .collect();
    assert_eq!(seen, there_are);
    assert_eq!(names.len(), variants_of::<RequestText>().len());
}

#[test]
fn payloads_cross_as_they_are() {
    let sample = SampleGeneration::new("a", "e1", u64::MAX);
    let request = sample.to_save();
    let first = Arc::clone(&request.payloads[0].1);
    let message = encode_request(StoreRequest::Save(request)).unwrap();
    assert!(
        Arc::ptr_eq(&message.attachments[0], &first),
        "nothing is copied"
    );
    let read = decode_request(&message.text, received(&message)).unwrap();
    let StoreRequest::Save(read) = read else {
        panic!("{read:?}");
    };
    assert_eq!(read.manifest, sample.manifest);
    let payloads: Vec<(Id, Vec<u8>)> = read
        .payloads
        .iter()
        .map(|(name, bytes)| (name.clone(), (**bytes).as_ref().to_vec()))
        .collect();
    assert_eq!(payloads, sample.payloads);
}

#[test]
fn the_text_is_what_it_was_designed_as() {
    let text = |request| spelled(request).0;
    let prune = text(StoreRequest::Prune { keep: usize::MAX });
    assert_eq!(prune, r#"{"Prune":{"keep":"18446744073709551615"}}"#);
    assert_eq!(text(StoreRequest::Usage), r#"{"Usage":{}}"#);
    let full = MediumError::QuotaExceeded {
        file: "~generation".to_owned(),
        requested_bytes: u64::MAX,
        available_bytes: None,
    };
    let reply = StoreReply::Saved(Err(CommitError::Medium {
        step: CommitStep::WriteGeneration,
        source: full,
    }));
    let expected = json!({"Saved": {"Err": {"Medium": {
        "step": "writeGeneration",
        "source": {"QuotaExceeded": {
            "file": "~generation", "requestedBytes": "18446744073709551615", "availableBytes": null,
        }},
    }}}});
    let text = encode_reply(reply).unwrap().text;
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
}

#[test]
fn what_is_not_a_message_is_refused_by_name() {
    let request = |text: &str| decode_request(text, Vec::new()).unwrap_err();
    for text in [
        "",
        "null",
        "[]",
        "{}",
        r#""Save""#,
        r#"{"Saved":{}}"#,
        r#"{"Usage":null}"#,
        r#"{"Usage":[]}"#,
        r#"{"Usage":{"more":1}}"#,
        r#"{"Usage":{},"Generations":{}}"#,
        r#"{"Prune":{}}"#,
        r#"{"Prune":{"keep":1}}"#,
        r#"{"Prune":{"keep":"01"}}"#,
        r#"{"Prune":{"keep":"-1"}}"#,
        r#"{"Prune":{"keep":"18446744073709551616"}}"#,
        r#"{"Read":{"checkpointId":"../x"}}"#,
        r#"{"Read":{"checkpointId":"a","checkpointId":"b"}}"#,
        r#"{"Read":{"checkpoint_id":"a"}}"#,
        r#"{"Read":["a"]}"#,
        r#"{"Read":{"checkpointId":"a"}} "x""#,
    ] {
        let refused = request(text);
        assert!(
            matches!(refused, WireError::Json(_) | WireError::Shape(_)),
            "{text}: {refused}"
        );
    }
    let too_many = decode_request(r#"{"Usage":{}}"#, vec![Vec::new()]);
    assert_eq!(
        too_many.unwrap_err(),
        WireError::Attachments {
            expected: 0,
            found: 1
        }
    );
    assert_eq!(
        request(r#"{"Import":{}}"#),
        WireError::Attachments {
            expected: 1,
            found: 0
        }
    );
    let (save, mut attachments) = spelled(requests().remove(0));
    let expected = attachments.len();
    attachments.pop();
    assert_eq!(
        decode_request(&save, attachments).unwrap_err(),
        WireError::Attachments {
            expected,
            found: expected - 1
        }
    );
    assert_eq!(
        decode_reply(r#"{"Read":{"Ok":{}}}"#, Vec::new()).unwrap_err(),
        WireError::Attachments {
            expected: 1,
            found: 0
        }
    );
    let mut manifest = SampleGeneration::new("a", "e1", 1).manifest;
    let beyond = Value::from(u64::MAX);
    manifest.unknown.0.insert("more".to_owned(), beyond);
    let beyond = encode_request(StoreRequest::Save(SaveRequest {
        manifest,
        payloads: Vec::new(),
    }));
    let refused = decode_request(&beyond.unwrap().text, Vec::new()).unwrap_err();
    assert!(matches!(refused, WireError::Json(_)), "{refused}");
}
