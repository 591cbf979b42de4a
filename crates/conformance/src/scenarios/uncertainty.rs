//! Calls whose answer does not come.

use std::rc::Rc;

use wellwritten_counter::{Fault, FaultKind, FaultPoint};
use wellwritten_session::{
    ErrorCode, MutationCertainty, Phase, ResolutionOutcome, behaviour_digest,
};

use crate::play::{MS, Play, Setup, id};
use crate::scenario_failure::{holds, same};
use crate::tap::Said;
use crate::{Stage, Tamper, Verdict};

/// Plays four steps with something lost, and without: the behaviour is the same, and the loss was found out.
async fn as_if_nothing_had_been_lost(
    stage: &Rc<dyn Stage>,
    losses: &[(&str, &'static str, Tamper)],
) -> Verdict {
    let straight = Play::ready(stage, Setup::default()).await?;
    straight.steps(4).await?;
    let play = Play::ready(stage, Setup::default().hasty()).await?;
    for (worker, method, tamper) in losses {
        play.tap.plan(&id(worker), method, Some(1), tamper.clone());
    }
    play.steps(4).await?;
    holds("every loss to have happened", play.tap.is_done(), ())?;
    let digests = (
        behaviour_digest(&play.trace()),
        behaviour_digest(&straight.trace()),
    );
    same("the same behaviour", &digests.0, &digests.1)?;
    let resolved: usize = play
        .trace()
        .iter()
        .flat_map(|record| &record.operational.resolutions)
        .filter(|resolution| {
            resolution.outcome == ResolutionOutcome::Answered && resolution.dispatches > 1
        })
        .count();
    same(
        "what was lost to be in the record,",
        &resolved,
        &losses.len(),
    )?;
    // Every dispatch of an operation has its one name.
    for (worker, method, _) in losses {
        let names: Vec<_> = play
            .tap
            .entries()
            .iter()
            .filter(|entry| {
                entry.worker.as_str() == *worker
                    && entry.method() == *method
                    && entry.step() == Some(1)
                    && matches!(entry.said, Said::Asked)
            })
            .map(|entry| entry.request.request_id)
            .collect();
        let same_name = names.len() > 1 && names.windows(2).all(|pair| pair[0] == pair[1]);
        holds("one name for every dispatch", same_name, &names)?;
    }
    same(
        "nothing but steps told of,",
        &play.boundaries(),
        &vec![1, 2, 3, 4],
    )
}

pub(super) async fn a_lost_advance_reply_resolves_to_one_advance(stage: Rc<dyn Stage>) -> Verdict {
    as_if_nothing_had_been_lost(
        &stage,
        &[("world", "Environment.Advance", Tamper::LoseReply)],
    )
    .await
}

pub(super) async fn a_lost_request_is_sent_again_under_its_own_name(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let losses = [
        ("world", "Environment.Advance", Tamper::LoseRequest),
        ("fly-a", "Agent.Prepare", Tamper::LoseRequest),
        ("fly-b", "Agent.Commit", Tamper::LoseRequest),
    ];
    as_if_nothing_had_been_lost(&stage, &losses).await
}

pub(super) async fn lost_prepare_and_commit_replies_resolve(stage: Rc<dyn Stage>) -> Verdict {
    let losses = [
        ("fly-a", "Agent.Prepare", Tamper::LoseReply),
        ("fly-b", "Agent.Commit", Tamper::LoseReply),
    ];
    as_if_nothing_had_been_lost(&stage, &losses).await
}

pub(super) async fn a_lost_initialize_reply_resolves(stage: Rc<dyn Stage>) -> Verdict {
    let straight = Play::ready(&stage, Setup::default()).await?;
    straight.steps(2).await?;
    for (worker, method) in [
        ("world", "Environment.Initialize"),
        ("fly-b", "Agent.Initialize"),
    ] {
        let play = Play::starting(&stage, Setup::default().hasty()).await?;
        play.tap
            .plan(&id(worker), method, Some(0), Tamper::LoseReply);
        play.session.bootstrap().await?;
        play.steps(2).await?;
        let digests = (
            behaviour_digest(&play.trace()),
            behaviour_digest(&straight.trace()),
        );
        same("the same behaviour", &digests.0, &digests.1)?;
    }
    Ok(())
}

pub(super) async fn a_slow_participant_that_gets_on_is_waited_for(stage: Rc<dyn Stage>) -> Verdict {
    // Longer than both budgets together.
    let slow = Fault::new(id("world"), FaultPoint::Advance, FaultKind::WorkMs(4_500));
    let play = Play::ready(&stage, Setup::faults(vec![slow]).hasty()).await?;
    play.steps(2).await?;
    let took_ns = play.trace()[0].operational.wall_time_ns.0;
    holds(
        "a step as long as its world",
        took_ns >= 4_400 * MS,
        took_ns,
    )?;
    let entries = play.tap.entries();
    let advances = entries.iter().filter(|entry| {
        entry.method() == "Environment.Advance"
            && entry.step() == Some(0)
            && matches!(entry.said, Said::Asked)
    });
    same("one advance, sent once,", &advances.count(), &1)
}

/// The epoch ends, `worker` is named, and nobody can say what changed.
async fn given_up(stage: &Rc<dyn Stage>, fault: Fault) -> Verdict {
    let worker = fault.participant.clone();
    let play = Play::ready(stage, Setup::faults(vec![fault]).hasty()).await?;
    play.steps(1).await?;
    let Err(error) = play.session.step().await else {
        return Err(crate::ScenarioFailure::new(
            "a step that fails",
            play.session.phase(),
        ));
    };
    let found = (error.code(), error.mutation(), error.participant().cloned());
    let due = (
        ErrorCode::BackendFailure,
        MutationCertainty::Unknown,
        Some(worker),
    );
    same("given up by name,", &found, &due)?;
    same(
        "an epoch that has ended,",
        &play.session.phase(),
        &Phase::Failed,
    )?;
    let next = play
        .tap
        .entries()
        .iter()
        .any(|entry| entry.method() == "Environment.Advance" && entry.step() > Some(1));
    holds("no further step of the world", !next, next)
}

pub(super) async fn a_slow_participant_that_does_not_is_given_up_by_name(
    stage: Rc<dyn Stage>,
) -> Verdict {
    for (worker, at) in [
        ("world", FaultPoint::Advance),
        ("fly-b", FaultPoint::Commit),
    ] {
        let slow = Fault::new(id(worker), at, FaultKind::DelayMs(20_000)).at_boundary(1);
        given_up(&stage, slow).await?;
    }
    Ok(())
}

pub(super) async fn a_participant_that_hangs_is_given_up_by_name(stage: Rc<dyn Stage>) -> Verdict {
    for (worker, at) in [
        ("fly-a", FaultPoint::Prepare),
        ("world", FaultPoint::Advance),
    ] {
        given_up(
            &stage,
            Fault::new(id(worker), at, FaultKind::Hang).at_boundary(1),
        )
        .await?;
    }
    Ok(())
}
