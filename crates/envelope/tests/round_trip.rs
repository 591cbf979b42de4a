//! Oracle: `decode(encode(x)) = x`, and encoding what was decoded gives the same bytes, for any manifest
//! and payloads; and any bytes at all are answered, never with a panic.
//!
//! A failing seed is printed by the test framework; `PROPTEST_CASES=N` runs more cases, and
//! `WELLWRITTEN_LONG=1` multiplies them by fifty.

mod sample_envelope;

use proptest::collection::vec;
use proptest::prelude::*;
use sample_envelope::{BOTH, Forgery, encoded, id, manifest, views};
use serde_json::json;
use wellwritten_envelope::{
    AgentEntry, Digest, EnvelopeVersion, EventWatermarks, ExecutorEntry, Id, Manifest, RationalNs,
    U64, UnknownFields, decode, decode_header, describe, encode, head_bytes,
};

fn cases(few: u32) -> ProptestConfig {
    let long = std::env::var_os("WELLWRITTEN_LONG").is_some();
    ProptestConfig {
        cases: if long { few * 50 } else { few },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn any_version() -> impl Strategy<Value = EnvelopeVersion> {
    prop_oneof![Just(EnvelopeVersion::One), Just(EnvelopeVersion::Two)]
}

fn any_digest() -> impl Strategy<Value = Digest> {
    any::<[u8; 32]>().prop_map(Digest::from_bytes)
}

fn any_time() -> impl Strategy<Value = RationalNs> {
    (any::<u64>(), 1..=u64::MAX).prop_map(|(top, bottom)| RationalNs::new(top, bottom).unwrap())
}

prop_compose! {
    fn any_agent(index: usize)(
        name in "[a-z0-9][a-z0-9._-]{0,20}",
        digests in any::<[[u8; 32]; 3]>(),
        versions in any::<[String; 2]>(),
        index_digest in proptest::option::of(any_digest()),
        seed in any::<i32>(),
        ticks in any::<u64>(),
        remainder in any_time(),
    ) -> AgentEntry {
        let [profile, dataset, _] = digests.map(Digest::from_bytes);
        let [model_version, plasticity_version] = versions;
        AgentEntry {
            agent_id: id(&name),
            profile_digest: profile,
            dataset_digest: dataset,
            index_digest,
            model_version,
            plasticity_version,
            seed,
            brain_ticks: U64(ticks),
            remainder,
            payload: id(&format!("agent-{index}")),
            unknown: UnknownFields::none(),
        }
    }
}

prop_compose! {
    /// A manifest with up to four agents and three helpers, and payloads of any bytes in any order.
    fn any_checkpoint()(
        version in any_version(),
        agents in (any_agent(0), any_agent(1), any_agent(2), any_agent(3)),
        agent_count in 0_usize..=4,
        helper_count in 0_usize..=3,
        world_time in any_time(),
        counters in any::<[u64; 3]>(),
        contents in vec(vec(any::<u8>(), 0..40), 15),
        order in Just((0..15).collect::<Vec<usize>>()).prop_shuffle(),
    ) -> (Manifest, Vec<(Id, Vec<u8>)>) {
        let mut manifest = manifest(version);
        manifest.world_time = world_time;
        manifest.source_scope.step = U64(counters[0]);
        manifest.coordinator.event_watermarks = EventWatermarks::Issued {
            last_source_step: U64(counters[1]),
            issued: U64(counters[2]),
            unknown: UnknownFields::none(),
        };
        manifest.agents = [agents.0, agents.1, agents.2, agents.3].into_iter().take(agent_count).collect();
        manifest.coordinator.executor_state = manifest.agents.iter().enumerate().map(|(index, agent)| {
            ExecutorEntry {
                agent_id: agent.agent_id.clone(),
                payload: id(&format!("executor-{index}")),
                unknown: UnknownFields::none(),
            }
        }).collect();
        manifest.helper_state = (0..helper_count).map(|index| id(&format!("helper-{index}"))).collect();
        let mut names = vec![id("world"), id("task-ledger"), id("prior-inspection"), id("coordinator-admission")];
        names.extend(manifest.agents.iter().map(|agent| agent.payload.clone()));
        names.extend(manifest.coordinator.executor_state.iter().map(|executor| executor.payload.clone()));
        names.extend(manifest.helper_state.iter().cloned());
        let mut payloads: Vec<(usize, (Id, Vec<u8>))> =
            order.into_iter().zip(names.into_iter().zip(contents)).collect();
        payloads.sort();
        (manifest, payloads.into_iter().map(|(_, payload)| payload).collect())
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn what_was_encoded_is_decoded((manifest, payloads) in any_checkpoint()) {
        let bytes = encode(&manifest, &views(&payloads)).unwrap();
        prop_assert_eq!(&bytes, &Forgery::with(&manifest, &payloads).write());
        let envelope = decode(&bytes).unwrap();
        prop_assert_eq!(envelope.payloads.len(), payloads.len());
        for (view, (name, content)) in envelope.payloads.iter().zip(&payloads) {
            prop_assert_eq!(&view.name, name);
            prop_assert_eq!(view.bytes, content.as_slice());
            prop_assert_eq!(envelope.payload(name), Some(content.as_slice()));
        }
        let mut without_rows = envelope.manifest.clone();
        without_rows.payloads.clear();
        prop_assert_eq!(&without_rows, &manifest);
        prop_assert_eq!(&encode(&envelope.manifest, &views(&payloads)).unwrap(), &bytes);

        let needed = head_bytes(&bytes, bytes.len() as u64).unwrap();
        let prefix = &bytes[..usize::try_from(needed).unwrap()];
        let head = decode_header(prefix, bytes.len() as u64).unwrap();
        prop_assert_eq!(head.manifest, envelope.manifest);
        prop_assert!(decode_header(&prefix[..prefix.len() - 1], bytes.len() as u64).is_err());
    }

    #[test]
    fn any_bytes_are_answered(bytes in vec(any::<u8>(), 0..400)) {
        answer(&bytes);
    }

    #[test]
    fn a_smashed_envelope_is_refused(
        version in any_version(),
        smashes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        words in vec((any::<prop::sample::Index>(), any::<u64>()), 0..3),
    ) {
        let intact = encoded(version);
        let mut bytes = intact.clone();
        for (at, byte) in smashes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        for (at, word) in words {
            let at = at.index(bytes.len() - 8);
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        answer(&bytes);
        prop_assert_eq!(decode(&bytes).is_ok(), bytes == intact);
    }
}

/// Every reader on the same bytes: each must return, and the description must agree with the reader.
fn answer(bytes: &[u8]) {
    let refused = decode(bytes).err();
    let described = describe(bytes).refusal.map(|refusal| refusal.message);
    assert_eq!(described, refused.map(|error| error.to_string()));
    for file_bytes in [bytes.len() as u64, 80, u64::MAX] {
        let _ = head_bytes(bytes, file_bytes);
        let _ = decode_header(bytes, file_bytes);
    }
}

/// Shrinks better than the strategies above on structure: header words drawn one by one.
#[test]
fn arbitrary_headers_are_answered() {
    arbtest::arbtest(|u| {
        let version = *u.choose(&BOTH)?;
        let mut forgery = Forgery::of(version);
        forgery.payload_count = u.arbitrary()?;
        forgery.manifest_bytes = u.arbitrary()?;
        forgery.table_offset = u.arbitrary()?;
        if u.arbitrary()? {
            forgery.manifest = u.arbitrary()?;
        }
        for entry in &mut forgery.entries {
            if u.ratio(1_u8, 4_u8)? {
                entry.offset = u.arbitrary()?;
                entry.byte_length = u.arbitrary()?;
            }
        }
        answer(&forgery.write());
        Ok(())
    })
    .budget_ms(1_000);
}

#[test]
fn version_one_keeps_what_this_crate_does_not_know() {
    let mut checked = 0;
    let parts = [
        "",
        "/compatibility",
        "/environment",
        "/coordinator",
        "/coordinator/eventWatermarks",
        "/coordinator/executorState/0",
        "/agents/0",
        "/portMap/0",
        "/payloads/3",
    ];
    for part in parts {
        for value in [
            json!(null),
            json!([1, {"b": -0.5, "a": "\u{20ac}"}]),
            json!("text"),
        ] {
            let edit = |version| {
                Forgery::of(version).edit(|manifest| {
                    let part = manifest.pointer_mut(part).unwrap().as_object_mut().unwrap();
                    part.insert("addedLater".to_owned(), value.clone());
                })
            };
            let bytes = edit(EnvelopeVersion::One).write();
            let envelope = decode(&bytes).unwrap();
            let payloads: Vec<(Id, &[u8])> = envelope
                .payloads
                .iter()
                .map(|payload| (payload.name.clone(), payload.bytes))
                .collect();
            assert_eq!(
                encode(&envelope.manifest, &payloads).unwrap(),
                bytes,
                "{part}"
            );

            let error = decode(&edit(EnvelopeVersion::Two).write())
                .map(drop)
                .unwrap_err();
            assert!(error.to_string().contains("addedLater"), "{part}: {error}");
            checked += 1;
        }
    }
    assert_eq!(checked, parts.len() * 3);
}

#[test]
fn files_differ_and_all_of_them_round_trip() {
    let null_admission = ("/coordinator/admissionState", json!(null));
    let older_watermarks = (
        "/coordinator/eventWatermarks",
        json!({"lastEventId": "evt-1", "lastOrdinal": "7"}),
    );
    let index = ("/agents/0/indexDigest", json!("00".repeat(32)));
    let edits = BOTH.map(|version| {
        let algorithm = ("/digestAlgorithm", json!(version.digest_algorithm().name()));
        [
            null_admission.clone(),
            older_watermarks.clone(),
            index.clone(),
            algorithm,
        ]
        .map(|(pointer, value)| (version, pointer, value))
    });
    for (version, pointer, value) in edits.into_iter().flatten() {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let mut forgery = Forgery::of(version).edit(|manifest| {
            manifest.pointer_mut(parent).unwrap()[field] = value.clone();
        });
        if value.is_null() {
            // Nothing refers to the admission payload then: it is the last, so it goes with its entry.
            forgery.entries.pop();
            let end = forgery.area.len() - 15;
            forgery.area.truncate(end);
            forgery.area.truncate(end - 1);
            forgery = forgery.edit(|manifest| {
                manifest["payloads"].as_array_mut().unwrap().pop();
            });
            let table_end = (forgery.laid_out_table() + 112 * forgery.entries.len()) as u64;
            let moved = forgery.entries[0].offset - table_end;
            for entry in &mut forgery.entries {
                entry.offset -= moved;
            }
        }
        let bytes = forgery.write();
        let envelope = decode(&bytes).unwrap_or_else(|error| panic!("{pointer}: {error}"));
        let payloads: Vec<(Id, &[u8])> = envelope
            .payloads
            .iter()
            .map(|payload| (payload.name.clone(), payload.bytes))
            .collect();
        assert_eq!(
            encode(&envelope.manifest, &payloads).unwrap(),
            bytes,
            "{pointer}"
        );
    }
}

#[test]
fn a_kept_field_cannot_take_the_place_of_a_known_one() {
    let payloads = sample_envelope::payloads();
    let mut manifest = manifest(EnvelopeVersion::One);
    manifest.unknown.0.insert("note".to_owned(), json!(1));
    assert!(encode(&manifest, &views(&payloads)).is_ok());
    manifest
        .unknown
        .0
        .insert("checkpointId".to_owned(), json!("c2"));
    assert!(encode(&manifest, &views(&payloads)).is_err());
    manifest.unknown.0.remove("checkpointId");
    manifest.unknown.0.insert("big".to_owned(), json!(u64::MAX));
    assert!(encode(&manifest, &views(&payloads)).is_err());
}
