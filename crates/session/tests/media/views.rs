//! What is shown to spectators only: it may be missing, and is never stale, never early and never given to an agent.

use futures::executor::block_on;
use wellwritten_session::{Artifact, ErrorCode, Id, U64, ViewAudience, ViewRef, WorldObservation};

use crate::bench::{Bench, Rig, id};

#[test]
fn a_spectators_view_reaches_no_agent_and_may_be_missing() {
    let rig = Rig::ready();
    rig.steps(1);
    let missing: [fn(&mut Vec<ViewRef>); 3] = [
        |views| views.clear(),
        |views| drop(views.pop()),
        |views| drop(views.remove(0)),
    ];
    for change in missing {
        rig.bench
            .tamper_with(move |observation| change(&mut observation.broadcast_views));
        rig.steps(1);
    }
    rig.bench.tamper_with(|_| {});
    rig.steps(1);
    let inputs = rig.bench.inputs.borrow();
    assert_eq!(inputs.len(), 12);
    for input in &*inputs {
        let seen: Vec<&Id> = input.views.iter().map(|view| &view.view_id).collect();
        assert_eq!(seen, [&id("eye")]);
    }
}

fn repeat(observation: &mut WorldObservation) {
    observation
        .broadcast_views
        .push(observation.broadcast_views[0].clone());
}

type Change = fn(&mut WorldObservation);

const WRONG: [(&str, Change, &str); 9] = [
    (
        "stale",
        |it| it.broadcast_views[0].produced_step.0 -= 1,
        "view map was rendered at 1, boundary 2 needs 2",
    ),
    (
        "from the future",
        |it| it.broadcast_views[1].produced_step.0 += 1,
        "view plan was rendered at 3, boundary 2 needs 2",
    ),
    ("twice", repeat, "each at most once and in that order"),
    (
        "in another order",
        |it| it.broadcast_views.reverse(),
        "each at most once and in that order",
    ),
    (
        "never declared",
        |it| it.broadcast_views[0].view_id = id("secret"),
        "each at most once and in that order",
    ),
    (
        "an agent's, for spectators",
        |it| it.broadcast_views[0] = it.sensory_views[0].clone(),
        "each at most once and in that order",
    ),
    (
        "too short",
        |it| it.broadcast_views[0].pixels = Artifact::seal(vec![0; 15], Artifact::RGBA8),
        "view map has 15 bytes of image/x-rgba8, declared are 16",
    ),
    (
        "a spectator's, for agents",
        |it| it.sensory_views.push(it.broadcast_views[0].clone()),
        "the world shows views",
    ),
    (
        "a required one missing",
        |it| it.sensory_views.clear(),
        "the world shows views",
    ),
];

#[test]
fn whatever_is_wrong_with_a_view_fails_the_transition_before_any_reward() {
    for (name, change, said) in WRONG {
        let rig = Rig::ready();
        rig.steps(1);
        rig.bench.tamper_with(change);
        let record = rig.refused_transition();
        assert_eq!(record.error.code, ErrorCode::BufferInvalid, "{name}");
        assert!(record.error.message.contains(said), "{name}: {record}");
    }
}

#[test]
fn a_delay_shows_the_first_frame_again_as_the_same_artifact() {
    const DELAY: u8 = 2;
    let declare = |world: &mut wellwritten_session::EnvironmentDescriptor| {
        for view in &mut world.views {
            view.observation_delay_steps = DELAY;
        }
    };
    let rig = Rig::ready_on(Bench::declaring(declare));
    rig.steps(4);
    {
        let inputs = rig.bench.inputs.borrow();
        let shown: Vec<&ViewRef> = inputs
            .iter()
            .step_by(2)
            .map(|input| &input.views[0])
            .collect();
        let steps: Vec<u64> = shown.iter().map(|view| view.produced_step.0).collect();
        assert_eq!(steps, [0, 0, 0, 1, 2]);
        assert!(shown[0].pixels.is_same(&shown[1].pixels));
        assert!(shown[0].pixels.is_same(&shown[2].pixels));
    }
    // Equal bytes, rendered a second time, are refused: for agents and for spectators alike.
    for audience in [ViewAudience::Sensory, ViewAudience::Spectator] {
        let rig = Rig::ready_on(Bench::declaring(declare));
        rig.steps(1);
        rig.bench.tamper_with(move |observation| {
            let views = match audience {
                ViewAudience::Sensory => &mut observation.sensory_views,
                ViewAudience::Spectator => &mut observation.broadcast_views,
            };
            let again = views[0].pixels.bytes().to_vec();
            views[0].pixels = Artifact::seal(again, Artifact::RGBA8);
        });
        let record = rig.refused_transition();
        let said = "shows step 0 again as other bytes";
        assert!(record.error.message.contains(said), "{record}");
    }
}

#[test]
fn a_bootstrap_is_held_to_the_same() {
    let bench = std::rc::Rc::new(Bench::default());
    bench.tamper_with(|observation| observation.broadcast_views[0].produced_step = U64(1));
    let rig = Rig::starting_on(bench);
    let error = block_on(rig.session.bootstrap()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::BufferInvalid);
}
