//! Stimuli from outside: each that was accepted reaches its agent once, at the step that was promised, or is aborted.

use std::cell::RefCell;
use std::rc::Rc;

use futures::executor::block_on;
use futures::future::join;
use wellwritten_session::{
    Admission, AdmissionEvent, Admitted, Coordinator, ErrorCode, Id, Phase, ResetRequest,
    SessionError, SessionEvent, Stimulus, TraceVerdict, compare_traces, rebase_trace,
};

use crate::bench::{Bench, Rig, id, turns_pass};
use crate::forge::refused_record;

fn admit(rig: &Rig, agent: &str, kind: &str, duration_ms: f64) -> Admitted {
    let (agent, kind) = (id(agent), id(kind));
    rig.session.admit(&agent, &kind, duration_ms).unwrap()
}

fn told(bench: &Bench) -> Vec<AdmissionEvent> {
    let events = std::mem::take(&mut *bench.events.borrow_mut());
    events
        .into_iter()
        .filter_map(|event| match event {
            SessionEvent::Admission { admission } => Some(admission),
            _ => None,
        })
        .collect()
}

fn reached(bench: &Bench) -> Vec<(Id, u64, Stimulus)> {
    std::mem::take(&mut *bench.stimuli.borrow_mut())
}

fn as_stimulus(admission: &Admission) -> Stimulus {
    Stimulus {
        id: admission.admission_id.clone(),
        kind_id: admission.kind_id.clone(),
        duration_ms: admission.duration_ms,
    }
}

#[test]
fn it_is_applied_before_the_ticks_of_the_next_step_in_the_order_of_acceptance() {
    let rig = Rig::ready();
    rig.steps(1);
    told(&rig.bench);
    let first = admit(&rig, "fly-b", "spark", 20.0);
    let second = admit(&rig, "fly-b", "light", 0.5);
    assert_eq!(first.admission.admission_id, id("adm-e1-0"));
    assert_eq!((&first.epoch, first.earliest_step), (&id("e1"), 1));
    assert_eq!(
        rig.session.admissions(),
        [first.admission.clone(), second.admission.clone()]
    );
    rig.steps(2);
    assert!(rig.session.admissions().is_empty());
    assert_eq!(
        reached(&rig.bench),
        [&first, &second].map(|one| (id("fly-b"), 1, as_stimulus(&one.admission)))
    );
    let applied = |admitted: &Admitted| AdmissionEvent::Applied {
        admission_id: admitted.admission.admission_id.clone(),
        boundary: 2,
    };
    let accepted = |admitted: &Admitted| AdmissionEvent::Accepted {
        admitted: admitted.clone(),
    };
    assert_eq!(
        told(&rig.bench),
        [
            accepted(&first),
            accepted(&second),
            applied(&first),
            applied(&second)
        ]
    );
}

#[test]
fn whatever_phase_it_comes_in_it_reaches_its_agent_at_the_step_that_was_promised() {
    let rig = Rig::ready();
    let promised: Rc<RefCell<Vec<Admitted>>> = Rc::default();
    {
        let (session, promised) = (Rc::downgrade(&rig.session), promised.clone());
        *rig.bench.watch.borrow_mut() = Some(Box::new(move |event| {
            if let SessionEvent::Phase { .. } = event {
                let session = session.upgrade().unwrap();
                let admitted = session.admit(&id("fly-a"), &id("spark"), 1.0);
                promised.borrow_mut().push(admitted.unwrap());
            }
        }));
    }
    rig.steps(3);
    rig.session.pause().unwrap();
    rig.save("here");
    rig.session.resume().unwrap();
    rig.steps(2);
    *rig.bench.watch.borrow_mut() = None;
    rig.steps(1);
    let promised = promised.borrow();
    assert_eq!(promised.len(), 5 * 5 + 4);
    let due: Vec<(Id, u64, Stimulus)> = promised
        .iter()
        .map(|one| (id("fly-a"), one.earliest_step, as_stimulus(&one.admission)))
        .collect();
    assert_eq!(reached(&rig.bench), due);
}

#[test]
fn a_step_that_runs_is_not_touched() {
    let rig = Rig::ready();
    rig.bench.slow_at("fly-a.prepare", 3);
    let session = &rig.session;
    let (stepped, admitted) = block_on(join(session.step(), async {
        turns_pass(1).await;
        assert_eq!(session.phase(), Phase::Preparing { boundary: 0 });
        session.admit(&id("fly-b"), &id("spark"), 5.0).unwrap()
    }));
    stepped.unwrap();
    assert_eq!(admitted.earliest_step, 1);
    assert!(reached(&rig.bench).is_empty());
    rig.steps(1);
    assert_eq!(
        reached(&rig.bench),
        [(id("fly-b"), 1, as_stimulus(&admitted.admission))]
    );
}

#[test]
fn every_refusal_has_its_type_is_told_and_changes_nothing() {
    let rig = Rig::ready();
    let check = |agent: &str, kind: &str, duration_ms: f64, code: ErrorCode, said: &str| {
        let (status, waiting) = (rig.session.status(), rig.session.admissions());
        told(&rig.bench);
        let (agent, kind) = (id(agent), id(kind));
        let error = rig.session.admit(&agent, &kind, duration_ms).unwrap_err();
        assert_eq!((error.code(), error.is_refusal()), (code, true), "{error}");
        assert_eq!(error.to_string(), said);
        let rejected = AdmissionEvent::Rejected {
            agent_id: agent,
            kind_id: kind,
            reason: said.to_owned(),
        };
        assert_eq!(told(&rig.bench), [rejected]);
        assert_eq!(rig.session.status(), status);
        assert_eq!(rig.session.admissions(), waiting);
    };
    let unknown = ErrorCode::IdentityMismatch;
    check(
        "fly-z",
        "spark",
        1.0,
        unknown,
        "there is no participant fly-z",
    );
    check(
        "world",
        "spark",
        1.0,
        unknown,
        "there is no participant world",
    );
    let said = "fly-a does not support stimuli of kind thunder";
    check("fly-a", "thunder", 1.0, ErrorCode::Unsupported, said);
    for (duration_ms, spelled) in [
        (0.0, "0"),
        (-1.5, "-1.5"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "Infinity"),
    ] {
        let said = format!("a stimulus cannot last {spelled} ms");
        check(
            "fly-a",
            "spark",
            duration_ms,
            ErrorCode::InvalidArgument,
            &said,
        );
    }
    for _ in 0..Coordinator::MAX_ADMISSIONS {
        admit(&rig, "fly-a", "spark", 1.0);
    }
    let said = "64 stimuli wait for fly-a, the limit is 64";
    check("fly-a", "spark", 1.0, ErrorCode::Busy, said);
    // Another agent's queue is its own, and a step makes room again.
    admit(&rig, "fly-b", "spark", 1.0);
    rig.steps(1);
    assert_eq!(reached(&rig.bench).len(), 65);
    admit(&rig, "fly-a", "spark", 1.0);
    rig.fail();
    let said = "admitting a stimulus is not possible while the session is Failed";
    check("fly-a", "spark", 1.0, ErrorCode::InvalidPhase, said);
}

#[test]
fn an_episode_that_is_over_admits_nothing() {
    let rig = Rig::ready();
    rig.bench.terminal_after.set(Some(1));
    rig.steps(1);
    let error = rig
        .session
        .admit(&id("fly-a"), &id("spark"), 1.0)
        .unwrap_err();
    assert!(matches!(error, SessionError::EpisodeOver { .. }), "{error}");
}

#[test]
fn a_fence_aborts_what_waits_and_what_is_in_flight() {
    let rig = Rig::ready();
    let in_flight = admit(&rig, "fly-a", "spark", 1.0);
    rig.bench.slow_at("fly-b.prepare", 3);
    told(&rig.bench);
    let session = &rig.session;
    let (stepped, waiting) = block_on(join(session.step(), async {
        turns_pass(1).await;
        let waiting = session.admit(&id("fly-a"), &id("light"), 2.0).unwrap();
        rig.fail();
        waiting
    }));
    stepped.unwrap_err();
    let aborted = |admitted: &Admitted| AdmissionEvent::Aborted {
        admission_id: admitted.admission.admission_id.clone(),
    };
    assert_eq!(
        told(&rig.bench)[1..],
        [aborted(&in_flight), aborted(&waiting)]
    );
    assert!(rig.session.admissions().is_empty());
}

#[test]
fn what_waited_in_a_checkpoint_is_applied_once_after_the_restore_as_without_one() {
    let run = |interrupted: bool| {
        let rig = Rig::ready();
        rig.steps(1);
        admit(&rig, "fly-a", "spark", 3.0);
        admit(&rig, "fly-b", "light", 0.25);
        admit(&rig, "fly-a", "light", 4.0);
        if interrupted {
            rig.save("here");
            rig.steps(2);
            admit(&rig, "fly-b", "spark", 9.0);
            rig.fail();
            reached(&rig.bench);
            told(&rig.bench);
            rig.restore();
            let accepted = told(&rig.bench);
            assert_eq!(accepted.len(), 3);
            for (event, waiting) in accepted.iter().zip(rig.session.admissions()) {
                let AdmissionEvent::Accepted { admitted } = event else {
                    panic!("{event:?}");
                };
                assert_eq!((&admitted.epoch, admitted.earliest_step), (&id("e2"), 1));
                assert_eq!(admitted.admission, waiting);
            }
        }
        rig.steps(3);
        rig
    };
    let (whole, resumed) = (run(false), run(true));
    let expected = reached(&whole.bench);
    assert_eq!(expected.len(), 3);
    assert_eq!(reached(&resumed.bench), expected);
    let ids = resumed.session.rebase_ids(&id("e1"));
    let (found, _) = resumed.session.trace();
    let rebased = rebase_trace(&found, &[id("e2")], &id("e1"), &ids).unwrap();
    let (trace, _) = whole.session.trace();
    assert_eq!(
        compare_traces(&trace, &rebased).verdict,
        TraceVerdict::Equal
    );
    // The canary: without the stimuli the trace is another one.
    let without = Rig::ready();
    without.steps(4);
    let (without, _) = without.session.trace();
    assert_eq!(
        compare_traces(&trace, &without).verdict,
        TraceVerdict::Different
    );
}

#[test]
fn a_record_in_which_something_waits_that_was_never_accepted_is_refused() {
    type Forge = fn(&mut serde_json::Value);
    let forgeries: [(Forge, &str); 6] = [
        (
            |it| it[0]["agentId"] = "fly-z".into(),
            "for nobody there is: fly-z",
        ),
        (
            |it| it[1]["kindId"] = "thunder".into(),
            "stimulus kind thunder is not supported",
        ),
        (|it| it[0]["durationMs"] = 0.0.into(), "lasts 0 ms"),
        (
            |it| it[1]["admissionId"] = it[0]["admissionId"].clone(),
            "adm-e1-0 waits twice",
        ),
        (|it| it[0]["extra"] = 1.into(), "extra"),
        (
            |it| {
                let one = it[0].clone();
                let many = (0..65).map(|index| {
                    let mut one = one.clone();
                    one["admissionId"] = format!("adm-e1-{index}").into();
                    one
                });
                *it = many.collect();
            },
            "65 stimuli, the limit is 64",
        ),
    ];
    for (forgery, said) in forgeries {
        let rig = Rig::ready();
        admit(&rig, "fly-a", "spark", 1.0);
        admit(&rig, "fly-b", "spark", 1.0);
        let error = refused_record(&rig, |record| forgery(&mut record["admissions"]));
        assert!(error.to_string().contains(said), "{error}");
    }
}

/// A generator of the same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// The model: what waits, what waited when it was saved, and what must have been told and felt since.
#[derive(Default)]
struct Model {
    boundary: u64,
    episode: u64,
    waiting: Vec<Admission>,
    saved: Option<(u64, u64, Vec<Admission>)>,
    ends: Vec<(Id, bool)>,
    felt: Vec<(Id, u64, Stimulus)>,
}

impl Model {
    fn abort(&mut self) {
        let aborted = self.waiting.drain(..);
        self.ends
            .extend(aborted.map(|one| (one.admission_id, false)));
    }

    fn step(&mut self) {
        for agent in ["fly-a", "fly-b"] {
            let of_agent = self.waiting.iter().filter(|one| one.agent_id == id(agent));
            self.felt
                .extend(of_agent.map(|one| (id(agent), self.boundary, as_stimulus(one))));
        }
        let applied = self.waiting.drain(..);
        self.ends
            .extend(applied.map(|one| (one.admission_id, true)));
        self.boundary += 1;
    }
}

#[test]
fn any_sequence_of_admissions_steps_restores_and_resets_ends_as_the_model_says() {
    let runs = if std::env::var_os("WELLWRITTEN_LONG").is_some() {
        400
    } else {
        30
    };
    for seed in 1..=runs {
        // Replay one seed by putting it in place of the range above.
        let mut dice = Dice(u64::wrapping_mul(seed, 0x9E37_79B9_7F4A_7C15));
        let rig = Rig::ready();
        let mut model = Model::default();
        for turn in 0..40 {
            match dice.roll(10) {
                0..=3 => {
                    let agent = ["fly-a", "fly-b"][usize::from(dice.roll(2) == 0)];
                    let admitted = admit(&rig, agent, "spark", 1.0);
                    assert_eq!(admitted.earliest_step, model.boundary, "seed {seed}");
                    model.waiting.push(admitted.admission);
                }
                4..=6 => {
                    rig.steps(1);
                    model.step();
                }
                7 => {
                    rig.save(&format!("c{seed}-{turn}"));
                    model.saved = Some((model.episode, model.boundary, model.waiting.clone()));
                }
                8 if model
                    .saved
                    .as_ref()
                    .is_some_and(|(episode, ..)| *episode == model.episode) =>
                {
                    rig.fail();
                    model.abort();
                    rig.restore();
                    let (_, boundary, waiting) = model.saved.clone().unwrap();
                    (model.boundary, model.waiting) = (boundary, waiting);
                }
                9 if dice.roll(3) == 0 => {
                    rig.session.pause().unwrap();
                    model.abort();
                    model.episode += 1;
                    model.boundary = 0;
                    let request = ResetRequest {
                        episode_id: id(&format!("ep-{turn}")),
                        epoch: None,
                    };
                    block_on(rig.session.reset(request)).unwrap();
                }
                _ => {}
            }
            assert_eq!(rig.session.admissions(), model.waiting, "seed {seed}");
            assert_eq!(
                reached(&rig.bench),
                std::mem::take(&mut model.felt),
                "seed {seed}"
            );
            let ends: Vec<(Id, bool)> = told(&rig.bench)
                .into_iter()
                .filter_map(|event| match event {
                    AdmissionEvent::Applied { admission_id, .. } => Some((admission_id, true)),
                    AdmissionEvent::Aborted { admission_id } => Some((admission_id, false)),
                    _ => None,
                })
                .collect();
            assert_eq!(ends, std::mem::take(&mut model.ends), "seed {seed}");
        }
    }
}
