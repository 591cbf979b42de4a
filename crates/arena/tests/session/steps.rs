//! Oracle: the uninterrupted run. Whatever is done to a session (reversed dispatch, capture and restore, a
//! broken field launch that is written again), its trace and every byte of its state must equal those of a
//! run to which nothing was done.

use crate::lockstep::{Session, begin, id};
use futures::executor::block_on;
use wellwritten_arena::{
    ArenaConfig, EpisodeEnd, FIELD_LABELS, FLIES_LABEL, FaultName, FaultSpec, Inspection,
    KernelName, VIEW_LABEL,
};
use wellwritten_device::GuardedDevice;
use wellwritten_session::{Agent, Environment, ErrorCode, MutationCertainty, PortBinding};

const STEPS: usize = 12;

async fn run(steps: usize, reversed: bool) -> Session {
    let mut session = begin(ArenaConfig::default()).await;
    for _ in 0..steps {
        session.step(reversed).await.unwrap();
    }
    session
}

fn break_kernel(session: &Session, kernel: KernelName) {
    session.faults.arm(FaultSpec {
        name: FaultName::InvalidShader,
        kernel,
        once: true,
    });
}

#[test]
fn the_same_seed_gives_the_same_bytes_in_any_order_and_another_does_not() {
    block_on(async {
        let mut first = run(STEPS, false).await;
        let mut second = run(STEPS, true).await;
        assert_eq!(first.trace, second.trace);
        assert_eq!(first.digest().await, second.digest().await);
        let ticks: Vec<&str> = first
            .trace
            .iter()
            .map(|line| line.split(' ').nth(1).unwrap())
            .collect();
        assert_eq!(ticks[..6], ["16", "17", "17", "16", "17", "17"]);
        println!("digest after {STEPS} steps: {}", first.digest().await);

        let mut other = begin(ArenaConfig {
            master_seed: 8,
            ..ArenaConfig::default()
        })
        .await;
        for _ in 0..STEPS {
            other.step(false).await.unwrap();
        }
        assert_ne!(
            first.trace, other.trace,
            "canary: the comparison sees another seed"
        );
    });
}

#[test]
fn a_restored_session_goes_on_as_if_nothing_had_happened() {
    block_on(async {
        let mut whole = run(STEPS, false).await;
        for at in [0, 1, 6] {
            let mut session = run(at, false).await;
            let payloads = session.capture().await.unwrap();
            let record = session.record();
            let view = session.observation.sensory_views[0].pixels.digest();
            assert_eq!(
                payloads,
                session.capture().await.unwrap(),
                "a capture changes nothing"
            );
            // The abandoned future must leave no trace in what is restored.
            session.step(false).await.unwrap();
            session.trace.truncate(at);
            session.restore(&payloads, &record).await;
            assert_eq!(session.observation.sensory_views[0].pixels.digest(), view);
            assert_eq!(
                payloads,
                session.capture().await.unwrap(),
                "a restore moves nothing"
            );
            for _ in at..STEPS {
                session.step(false).await.unwrap();
            }
            assert_eq!(session.trace, whole.trace, "restored at {at}");
            assert_eq!(
                session.digest().await,
                whole.digest().await,
                "restored at {at}"
            );
        }
    });
}

#[test]
fn a_broken_field_launch_is_found_by_the_next_step_and_can_be_written_again() {
    block_on(async {
        let mut whole = run(STEPS, false).await;
        let mut session = run(5, false).await;
        break_kernel(&session, KernelName::Field);
        session.step(false).await.unwrap();
        assert_eq!(session.trace, whole.trace[..6], "the boundary stands");

        // Boundary 6 is even, so its field is the second buffer.
        let broken = FIELD_LABELS[1];
        let refused = session.step(false).await.unwrap_err();
        assert_eq!(
            (refused.code, refused.mutation),
            (ErrorCode::BufferInvalid, MutationCertainty::None)
        );
        let report = refused.detail.clone().unwrap().to_string();
        for part in ["shader `field` failed to compile", broken] {
            assert!(
                refused.message.contains(part) || report.contains(part),
                "{part} in {refused} {report}"
            );
        }
        let refused = session.capture().await.unwrap_err();
        assert_eq!(
            (refused.code, refused.mutation),
            (ErrorCode::BufferInvalid, MutationCertainty::None)
        );

        let device = session.arena.device().clone();
        let mut untouched = 0;
        for buffer in device.buffers() {
            let binding = device.binding(buffer.buffer_id).unwrap();
            let reads = device.read(&binding).await.is_ok();
            assert_eq!(reads, buffer.label != broken, "{}", buffer.label);
            untouched += usize::from(reads);
        }
        assert_eq!(
            untouched,
            4 + 2 * 6,
            "every other buffer of the world and of two flies"
        );

        for label in [FIELD_LABELS[0], FLIES_LABEL, "world/nothing"] {
            let refused = session.world.rewrite(label).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::Unsupported, "{label}");
        }
        session.world.rewrite(broken).await.unwrap();
        session.world.rewrite(VIEW_LABEL).await.unwrap();
        for _ in 6..STEPS {
            session.step(false).await.unwrap();
        }
        assert_eq!(session.trace, whole.trace);
        assert_eq!(session.digest().await, whole.digest().await);
    });
}

#[test]
fn a_broken_view_or_agent_launch_fails_the_step_and_names_the_root() {
    block_on(async {
        for (kernel, spoiled) in [
            (KernelName::View, "world/view"),
            (KernelName::Agent, "fly-a/readout"),
        ] {
            let mut session = run(2, false).await;
            break_kernel(&session, kernel);
            let failed = session.step(false).await.unwrap_err();
            assert_eq!(
                (failed.code, failed.mutation),
                (ErrorCode::BackendFailure, MutationCertainty::Unknown)
            );
            let root = format!("shader `{}` failed to compile", kernel.as_str());
            let report = failed.detail.unwrap().to_string();
            assert!(
                report.contains(&root) && report.contains(spoiled),
                "{report}"
            );
            assert_eq!(session.trace.len(), 2);
        }
    });
}

/// A device that was lost and recovered holds nothing; the checkpoint brings every byte back.
#[test]
fn a_checkpoint_outlives_the_device() {
    block_on(async {
        let mut whole = run(STEPS, false).await;
        let mut session = run(4, false).await;
        let payloads = session.capture().await.unwrap();
        let record = session.record();
        session.arena.device().lose();
        session.step(false).await.unwrap_err();
        session.arena.device().recover().await.unwrap();
        session.restore(&payloads, &record).await;
        for _ in 4..STEPS {
            session.step(false).await.unwrap();
        }
        assert_eq!(session.trace, whole.trace);
        assert_eq!(session.digest().await, whole.digest().await);
    });
}

/// Only the participant a state was taken from takes it, and only whole.
#[test]
fn other_and_damaged_states_are_refused() {
    block_on(async {
        let mut session = run(3, false).await;
        let payloads = session.capture().await.unwrap();
        let before = session.digest().await;
        let mut other = begin(ArenaConfig {
            master_seed: 8,
            ..ArenaConfig::default()
        })
        .await;
        let mut refusals = Vec::new();
        refusals.push(other.world.stage_restore(&payloads[0]).await.map(drop));
        refusals.push(other.flies[0].stage_restore(&payloads[1]).await.map(drop));
        refusals.push(session.flies[1].stage_restore(&payloads[1]).await.map(drop));
        refusals.push(session.world.stage_restore(&payloads[1]).await.map(drop));
        for payload in &payloads[..2] {
            for at in [
                0,
                9,
                13,
                30,
                60,
                90,
                payload.len() / 2,
                payload.len() - 33,
                payload.len() - 1,
            ] {
                let mut damaged = payload.clone();
                damaged[at] ^= 0x10;
                for bytes in [&damaged[..], &payload[..at]] {
                    refusals.push(session.world.stage_restore(bytes).await.map(drop));
                    refusals.push(session.flies[0].stage_restore(bytes).await.map(drop));
                }
            }
        }
        for refusal in &refusals {
            let error = refusal.clone().unwrap_err();
            assert_eq!(
                (error.code, error.mutation),
                (ErrorCode::IncompatibleState, MutationCertainty::None)
            );
        }
        assert_eq!(refusals.len(), 76);
        assert_eq!(
            session.world.activate_restore().await.unwrap_err().code,
            ErrorCode::InvalidPhase
        );
        assert_eq!(session.digest().await, before, "nothing was taken");
    });
}

#[test]
fn controls_that_do_not_fit_the_ports_move_nothing() {
    block_on(async {
        let mut session = run(1, false).await;
        let before = session.digest().await;
        let scope = wellwritten_session::Scope {
            session_id: id("demo"),
            epoch: id("e1"),
            step: session.observation.boundary,
        };
        let neutral = wellwritten_arena::controller_schema().neutral();
        let on = |port: &str| neutral.clone().on_port(id(port));
        let mut outside = on("p2");
        outside.axes[0].value = 1.001;
        let mut unnamed = on("p2");
        unnamed.buttons.pop();
        let batches = [
            vec![],
            vec![on("p1")],
            vec![on("p2"), on("p1")],
            vec![on("p1"), outside],
            vec![on("p1"), unnamed],
        ];
        for controls in batches {
            let batch = wellwritten_session::Advance {
                batch_id: id("batch-x"),
                controls,
            };
            let refused = session.world.advance(&scope, &batch).await.unwrap_err();
            assert_eq!(refused.mutation, MutationCertainty::None);
        }
        assert_eq!(session.digest().await, before);
    });
}

#[test]
fn one_to_four_flies_and_an_episode_that_ends() {
    block_on(async {
        for count in 1..=4 {
            let agents = (0..count)
                .map(|index| PortBinding {
                    port_id: id(&format!("p{index}")),
                    agent_id: id(&format!("fly-{index}")),
                })
                .collect();
            let config = ArenaConfig {
                agents,
                end: EpisodeEnd::AfterMeals(1),
                ..ArenaConfig::default()
            };
            let mut session = begin(config).await;
            session.step(false).await.unwrap();
            let inspection: Inspection = session.observation.inspection.read().unwrap();
            assert_eq!(inspection.flies.len(), count);
        }
    });
}

#[test]
fn configurations_that_are_no_arena_are_refused() {
    let binding = |port: &str, agent: &str| PortBinding {
        port_id: id(port),
        agent_id: id(agent),
    };
    let long = "f".repeat(56);
    let configs = [
        vec![],
        (0..5)
            .map(|index| binding(&format!("p{index}"), &format!("fly-{index}")))
            .collect(),
        vec![binding("p1", "fly-a"), binding("p2", "fly-a")],
        vec![binding("p1", "fly-a"), binding("p1", "fly-b")],
        vec![binding("p1", "world")],
        vec![binding("p1", &long)],
    ];
    for agents in configs {
        let config = ArenaConfig {
            agents: agents.clone(),
            ..ArenaConfig::default()
        };
        let arena = wellwritten_arena::Arena::new(
            config,
            GuardedDevice::cpu(),
            wellwritten_arena::FaultBoard::new(),
        );
        assert!(arena.is_err(), "{agents:?}");
    }
}
