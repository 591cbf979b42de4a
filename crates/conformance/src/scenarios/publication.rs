//! What is shown to whoever watches, and that watching changes nothing.

use std::rc::Rc;

use futures::future::join;
use wellwritten_counter::{Fault, FaultKind, FaultPoint};
use wellwritten_session::{
    CommittedSnapshot, GateVerdict, PhaseKind, PublicationGate, SubscribeOptions, Subscription,
    behaviour_digest,
};

use crate::play::{Play, Setup, id};
use crate::scenario_failure::{holds, same};
use crate::{ScenarioFailure, Stage, Verdict};

fn watch(play: &Play) -> Result<Subscription, ScenarioFailure> {
    let subscription = play.session.subscribe(SubscribeOptions::default());
    subscription.map_err(|error| ScenarioFailure::new("a subscription", error))
}

/// The boundary that stands for whoever asks.
fn shown(play: &Play) -> Result<u64, ScenarioFailure> {
    let snapshot = play.session.snapshot();
    let snapshot = snapshot.map_err(|error| ScenarioFailure::new("a snapshot", error))?;
    Ok(snapshot.scope.step.0)
}

pub(super) async fn a_slow_spectator_loses_only_its_own_data(stage: Rc<dyn Stage>) -> Verdict {
    const STEPS: u64 = 50;
    let unwatched = Play::ready(&stage, Setup::default()).await?;
    unwatched.steps(STEPS).await?;
    let play = Play::ready(&stage, Setup::default()).await?;
    let (slow, quick) = (watch(&play)?, watch(&play)?);
    let mut seen = Vec::new();
    let mut events = 0;
    for _ in 0..=STEPS {
        while let Some(snapshot) = quick.try_snapshot() {
            same(
                "nothing missed by who keeps up,",
                &snapshot.missed_before(),
                &0,
            )?;
            seen.push(snapshot.scope.step.0);
        }
        if let Some(batch) = quick.try_events() {
            same(
                "no event missed by who keeps up,",
                &batch.dropped_before,
                &0,
            )?;
            events += batch.events.len();
        }
        if play.session.status().boundary < STEPS {
            play.steps(1).await?;
        }
    }
    let due: Vec<u64> = (0..=STEPS).collect();
    same("every boundary seen by who keeps up,", &seen, &due)?;
    same("every event seen by who keeps up,", &events, &100)?;
    let Some(late) = slow.try_snapshot() else {
        return Err(ScenarioFailure::new("a snapshot for the slow one", "none"));
    };
    let found = (late.scope.step.0, late.missed_before());
    same(
        "the latest for the slow one, and how many it missed,",
        &found,
        &(STEPS, STEPS),
    )?;
    let batch = slow.try_events();
    let found = batch.map(|batch| (batch.events.len(), batch.dropped_before));
    same("the last events for the slow one,", &found, &Some((64, 36)))?;
    let digests = (
        behaviour_digest(&play.trace()),
        behaviour_digest(&unwatched.trace()),
    );
    same(
        "the behaviour of an unwatched session",
        &digests.0,
        &digests.1,
    )
}

pub(super) async fn a_spectator_that_holds_on_for_ever_stalls_nothing(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default()).await?;
    let spectator = watch(&play)?;
    let mut held = Vec::new();
    for _ in 0..6 {
        held.extend(spectator.try_snapshot());
        play.steps(1).await?;
    }
    let boundaries = |held: &[wellwritten_session::SnapshotDelivery]| -> Vec<u64> {
        held.iter().map(|snapshot| snapshot.scope.step.0).collect()
    };
    same("as many as may be held,", &boundaries(&held), &vec![0, 1])?;
    let reds = |held: &[wellwritten_session::SnapshotDelivery]| -> Vec<Option<u8>> {
        let views = held.iter().flat_map(|snapshot| &snapshot.media.views);
        views
            .map(|view| view.pixels.bytes().first().copied())
            .collect()
    };
    let before = reds(&held);
    play.steps(20).await?;
    same("what is held to stay as it was,", &reds(&held), &before)?;
    held.remove(0);
    held.extend(spectator.try_snapshot());
    // What waited was replaced by each that followed; what was taken was not.
    same(
        "the latest once there is room,",
        &boundaries(&held),
        &vec![1, 26],
    )?;
    drop(spectator);
    drop(held);
    play.steps(1).await
}

pub(super) async fn nothing_is_published_before_everyone_has_committed(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let slow = Fault::new(id("fly-b"), FaultPoint::Commit, FaultKind::DelayMs(60)).at_boundary(1);
    let breaks = Fault::new(id("fly-b"), FaultPoint::Commit, FaultKind::Break).at_boundary(2);
    let play = Play::ready(&stage, Setup::faults(vec![slow, breaks])).await?;
    same("the beginning is shown,", &shown(&play)?, &0)?;
    play.steps(1).await?;
    let step = async { play.session.step().await };
    let meanwhile = async {
        let is_there = || play.session.phase().kind() == PhaseKind::Committing;
        play.until("the step to be committed", is_there).await?;
        shown(&play)
    };
    let (stepped, meanwhile) = join(step, meanwhile).await;
    stepped?;
    same(
        "while it is committed, the boundary before is shown,",
        &meanwhile?,
        &1,
    )?;
    same("and then it,", &shown(&play)?, &2)?;
    let failed = play.session.step().await;
    holds("a step that fails", failed.is_err(), failed.is_ok())?;
    // Of a step that failed nothing is shown, whoever had committed it.
    let outcome = play
        .session
        .snapshot()
        .map(|snapshot| snapshot.scope.step.0);
    holds(
        "nothing of the step that failed",
        !matches!(outcome, Ok(step) if step > 2),
        outcome,
    )?;
    let boundaries: Vec<Option<u64>> = play
        .trace()
        .iter()
        .map(|record| {
            record
                .behaviour
                .published_boundary
                .map(|boundary| boundary.0)
        })
        .collect();
    same("in the record,", &boundaries, &vec![Some(1), Some(2)])
}

pub(super) async fn what_is_shown_is_of_the_transition_that_ended(stage: Rc<dyn Stage>) -> Verdict {
    let play = Play::ready(&stage, Setup::default()).await?;
    for step in 0..4 {
        let snapshot = play.session.snapshot();
        let snapshot = snapshot.map_err(|error| ScenarioFailure::new("a snapshot", error))?;
        let boundary = snapshot.scope.step.0;
        same("the boundary that was committed,", &boundary, &step)?;
        for agent in &snapshot.agents {
            let has = (
                agent.selected_decision.is_some(),
                agent.applied_controls.is_some(),
            );
            same(
                "a decision and controls once something moved,",
                &has,
                &(step > 0, step > 0),
            )?;
            let updates = agent
                .telemetry
                .as_ref()
                .map(|telemetry| telemetry.learning.updates.0);
            same("telemetry of this boundary,", &updates, &Some(step))?;
        }
        for view in &snapshot.media.views {
            same("a view of this boundary,", &view.produced_step.0, &step)?;
        }
        let sounds = snapshot.media.audio.len() as u64;
        same("sound of what moved,", &sounds, &step.min(1))?;
        play.steps(1).await?;
    }
    Ok(())
}

/// An outlet that has no room, or fails.
struct Blocked(GateVerdict);

impl PublicationGate for Blocked {
    fn admit(&self, _snapshot: &CommittedSnapshot) -> GateVerdict {
        self.0.clone()
    }
}

pub(super) async fn an_outlet_that_fails_moves_nothing_and_is_not_hushed_up(
    stage: Rc<dyn Stage>,
) -> Verdict {
    for verdict in [
        GateVerdict::Refuse,
        GateVerdict::Fault("no room".to_owned()),
    ] {
        let play = Play::ready(&stage, Setup::default()).await?;
        play.steps(1).await?;
        let gate: Rc<dyn PublicationGate> = Rc::new(Blocked(verdict.clone()));
        play.session.set_publication_gate(Some(gate));
        play.steps(2).await?;
        same("what was shown before,", &shown(&play)?, &1)?;
        play.session.set_publication_gate(None);
        play.steps(1).await?;
        same("and then the latest,", &shown(&play)?, &4)?;
        let boundaries: Vec<Option<u64>> = play
            .trace()
            .iter()
            .map(|record| {
                record
                    .behaviour
                    .published_boundary
                    .map(|boundary| boundary.0)
            })
            .collect();
        same(
            "in the record,",
            &boundaries,
            &vec![Some(1), None, None, Some(4)],
        )?;
        let counts = play.session.status().publication;
        let is_refused = verdict == GateVerdict::Refuse;
        let due = if is_refused { (2, 0) } else { (0, 2) };
        same("counted,", &(counts.refused, counts.faulted), &due)?;
    }
    Ok(())
}
