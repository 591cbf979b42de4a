//! Group restore: all or nobody, from payloads that are right in every bit.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use futures::executor::block_on;
use wellwritten_envelope::{Manifest, PayloadRow, decode};
use wellwritten_session::{
    Call, CheckpointRequest, Coordinator, Digest, DispatchOrder, ErrorCode, Id, Phase, Request,
    RequestId, ResetRequest, RestoreRequest, SaveKind, Scope, SessionError, SessionEvent,
    StatePayload, Transport, U64,
};
use wellwritten_store::testing::SimulatedMedium;
use wellwritten_store::{PayloadBytes, SaveRequest, Store};

use crate::rig::{Bench, Fault, Rig, RigOptions, id};

/// A session that is failed, with a checkpoint `good` at boundary 2.
fn failed() -> Rig {
    let rig = Rig::ready();
    rig.steps(2);
    rig.save("good");
    rig.steps(1);
    rig.fail();
    rig
}

fn named(checkpoint_id: &str) -> RestoreRequest {
    RestoreRequest {
        checkpoint_id: Some(id(checkpoint_id)),
        ..RestoreRequest::default()
    }
}

fn tainted(session: &Coordinator) -> Vec<String> {
    session
        .status()
        .tainted
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn restores_and_steps(rig: &Rig, checkpoint_id: &str) {
    let report = block_on(rig.session.restore(named(checkpoint_id))).unwrap();
    assert_eq!(rig.session.phase(), Phase::Paused { boundary: 2 });
    assert_eq!(report.boundary, 2);
    rig.session.resume().unwrap();
    rig.steps(2);
}

fn commit(store: &mut Store<SimulatedMedium>, manifest: &Manifest, payloads: &[(Id, Vec<u8>)]) {
    let owned = |bytes: &Vec<u8>| -> PayloadBytes { Arc::new(bytes.clone()) };
    let request = SaveRequest {
        manifest: manifest.clone(),
        payloads: payloads
            .iter()
            .map(|(name, bytes)| (name.clone(), owned(bytes)))
            .collect(),
    };
    block_on(store.save(&request)).unwrap();
}

/// Commits `bad`: a copy of `good` under its own name, every frame and digest recomputed. `body` changes what is inside
/// one payload's frame, `frame` the finished frame of one payload.
fn commit_copy(
    rig: &Rig,
    payload: &str,
    body: &dyn Fn(&[u8]) -> Vec<u8>,
    frame: &dyn Fn(&mut Vec<u8>),
) {
    let mut store = block_on(rig.store.lock());
    let bytes = block_on(store.read(&id("good"))).unwrap();
    let envelope = decode(&bytes).unwrap();
    let mut payloads = Vec::new();
    for view in &envelope.payloads {
        let good = StatePayload::decode(view.bytes).unwrap();
        let mut header = good.header.clone();
        header.checkpoint_id = id("bad");
        let is_it = view.name.as_str() == payload;
        let content = if is_it {
            body(good.body)
        } else {
            good.body.to_vec()
        };
        let mut framed = StatePayload::encode(&header, &content).unwrap();
        if is_it {
            frame(&mut framed);
        }
        payloads.push((view.name.clone(), framed));
    }
    let manifest = Manifest {
        checkpoint_id: id("bad"),
        payloads: Vec::<PayloadRow>::new(),
        ..envelope.manifest.clone()
    };
    commit(&mut store, &manifest, &payloads);
}

fn commit_reframed(rig: &Rig, payload: &str, body: impl Fn(&[u8]) -> Vec<u8>) {
    commit_copy(rig, payload, &body, &|_| {});
}

const PAYLOADS: [&str; 8] = [
    "world",
    "agent-fly-a",
    "agent-fly-b",
    "task-ledger",
    "prior-inspection",
    "executor-fly-a",
    "executor-fly-b",
    "coordinator-admission",
];

#[test]
fn a_reframed_copy_without_a_change_restores() {
    // The canary of the two tests below: what they refuse is the change, not the copying.
    let rig = failed();
    commit_reframed(&rig, "none", |_| unreachable!());
    restores_and_steps(&rig, "bad");
}

#[test]
fn one_flipped_bit_in_any_payload_is_refused_by_its_consumer() {
    for payload in PAYLOADS {
        for quarter in 0..4 {
            let rig = failed();
            commit_copy(&rig, payload, &|body| body.to_vec(), &|framed| {
                let position = framed.len() * quarter / 4;
                framed[position] ^= 4;
            });
            refused_everywhere(&rig, payload);
        }
    }
}

#[test]
fn a_changed_body_under_right_digests_is_refused_by_its_owner() {
    for payload in PAYLOADS {
        let rig = failed();
        commit_reframed(&rig, payload, |body| body[..body.len() - 1].to_vec());
        refused_everywhere(&rig, payload);
    }
    // A ledger that reads well and counts another world.
    let rig = failed();
    commit_reframed(&rig, "task-ledger", |body| {
        let text = String::from_utf8(body.to_vec()).unwrap();
        text.replace("\"transitions\":2", "\"transitions\":3")
            .into_bytes()
    });
    refused_everywhere(&rig, "task-ledger");
    // The reference's panic: rows of another type.
    let rig = failed();
    commit_reframed(&rig, "coordinator-admission", |body| {
        let mut record: serde_json::Value = serde_json::from_slice(body).unwrap();
        record["agents"] = serde_json::json!({"fly-a": 1});
        serde_json::to_vec(&record).unwrap()
    });
    refused_everywhere(&rig, "coordinator-admission");
}

/// Refused, fence closed, nobody runs the proposed epoch; tainted are exactly those that staged; the intact
/// checkpoint then restores and steps.
fn refused_everywhere(rig: &Rig, payload: &str) {
    let error = block_on(rig.session.restore(named("bad"))).unwrap_err();
    assert_eq!(rig.session.phase(), Phase::Failed, "{payload}: {error}");
    let expected: &[&str] = match payload {
        // The agents are asked at once; whoever refuses says that nothing changed.
        "agent-fly-a" => &["world", "fly-b"],
        "agent-fly-b" => &["world", "fly-a"],
        _ => &[],
    };
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(tainted(&rig.session), expected, "{payload}: {error}");
    let blamed = match (payload, error.participant()) {
        ("world", Some(participant)) => participant.as_str() == "world",
        (_, Some(participant)) => payload.strip_prefix("agent-") == Some(participant.as_str()),
        (_, None) => error.to_string().contains(payload),
    };
    assert!(blamed, "{payload}: {error}");
    for participant in ["world", "fly-a", "fly-b"] {
        assert_ne!(
            epoch_of(rig, participant).as_deref(),
            Some("e2"),
            "{payload}: {participant}"
        );
    }
    block_on(rig.session.replace_participants()).unwrap();
    restores_and_steps(rig, "good");
}

/// The epoch a participant says it runs in.
fn epoch_of(rig: &Rig, participant: &str) -> Option<String> {
    let request = Request {
        request_id: RequestId(0),
        scope: None,
        call: Call::Status {},
    };
    match block_on(rig.bench.route(participant).call(&request))
        .unwrap()
        .outcome
        .unwrap()
    {
        wellwritten_session::Answer::Status(status) => {
            status.current_scope.map(|scope| scope.epoch.to_string())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_refuses_is_blamed_and_exactly_those_that_staged_are_tainted_in_every_order() {
    use DispatchOrder::{Concurrent, Reversed, Sequential};
    let cases: [(DispatchOrder, &str, &[&str]); 9] = [
        (Concurrent, "world", &[]),
        (Concurrent, "fly-a", &["fly-b", "world"]),
        (Concurrent, "fly-b", &["fly-a", "world"]),
        (Sequential, "world", &[]),
        (Sequential, "fly-a", &["world"]),
        (Sequential, "fly-b", &["fly-a", "world"]),
        (Reversed, "world", &[]),
        (Reversed, "fly-a", &["fly-b", "world"]),
        (Reversed, "fly-b", &["world"]),
    ];
    for (order, participant, expected) in cases {
        let rig = failed();
        rig.session.set_dispatch(order);
        rig.bench.arm(
            &format!("{participant}.stage"),
            Fault::Refuse(ErrorCode::IncompatibleState),
        );
        let error = block_on(rig.session.restore(named("good"))).unwrap_err();
        assert_eq!(error.participant(), Some(&id(participant)), "{order:?}");
        assert_eq!(tainted(&rig.session), expected, "{order:?} {participant}");
        assert!(
            !rig.bench
                .logged()
                .iter()
                .any(|point| point.contains("activate")),
            "nobody activates"
        );
        if !expected.is_empty() {
            let error = block_on(rig.session.restore(named("good"))).unwrap_err();
            assert!(matches!(error, SessionError::Tainted { .. }), "{error}");
        }
        block_on(rig.session.replace_participants()).unwrap();
        assert!(tainted(&rig.session).is_empty());
        restores_and_steps(&rig, "good");
    }
}

#[test]
fn of_two_that_fail_the_first_is_blamed_and_both_are_judged_for_themselves() {
    let rig = failed();
    rig.bench.arm("fly-a.stage", Fault::Delay(3));
    rig.bench.arm("fly-a.stage", Fault::Break);
    rig.bench
        .arm("fly-b.stage", Fault::Refuse(ErrorCode::IncompatibleState));
    let error = block_on(rig.session.restore(named("good"))).unwrap_err();
    // fly-b refused long before, and nobody knows what fly-a holds.
    assert_eq!(error.participant(), Some(&id("fly-a")));
    assert_eq!(tainted(&rig.session), ["fly-a", "world"]);
}

#[test]
fn a_lost_staging_reply_taints_whoever_may_have_staged() {
    let rig = failed();
    rig.bench.arm("fly-a.stage", Fault::Die);
    let error = block_on(rig.session.restore(named("good"))).unwrap_err();
    assert_eq!(error.participant(), Some(&id("fly-a")));
    assert_eq!(tainted(&rig.session), ["fly-a", "fly-b", "world"]);
    let rig = failed();
    rig.bench.arm("world.stage", Fault::Die);
    block_on(rig.session.restore(named("good"))).unwrap_err();
    assert_eq!(tainted(&rig.session), ["world"], "no agent was asked");
}

#[test]
fn a_refused_activation_is_blamed_and_taints_the_group() {
    for participant in ["world", "fly-a", "fly-b"] {
        let rig = failed();
        rig.bench.arm(
            &format!("{participant}.activate"),
            Fault::Refuse(ErrorCode::BackendFailure),
        );
        let error = block_on(rig.session.restore(named("good"))).unwrap_err();
        assert_eq!(error.participant(), Some(&id(participant)));
        assert!(rig.session.status().fenced);
        assert_eq!(tainted(&rig.session), ["fly-a", "fly-b", "world"]);
        let error = block_on(rig.session.restore(named("good"))).unwrap_err();
        assert!(
            error.to_string().contains("fly-a") && error.to_string().contains("world"),
            "{error}"
        );
        block_on(rig.session.replace_participants()).unwrap();
        restores_and_steps(&rig, "good");
    }
}

#[test]
fn a_participant_that_is_gone_is_named_before_anyone_stages() {
    let rig = failed();
    rig.session.kill_participant(&id("fly-b")).unwrap();
    rig.bench.logged();
    let error = block_on(rig.session.restore(named("good"))).unwrap_err();
    assert_eq!(
        (error.code(), error.participant()),
        (ErrorCode::InvalidPhase, Some(&id("fly-b")))
    );
    assert!(
        error.to_string().contains("`replaceParticipants()`"),
        "{error}"
    );
    assert!(error.is_refusal() && tainted(&rig.session).is_empty());
    assert!(rig.bench.logged().is_empty(), "nobody was asked to stage");
    block_on(rig.session.replace_participants()).unwrap();
    restores_and_steps(&rig, "good");
}

#[test]
fn a_world_that_comes_back_as_another_one_never_runs() {
    for lie in [
        "restoredInspection",
        "restoredBoundary",
        "restoredTime",
        "restoredView",
    ] {
        let rig = failed();
        lie.clone_into(&mut rig.bench.lie.borrow_mut());
        let error = block_on(rig.session.restore(named("good"))).unwrap_err();
        assert_eq!(error.participant(), Some(&id("world")), "{lie}: {error}");
        assert_eq!(tainted(&rig.session), ["fly-a", "fly-b", "world"], "{lie}");
        rig.bench.lie.borrow_mut().clear();
        block_on(rig.session.replace_participants()).unwrap();
        restores_and_steps(&rig, "good");
    }
}

#[test]
fn the_coordinators_record_must_say_what_the_manifest_says() {
    type Change = fn(&mut serde_json::Value);
    let changes: [(&str, Change); 7] = [
        ("committedStep", |record| {
            record["committedStep"] = "3".into();
        }),
        ("worldTime", |record| {
            record["worldTime"]["numerator"] = "1".into();
        }),
        ("agents[fly-a].brainTicks", |record| {
            record["agents"][0]["brainTicks"] = "1".into();
        }),
        ("agents[fly-b].remainder", |record| {
            record["agents"][1]["remainder"] =
                serde_json::json!({"numerator": "0", "denominator": "1"});
        }),
        ("agents[fly-a].seed", |record| {
            record["agents"][0]["seed"] = 8.into();
        }),
        ("agents[fly-a].portId", |record| {
            record["agents"][0]["portId"] = "p2".into();
        }),
        ("agents", |record| {
            record["agents"].as_array_mut().unwrap().pop();
        }),
    ];
    for (field, change) in changes {
        let rig = failed();
        commit_reframed(&rig, "coordinator-admission", |body| {
            let mut record: serde_json::Value = serde_json::from_slice(body).unwrap();
            change(&mut record);
            serde_json::to_vec(&record).unwrap()
        });
        let error = block_on(rig.session.restore(named("bad"))).unwrap_err();
        assert!(
            error.to_string().contains(&format!("its {field} is")),
            "{field}: {error}"
        );
        assert!(tainted(&rig.session).is_empty());
        restores_and_steps(&rig, "good");
    }
}

#[test]
fn the_same_participants_are_restored_where_they_are_quiescent() {
    let rig = failed();
    let before = rig.session.status().participants;
    restores_and_steps(&rig, "good");
    assert_eq!(rig.session.status().participants, before);
}

#[test]
fn another_parser_is_refused_naming_it_and_both_digests() {
    let bench = Rc::new(Bench::default());
    let rig = Rig::ready_with(RigOptions::default(), bench.clone());
    rig.save("good");
    rig.fail();
    bench.other_parser.set(true);
    block_on(rig.session.replace_participants()).unwrap();
    bench.logged();
    for request in [named("good"), RestoreRequest::default()] {
        let error = block_on(rig.session.restore(request)).unwrap_err();
        let (ours, theirs) = (
            Digest::blake3(b"other parser").to_string(),
            Digest::blake3(b"parser").to_string(),
        );
        let text = error.to_string();
        assert!(
            text.contains("parser") && text.contains(&ours) && text.contains(&theirs),
            "{text}"
        );
    }
    assert!(bench.logged().is_empty(), "nobody was asked to stage");
    assert!(tainted(&rig.session).is_empty());
}

#[test]
fn every_other_compatibility_field_is_named() {
    for (change, field) in [
        ("backend", "backend"),
        ("content", "content"),
        ("patch", "patch"),
        ("format", "state-format"),
    ] {
        let bench = Rc::new(Bench::default());
        let rig = Rig::ready_with(RigOptions::default(), bench.clone());
        rig.save("good");
        rig.fail();
        *bench.other_field.borrow_mut() = change.to_owned();
        block_on(rig.session.replace_participants()).unwrap();
        let error = block_on(rig.session.restore(named("good"))).unwrap_err();
        match &error {
            SessionError::Incompatible { difference, others } => {
                assert_eq!(difference.field.name(), field);
                // What an agent is does not depend on it, what the whole is does.
                assert!(others.is_empty(), "{others:?}");
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_coordinator_that_starts_anew_over_the_store_restores_and_goes_on() {
    let rig = failed();
    let Rig {
        bench,
        medium,
        store,
        session,
        ..
    } = rig;
    drop(session);
    drop(store);
    let rig = Rig::starting(RigOptions::default(), bench, medium);
    let report = block_on(rig.session.restore(RestoreRequest::default())).unwrap();
    assert_eq!(
        (
            report.source_epoch,
            report.to_epoch,
            report.boundary,
            report.abandoned
        ),
        (id("e1"), id("e2"), 2, None)
    );
    assert_eq!(rig.session.phase(), Phase::Paused { boundary: 2 });
    rig.session.resume().unwrap();
    rig.steps(2);
    let (trace, _) = rig.session.trace();
    assert_eq!(
        trace
            .iter()
            .map(|record| record.behaviour.scope.step.0)
            .collect::<Vec<_>>(),
        [2, 3]
    );
    let restored = rig
        .bench
        .events
        .borrow()
        .iter()
        .filter(|event| matches!(event, SessionEvent::Restored { .. }))
        .count();
    assert_eq!(restored, 1);
}

#[test]
fn a_damaged_newest_generation_is_passed_over_only_when_asked() {
    let rig = Rig::ready();
    rig.steps(2);
    rig.save("good");
    rig.steps(1);
    rig.save("newest");
    rig.fail();
    let file = block_on(rig.store.lock())
        .find(&id("newest"))
        .unwrap()
        .file
        .clone();
    rig.medium.tamper(&file, Some(b"rubbish".to_vec()));
    let error = block_on(rig.session.restore(RestoreRequest::default())).unwrap_err();
    assert!(
        error.to_string().contains("newest") && error.to_string().contains("good"),
        "{error}"
    );
    let request = RestoreRequest {
        fallback: true,
        ..RestoreRequest::default()
    };
    let report = block_on(rig.session.restore(request)).unwrap();
    assert_eq!((report.checkpoint_id, report.boundary), (id("good"), 2));
    assert_eq!(report.skipped.len(), 1);
    assert_eq!(report.skipped[0].checkpoint_id, id("newest"));
}

#[test]
fn an_old_epoch_is_stale_everywhere() {
    let rig = failed();
    for epoch in ["e1", "e0"] {
        let request = RestoreRequest {
            epoch: Some(id(epoch)),
            ..named("good")
        };
        let error = block_on(rig.session.restore(request)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::StaleEpoch, "{epoch}");
    }
    restores_and_steps(&rig, "good");
    let request = Request {
        request_id: RequestId(9999),
        scope: Some(Scope {
            session_id: id("demo"),
            epoch: id("e1"),
            step: U64(4),
        }),
        call: Call::Verify {},
    };
    let reply = block_on(rig.bench.route("fly-a").call(&request)).unwrap();
    assert_eq!(reply.outcome.unwrap_err().code, ErrorCode::StaleEpoch);
}

/// A copy of a good checkpoint that is of something else in many ways at once.
#[test]
fn everything_that_differs_is_named_the_first_as_the_field() {
    let rig = failed();
    let mut store = block_on(rig.store.lock());
    let bytes = block_on(store.read(&id("good"))).unwrap();
    let envelope = decode(&bytes).unwrap();
    let payloads: Vec<(Id, Vec<u8>)> = envelope
        .payloads
        .iter()
        .map(|view| (view.name.clone(), view.bytes.to_vec()))
        .collect();
    let mut manifest = Manifest {
        checkpoint_id: id("other"),
        payloads: Vec::new(),
        ..envelope.manifest.clone()
    };
    manifest.scheduler_id = id("lockstep-v2");
    manifest.agents[0].seed += 1;
    manifest.agents[1].agent_id = id("fly-c");
    manifest.port_map.remove(1);
    commit(&mut store, &manifest, &payloads);
    drop(store);
    rig.bench.logged();
    let error = block_on(rig.session.restore(named("other"))).unwrap_err();
    let text = error.to_string();
    let SessionError::Identity { field, others, .. } = error else {
        panic!("{error}");
    };
    let fields: Vec<&str> = std::iter::once(field.as_str())
        .chain(others.iter().map(|other| other.field.as_str()))
        .collect();
    assert_eq!(
        fields,
        [
            "schedulerId",
            "portMap[p2]",
            "agents[fly-c]",
            "agents[fly-b]",
            "agents[fly-a].seed"
        ]
    );
    let absent = &others[2];
    assert_eq!(
        (absent.stored.as_str(), absent.running.as_str()),
        ("absent", "present")
    );
    assert!(
        text.contains("lockstep-v2") && text.contains("its agents[fly-c] is present"),
        "{text}"
    );
    assert!(rig.bench.logged().is_empty(), "nobody was asked to stage");
    restores_and_steps(&rig, "good");
}

/// Several compatibility fields at once: the first is the error's own.
#[test]
fn every_compatibility_field_that_differs_is_listed() {
    let bench = Rc::new(Bench::default());
    let rig = Rig::ready_with(RigOptions::default(), bench.clone());
    rig.save("good");
    rig.fail();
    *bench.other_field.borrow_mut() = "content".to_owned();
    bench.other_parser.set(true);
    block_on(rig.session.replace_participants()).unwrap();
    match block_on(rig.session.restore(named("good"))).unwrap_err() {
        SessionError::Incompatible { difference, others } => {
            assert_eq!(difference.field.name(), "content");
            let others: Vec<&str> = others.iter().map(|other| other.field.as_str()).collect();
            assert_eq!(others, ["compatibility.parser"]);
        }
        other => panic!("{other}"),
    }
}

/// An episode that fails before its first checkpoint: said, and the way back is to an earlier one.
#[test]
fn an_episode_without_a_checkpoint_can_be_left_for_an_earlier_one() {
    let rig = Rig::ready();
    rig.steps(2);
    rig.save("good");
    rig.session.pause().unwrap();
    let reset = ResetRequest {
        episode_id: id("ep2"),
        epoch: None,
    };
    block_on(rig.session.reset(reset)).unwrap();
    rig.steps(1);
    rig.fail();
    let before = rig.session.status();
    let error = block_on(rig.session.restore(RestoreRequest::default())).unwrap_err();
    assert!(
        matches!(
            &error,
            SessionError::EpisodeNotSaved { episode, newest, newest_episode }
                if (episode, newest, newest_episode) == (&id("ep2"), &id("good"), &id("ep1"))
        ),
        "{error}"
    );
    assert_eq!(rig.session.status(), before);
    let report = block_on(rig.session.restore(named("good"))).unwrap();
    // Boundaries of another episode are others: none of these was abandoned by going back.
    assert_eq!((report.boundary, report.abandoned), (2, None));
    assert_eq!(rig.session.status().episode_id, id("ep1"));
    rig.session.resume().unwrap();
    rig.steps(1);
    rig.save("on");
    // Both episodes' names stay used.
    rig.session.pause().unwrap();
    for episode in ["ep1", "ep2"] {
        let reset = ResetRequest {
            episode_id: id(episode),
            epoch: None,
        };
        let error = block_on(rig.session.reset(reset)).unwrap_err();
        assert!(matches!(error, SessionError::EpisodeUsed { .. }), "{error}");
    }
}

/// What an abandoned epoch still had on its way is in the store before the restore, and nothing of it comes after.
#[test]
fn what_was_on_its_way_when_the_epoch_failed_is_never_taken_for_what_follows() {
    let rig = Rig::ready();
    rig.steps(1);
    rig.save("good");
    let gate = rig.store.gate.try_lock().unwrap();
    for name in ["late", "later"] {
        rig.steps(1);
        let request = CheckpointRequest {
            checkpoint_id: Some(id(name)),
            kind: SaveKind::Durable,
        };
        block_on(rig.session.capture(request)).unwrap();
    }
    rig.fail();
    let mut restoring = Box::pin(rig.session.restore(named("good")));
    let mut context = Context::from_waker(Waker::noop());
    assert!(restoring.as_mut().poll(&mut context).is_pending());
    drop(gate);
    block_on(restoring).unwrap();
    let store = block_on(rig.store.lock());
    assert_eq!(store.latest().unwrap().checkpoint_id, id("good"));
    for name in ["late", "later"] {
        assert!(store.is_abandoned(store.find(&id(name)).unwrap()), "{name}");
    }
}
