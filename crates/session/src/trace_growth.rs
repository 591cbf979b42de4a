//! Oracle: a list that keeps every record for ever, and hashes all of it again for each question. Driven over more records
//! than a trace keeps, with captures and restores on the way.

use wellwritten_envelope::{Digest, Id, RationalNs, Scope, U64, canonical_json};

use crate::trace_canonical::canonical_behaviour;
use crate::{
    AgentBehaviour, AudioBehaviour, Behaviour, EpisodeBehaviour, EpisodeRequestKind,
    MAX_TRACE_RECORDS, Operational, Trace, TraceRecord, ViewBehaviour, behaviour_digest,
};

fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

/// A record that no other step, epoch or salt has.
fn fake(epoch: &str, step: u64, salt: u64) -> TraceRecord {
    let digest = Digest::blake3(&(step ^ salt << 32).to_le_bytes());
    TraceRecord {
        behaviour: Behaviour {
            scope: Scope {
                session_id: id("demo"),
                epoch: id(epoch),
                step: U64(step),
            },
            agents: vec![AgentBehaviour {
                agent_id: id("fly-a"),
                profile_digest: digest,
                ticks_advanced: U64(16),
                brain_ticks: U64(16 * step),
                remainder: RationalNs::ZERO,
                decision_digest: digest,
                committed_step: U64(step + 1),
                telemetry_digest: None,
                outcome_digest: None,
                pre_step_digest: None,
                state_digest: None,
            }],
            batch_id: id(&format!("batch-{epoch}-{step}")),
            control_digest: digest,
            acknowledged_boundary: U64(step + 1),
            observation_boundaries: vec![ViewBehaviour {
                view_id: id("arena"),
                produced_step: U64(step + 1),
                frame_digest: None,
            }],
            inspection_digest: None,
            world_state_digest: None,
            audio: Vec::new(),
            outcome_ids: Vec::new(),
            event_ids: Vec::new(),
            episode_request: None,
            published_boundary: Some(U64(step + 1)),
        },
        operational: Operational {
            wall_time_ns: U64(0),
            prepare_request_ids: Vec::new(),
            advance_request_id: "req-1".to_owned(),
            commit_request_ids: Vec::new(),
            discontinuities: Vec::new(),
            resolutions: Vec::new(),
            captures: Vec::new(),
            bus_call_ids: Vec::new(),
            delivery_ids: Vec::new(),
        },
    }
}

/// The chain as its documentation says it, from nothing but the records: the digest of every prefix.
fn slow_digests(records: &[TraceRecord]) -> Vec<Digest> {
    let mut digests = vec![Digest::blake3(b"wellwritten/behaviour-trace-v1\n")];
    for (index, record) in records.iter().enumerate() {
        let mut material = digests[index].as_bytes().to_vec();
        material.extend(canonical_json(&record.behaviour).unwrap());
        digests.push(Digest::blake3(&material));
    }
    digests
}

fn slow_digest(records: &[TraceRecord]) -> Digest {
    *slow_digests(records).last().unwrap()
}

#[test]
fn nothing_grows_over_20_000_records_and_the_digest_is_of_all_of_them() {
    let mut trace = Trace::default();
    trace.begin(id("e1"), 0);
    let mut model = Vec::new();
    for step in 0..20_000_u64 {
        let record = fake("e1", step, 1);
        model.push(record.clone());
        trace.push(record);
        // Far more captures than are remembered.
        if step % 16 == 0 {
            trace.note_capture(id(&format!("c-{step}")), step + 1);
        }
        if step % 64 == 0 {
            assert!(trace.records().count() <= MAX_TRACE_RECORDS);
        }
        assert!(trace.remembered_marks() <= 256);
    }
    let forgotten = 20_000 - MAX_TRACE_RECORDS as u64;
    assert_eq!(trace.forgotten(), forgotten);
    let digest = trace.digest();
    assert_eq!((digest.from, digest.length), (0, 20_000));
    let slow = slow_digests(&model);
    assert_eq!(digest.digest, slow[20_000]);
    assert_eq!(slow[100], behaviour_digest(&model[..100]));
    // Every prefix that ends at a kept record or just before the first.
    for boundary in [forgotten, forgotten + 1, 18_000, 19_999, 20_000] {
        let at = trace.digest_at(boundary).unwrap();
        assert_eq!(at.length, boundary);
        assert_eq!(at.digest, slow[usize::try_from(boundary).unwrap()]);
    }
    assert_eq!(trace.digest_at(forgotten - 5), None);
    assert_eq!(trace.digest_at(20_001), None);
    // The canary: another trace of the same length is another digest.
    model.truncate(100);
    model[3] = fake("e1", 3, 2);
    assert_ne!(slow_digest(&model), slow[100]);
}

#[test]
fn a_restore_to_a_forgotten_capture_goes_on_with_the_digest_and_one_to_an_unknown_boundary_says_where_it_begins()
 {
    let mut trace = Trace::default();
    trace.begin(id("e1"), 0);
    let mut model = Vec::new();
    for step in 0..10_000_u64 {
        model.push(fake("e1", step, 1));
        trace.push(model[model.len() - 1].clone());
        if step + 1 == 3_000 {
            trace.note_capture(id("c-3000"), 3_000);
        }
    }
    let mut unknown = trace.clone();

    trace.restore(&id("e1"), 3_000, id("e2"));
    model.truncate(3_000);
    assert_eq!((trace.forgotten(), trace.records().count()), (3_000, 0));
    assert_eq!(trace.digest().digest, slow_digest(&model));
    for step in 3_000..3_010 {
        model.push(fake("e2", step, 7));
        trace.push(model[model.len() - 1].clone());
    }
    assert_eq!((trace.digest().from, trace.digest().length), (0, 3_010));
    assert_eq!(trace.digest().digest, slow_digest(&model));

    unknown.restore(&id("e1"), 2_000, id("e2"));
    let begun = unknown.digest();
    assert_eq!((begun.from, begun.length), (2_000, 0));
    unknown.push(fake("e2", 2_000, 7));
    let begun = unknown.digest();
    assert_eq!(begun.digest, slow_digest(&[fake("e2", 2_000, 7)]));
    assert_eq!(unknown.digest_at(2_000).map(|it| it.length), Some(0));
    assert_eq!(unknown.digest_at(1_999), None);
}

#[test]
fn random_runs_with_captures_and_restores_have_the_digest_of_their_timeline() {
    for seed in 0..12_u64 {
        println!("seed {seed}");
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut random = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut trace = Trace::default();
        trace.begin(id("e1"), 0);
        let (mut model, mut epoch, mut checked) = (Vec::new(), 1, 0);
        for salt in 0..200 {
            let boundary = model.len() as u64;
            match random(12) {
                0 => trace.note_capture(id(&format!("c-{salt}")), boundary),
                1 if boundary > 0 => {
                    let back = random(boundary);
                    let source = if back == 0 {
                        "e1".to_owned()
                    } else {
                        let last: &TraceRecord = &model[usize::try_from(back).unwrap() - 1];
                        last.behaviour.scope.epoch.to_string()
                    };
                    epoch += 1;
                    trace.restore(&id(&source), back, id(&format!("e{epoch}")));
                    model.truncate(usize::try_from(back).unwrap());
                }
                _ => {
                    model.push(fake(&format!("e{epoch}"), boundary, salt));
                    trace.push(model[model.len() - 1].clone());
                }
            }
            // A restore to boundary 0 of an epoch that has left it begins anew; then too the digests agree.
            if salt % 8 == 7 {
                assert_eq!(trace.digest().digest, slow_digest(&model), "{salt}");
                checked += 1;
            }
        }
        assert_eq!(checked, 25);
    }
}

#[test]
fn captures_go_down_with_the_transition_that_ended_there_in_order() {
    let mut trace = Trace::default();
    trace.begin(id("e1"), 0);
    // There is no transition before boundary 0.
    trace.note_capture(id("at-0"), 0);
    for step in 0..2 {
        trace.push(fake("e1", step, 1));
    }
    trace.note_capture(id("first"), 2);
    trace.note_capture(id("second"), 2);
    let captures: Vec<Vec<String>> = trace
        .records()
        .map(|record| {
            let captures = record.operational.captures.iter();
            captures
                .map(|it| format!("{}@{}", it.checkpoint_id, it.after_actions))
                .collect()
        })
        .collect();
    assert_eq!(
        captures,
        [vec![], vec!["first@0".to_owned(), "second@0".to_owned()]]
    );
    for capture in 0..100 {
        trace.note_capture(id(&format!("c-{capture}")), 2);
    }
    let last = trace.records().last().unwrap();
    assert_eq!(last.operational.captures.len(), Operational::MAX_CAPTURES);
    assert_eq!(last.operational.captures[63].checkpoint_id, id("c-99"));
}

/// Oracle: the general writer of canonical JSON. Every optional field is there once and missing once, and there are none, one
/// and several of everything.
#[test]
fn a_behaviour_written_straight_down_is_its_canonical_json() {
    let digest = Digest::blake3(b"x");
    let agent = fake("e1", 7, 1).behaviour.agents.remove(0);
    let view = fake("e1", 7, 1).behaviour.observation_boundaries.remove(0);
    let mut compared = 0;
    for some in [false, true] {
        for count in 0..3 {
            let optional = some.then_some(digest);
            let names: Vec<Id> = (0..count).map(|it| id(&format!("n-{it}.x_"))).collect();
            let agents = names.iter().map(|name| AgentBehaviour {
                agent_id: name.clone(),
                remainder: RationalNs::new(1_000_000, 3).unwrap(),
                telemetry_digest: optional,
                outcome_digest: optional,
                pre_step_digest: optional,
                state_digest: optional,
                ..agent.clone()
            });
            let views = names.iter().map(|name| ViewBehaviour {
                view_id: name.clone(),
                frame_digest: optional,
                ..view.clone()
            });
            let audio = names.iter().map(|name| AudioBehaviour {
                stream_id: name.clone(),
                first_sample: U64(u64::MAX),
                sample_frames: u32::MAX,
                samples_digest: digest,
            });
            let behaviour = Behaviour {
                agents: agents.collect(),
                observation_boundaries: views.collect(),
                audio: audio.collect(),
                inspection_digest: optional,
                world_state_digest: optional,
                outcome_ids: names.clone(),
                event_ids: names.clone(),
                episode_request: some.then(|| EpisodeBehaviour {
                    kind: EpisodeRequestKind::Terminal,
                    reason: id("enough"),
                    outcome_digest: digest,
                }),
                published_boundary: some.then_some(U64(8)),
                ..fake("e1", 7, 1).behaviour
            };
            let text = canonical_behaviour(&behaviour);
            let general = String::from_utf8(canonical_json(&behaviour).unwrap()).unwrap();
            assert_eq!(text, general);
            compared += 1;
        }
    }
    assert_eq!(compared, 6);
}
