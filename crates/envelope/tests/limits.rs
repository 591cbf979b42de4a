//! Oracle: all readers agree on what is too long or too much, and the writer refuses what they refuse; and of a file with
//! one flipped bit they say what they say of any other.

mod sample_envelope;

use sample_envelope::{BOTH, Forgery, id, manifest, payloads, views};
use serde_json::{Map, Value, json};
use wellwritten_envelope::{
    EncodeError, EnvelopeError, EnvelopeRule, EnvelopeVersion, MAX_MANIFEST_BYTES, MAX_VALUES,
    PartKind, PartState, StreamError, StrictJsonError, UnknownFields, decode, decode_header,
    describe, describe_source, encode, parse_strict_json, read_head, verify,
};

/// What every reader says of a file.
fn refusals(bytes: &[u8]) -> Vec<EnvelopeError> {
    let streamed = |error| match error {
        StreamError::Refused(error) => error,
        other => panic!("not a refusal: {other}"),
    };
    let said = vec![
        decode(bytes).unwrap_err(),
        decode_header(bytes, bytes.len() as u64).unwrap_err(),
        streamed(verify(&mut { bytes }, &mut |_| {}).unwrap_err()),
        streamed(read_head(&mut { bytes }).unwrap_err()),
    ];
    let layout = describe(bytes);
    assert_eq!(
        layout.refusal.as_ref().unwrap().message,
        said[0].to_string()
    );
    assert_eq!(
        describe_source(&mut { bytes }, &mut |_| {}).unwrap(),
        layout
    );
    said
}

#[test]
fn a_manifest_that_is_too_long_is_refused_by_all() {
    for version in BOTH {
        let limit = MAX_MANIFEST_BYTES as usize;
        let padded = |length: usize| {
            let bare = Forgery::of(version).edit(|manifest| manifest["zz"] = json!(""));
            let missing = length - bare.manifest.len();
            let long = bare.edit(|manifest| manifest["zz"] = json!("x".repeat(missing)));
            assert_eq!(long.manifest.len(), length);
            long.write()
        };
        let fits = padded(limit);
        match version {
            EnvelopeVersion::One => {
                let envelope = decode(&fits).unwrap();
                let views: Vec<_> = envelope
                    .payloads
                    .iter()
                    .map(|payload| (payload.name.clone(), payload.bytes))
                    .collect();
                let mut longer = envelope.manifest.clone();
                assert!(encode(&longer, &views).unwrap() == fits);
                longer.unknown.0["zz"] = json!("x".repeat(limit));
                assert!(matches!(
                    encode(&longer, &views),
                    Err(EncodeError::ManifestTooLong { .. })
                ));
            }
            EnvelopeVersion::Two => {
                for said in refusals(&fits) {
                    assert_eq!(said.rule(), EnvelopeRule::UnknownField, "only now");
                }
            }
        }
        let expected = EnvelopeError::ManifestTooLong {
            manifest_bytes: limit as u64 + 1,
            limit_bytes: limit as u64,
        };
        let longer = padded(limit + 1);
        for said in refusals(&longer) {
            assert_eq!(said, expected);
            assert_eq!(said.rule(), EnvelopeRule::ManifestBounds);
        }
        let layout = describe(&longer);
        let state = |kind| {
            let mut parts = layout.parts.iter();
            &parts.find(|part| part.kind == kind).unwrap().state
        };
        assert_eq!(*state(PartKind::Header), PartState::Verified);
        assert!(matches!(
            state(PartKind::Manifest),
            PartState::Broken {
                rule: EnvelopeRule::ManifestBounds,
                ..
            }
        ));
        assert_eq!(*state(PartKind::Table), PartState::NotReached);
    }
}

#[test]
fn values_are_counted_and_one_too_many_is_named() {
    // The list itself is one.
    let elements = MAX_VALUES - 1;
    let fits = format!("[0{}]", ",0".repeat(elements - 1));
    let read = parse_strict_json(fits.as_bytes()).unwrap();
    assert_eq!(read.as_array().unwrap().len(), elements);
    let longer = format!("[0{}]", ",0".repeat(elements));
    let error = parse_strict_json(longer.as_bytes()).unwrap_err();
    let expected = StrictJsonError::TooManyValues {
        offset: longer.len() - 2,
        limit: MAX_VALUES,
    };
    assert_eq!(error.offset(), longer.len() - 2);
    assert_eq!(error, expected);
}

#[test]
fn too_many_values_are_refused_by_all_and_not_written() {
    // Three values a binding: in a field that both versions know.
    let mut crowded = manifest(EnvelopeVersion::Two);
    crowded.port_map = vec![crowded.port_map[0].clone(); MAX_VALUES / 3 + 1];
    let payloads = payloads();
    assert!(matches!(
        encode(&crowded, &views(&payloads)),
        Err(EncodeError::NotStrict(
            StrictJsonError::TooManyValues { .. }
        ))
    ));
    let good = Forgery::of(EnvelopeVersion::One);
    let mut text = good.manifest.clone();
    text.pop();
    text.extend(b",\"zz\":[0");
    text.extend(",0".repeat(MAX_VALUES).bytes());
    text.extend(b"]}");
    let mut said = refusals(&good.remanifest(text).write());
    said.dedup();
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].rule(), EnvelopeRule::ManifestJson);
}

/// The length that says that a head is too long may be what is damaged.
#[test]
fn a_flipped_bit_in_a_length_is_damage_not_a_limit() {
    let length = MAX_MANIFEST_BYTES as usize * 2 + 100_000;
    for version in BOTH {
        let mut payloads = payloads();
        payloads[0].1 = vec![7; length];
        let mut bytes = encode(&manifest(version), &views(&payloads)).unwrap();
        for bit in [22, 24, 25, 26] {
            bytes[16 + bit / 8] ^= 1 << (bit % 8);
            let decoded = decode(&bytes).unwrap_err();
            // Beyond 2^25 the head of version 2 ends after the file.
            let expected = match (version, bit) {
                (EnvelopeVersion::Two, 26) => EnvelopeRule::ManifestBounds,
                _ => EnvelopeRule::FooterDigest,
            };
            assert_eq!(decoded.rule(), expected, "version {version}, bit {bit}");
            match verify(&mut &bytes[..], &mut |_| {}) {
                Err(StreamError::Refused(error)) => assert_eq!(error, decoded),
                other => panic!("{other:?}"),
            }
            let layout = describe_source(&mut &bytes[..], &mut |_| {}).unwrap();
            assert_eq!(layout.refusal.as_ref().unwrap().rule, expected);
            let kinds: Vec<PartKind> = layout.parts.iter().map(|part| part.kind).collect();
            for kind in [PartKind::Header, PartKind::Manifest, PartKind::Footer] {
                assert!(kinds.contains(&kind), "{kinds:?}");
            }
            bytes[16 + bit / 8] ^= 1 << (bit % 8);
        }
        assert!(decode(&bytes).is_ok());
    }
}

/// A writer that looked each field up among all would be felt here.
#[test]
fn many_unknown_fields_are_kept() {
    let mut crowded = manifest(EnvelopeVersion::One);
    let fields: Map<String, Value> = (0..40_000)
        .map(|index| (format!("field-{index:05}"), json!(index)))
        .collect();
    crowded.compatibility.unknown = UnknownFields(fields);
    let payloads = payloads();
    let file = encode(&crowded, &views(&payloads)).unwrap();
    let read = decode(&file).unwrap().manifest;
    assert_eq!(read.compatibility, crowded.compatibility);
    assert!(encode(&read, &views(&payloads)).unwrap() == file);
    // And one that is lost is found among them, whichever part it is in.
    crowded.compatibility.unknown.0["field-20000"] = json!("kept");
    crowded
        .agents
        .first_mut()
        .unwrap()
        .unknown
        .0
        .insert("payload".to_owned(), json!(id("agent-a")));
    assert!(matches!(
        encode(&crowded, &views(&payloads)),
        Err(EncodeError::ShadowedField { field }) if field == "agents[0].payload"
    ));
}
