//! What is asked twice is done once.

use std::rc::Rc;

use futures::future::join;
use wellwritten_counter::{CounterComposition, Fault, FaultKind, FaultPoint};
use wellwritten_session::{
    Answer, Call, Digest, ErrorCode, Request, WorkerState, behaviour_digest,
};

use crate::desk::{Desk, advance, commit, initialize_agent, prepare, request, stimulus};
use crate::play::{MS, Play, Setup, id};
use crate::scenario_failure::{holds, same};
use crate::{ScenarioFailure, Stage, Tamper, Verdict};

/// An answer without what may differ between two deliveries of it.
fn said(answer: &Answer) -> String {
    format!("{answer:?}")
}

/// Asks twice: the answer is the same, and nothing was done the second time.
async fn twice(desk: &Desk, asked: Request) -> Verdict {
    let first = said(&desk.answer(asked.clone()).await?);
    let done = desk.progress().await?;
    for _ in 0..3 {
        let again = said(&desk.answer(asked.clone()).await?);
        same("the same answer,", &again, &first)?;
    }
    same(
        "nothing done again, progress",
        &desk.progress().await?,
        &done,
    )
}

pub(super) async fn a_duplicate_prepare_replays_and_does_nothing_again(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let desk = Desk::agent(&stage, &CounterComposition::default()).await?;
    let before = desk.progress().await?;
    // One stimulus and 16 ticks, and the operation itself.
    let asked = request(2, "e1", 0, prepare(0, vec![stimulus("spark")]));
    twice(&desk, asked.clone()).await?;
    same("what was done,", &(desk.progress().await? - before), &18)?;
    desk.answer(request(3, "e1", 0, Call::Commit(commit(2, 0, 5))))
        .await?;
    // Also when the step is over.
    twice(&desk, asked).await?;
    let prepared = desk
        .answer(request(4, "e1", 1, prepare(1, Vec::new())))
        .await?;
    match prepared {
        Answer::Prepared(prepared) => {
            same("ticks of the second step", &prepared.ticks_advanced.0, &17)?;
            same("ticks in all", &prepared.brain_ticks.0, &43)
        }
        other => Err(ScenarioFailure::new("a decision", other)),
    }
}

pub(super) async fn a_duplicate_commit_replays_and_does_nothing_again(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let desk = Desk::agent(&stage, &CounterComposition::default()).await?;
    desk.answer(request(2, "e1", 0, prepare(0, Vec::new())))
        .await?;
    let before = desk.progress().await?;
    // The input and the reinforcement, and the operation itself.
    let asked = request(3, "e1", 0, Call::Commit(commit(2, 0, 5)));
    twice(&desk, asked).await?;
    same("what was done,", &(desk.progress().await? - before), &3)?;
    let status = desk.status().await?;
    let step = status.current_scope.map(|scope| scope.step.0);
    same(
        "one boundary further,",
        &(status.state, step),
        &(WorkerState::Ready, Some(1)),
    )
}

pub(super) async fn a_duplicate_advance_replays_and_moves_nothing(stage: Rc<dyn Stage>) -> Verdict {
    let desk = Desk::world(&stage, CounterComposition::default()).await?;
    let before = desk.progress().await?;
    twice(&desk, request(2, "e1", 0, advance("e1", 0, true))).await?;
    same("what was done,", &(desk.progress().await? - before), &2)?;
    let moved = desk
        .answer(request(3, "e1", 1, advance("e1", 1, true)))
        .await?;
    same("the counter at", &counter_of(&moved)?, &2)
}

fn counter_of(answer: &Answer) -> Result<i64, ScenarioFailure> {
    let Answer::Stepped(result) = answer else {
        return Err(ScenarioFailure::new("a step", answer));
    };
    let counter = result.observation.inspection.value().get("counter");
    counter
        .and_then(integer)
        .ok_or_else(|| ScenarioFailure::new("a counter", answer))
}

/// A JSON number that is an integer.
fn integer(value: &impl std::fmt::Display) -> Option<i64> {
    value.to_string().parse().ok()
}

pub(super) async fn altered_controls_under_the_same_batch_are_a_conflict(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let desk = Desk::world(&stage, CounterComposition::default()).await?;
    let first = desk
        .answer(request(2, "e1", 0, advance("e1", 0, true)))
        .await?;
    let done = desk.progress().await?;
    let altered = desk
        .code(request(2, "e1", 0, advance("e1", 0, false)))
        .await?;
    same("altered controls", &altered, &ErrorCode::Conflict)?;
    let altered = desk
        .code(request(3, "e1", 0, advance("e1", 0, false)))
        .await?;
    same(
        "altered controls under another id",
        &altered,
        &ErrorCode::Conflict,
    )?;
    let other_batch = desk
        .code(request(4, "e1", 1, advance("e1", 0, true)))
        .await?;
    same("a batch used again", &other_batch, &ErrorCode::Conflict)?;
    same("no second move, progress", &desk.progress().await?, &done)?;
    let again = desk
        .answer(request(2, "e1", 0, advance("e1", 0, true)))
        .await?;
    same("the earlier result", &said(&again), &said(&first))?;
    // Within a session, where someone between the two does it.
    let play = Play::ready(&stage, Setup::default()).await?;
    play.tap.plan(
        &id("world"),
        "Environment.Advance",
        Some(1),
        Tamper::AlterControls,
    );
    play.steps(3).await?;
    let answers: Vec<Option<ErrorCode>> = play
        .tap
        .entries()
        .iter()
        .filter(|entry| entry.method() == "Environment.Advance" && entry.step() == Some(1))
        .filter_map(|entry| match &entry.said {
            crate::Said::Answered(Ok(reply)) => {
                Some(reply.outcome.as_ref().err().map(|error| error.code))
            }
            _ => None,
        })
        .collect();
    holds(
        "one of the two to be a conflict",
        answers.contains(&Some(ErrorCode::Conflict)),
        &answers,
    )?;
    let straight = Play::ready(&stage, Setup::default()).await?;
    straight.steps(3).await?;
    let digests = (
        behaviour_digest(&play.trace()),
        behaviour_digest(&straight.trace()),
    );
    same(
        "the behaviour as if nothing had been,",
        &digests.0,
        &digests.1,
    )
}

pub(super) async fn the_same_operation_under_another_name_is_a_conflict(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let desk = Desk::agent(&stage, &CounterComposition::default()).await?;
    desk.answer(request(2, "e1", 0, prepare(0, Vec::new())))
        .await?;
    let done = desk.progress().await?;
    let code = desk
        .code(request(3, "e1", 0, prepare(0, Vec::new())))
        .await?;
    same("another request id", &code, &ErrorCode::Conflict)?;
    let stimuli = vec![stimulus("spark")];
    let code = desk.code(request(2, "e1", 0, prepare(0, stimuli))).await?;
    same("another body", &code, &ErrorCode::Conflict)?;
    same("nothing done, progress", &desk.progress().await?, &done)?;
    let play = Play::ready(&stage, Setup::default()).await?;
    for method in ["Agent.Prepare", "Agent.Commit"] {
        play.tap.plan(&id("fly-b"), method, Some(1), Tamper::Rename);
    }
    play.steps(3).await?;
    let conflicts = play.tap.entries().iter().filter(|entry| matches!(&entry.said,
        crate::Said::Answered(Ok(reply)) if matches!(&reply.outcome, Err(error) if error.code == ErrorCode::Conflict))).count();
    same("conflicts,", &conflicts, &2)
}

/// Runs a slow operation and, while it runs, `meanwhile`.
async fn while_it_runs<T>(
    desk: &Desk,
    slow: Request,
    meanwhile: impl Future<Output = Result<T, ScenarioFailure>>,
) -> Result<(Answer, T), ScenarioFailure> {
    let request_id = slow.request_id;
    let running = async {
        let clock = desk.stage.clock();
        for _ in 0..1_000 {
            if desk.status().await?.active_request_id == Some(request_id) {
                return meanwhile.await;
            }
            clock.sleep_ns(MS).await;
        }
        Err(ScenarioFailure::new(
            "the operation to run",
            desk.status().await?,
        ))
    };
    let (answer, meanwhile) = join(desk.answer(slow), running).await;
    Ok((answer?, meanwhile?))
}

pub(super) async fn an_exact_duplicate_of_a_running_operation_is_in_progress(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let slow = Fault::new(id("world"), FaultPoint::Advance, FaultKind::DelayMs(600));
    let desk = Desk::world(&stage, Setup::faults(vec![slow]).composition).await?;
    let asked = request(2, "e1", 0, advance("e1", 0, true));
    let meanwhile = async {
        let duplicate = desk.code(asked.clone()).await?;
        let altered = desk
            .code(request(2, "e1", 0, advance("e1", 0, false)))
            .await?;
        Ok((duplicate, altered))
    };
    let (answer, codes) = while_it_runs(&desk, asked.clone(), meanwhile).await?;
    same(
        "a duplicate, and an altered one,",
        &codes,
        &(ErrorCode::InProgress, ErrorCode::Conflict),
    )?;
    same(
        "the original to complete, the counter at",
        &counter_of(&answer)?,
        &1,
    )?;
    same(
        "and to be repeated,",
        &said(&desk.answer(asked).await?),
        &said(&answer),
    )
}

pub(super) async fn another_operation_while_one_runs_is_busy(stage: Rc<dyn Stage>) -> Verdict {
    let slow = Fault::new(id("fly-a"), FaultPoint::Prepare, FaultKind::DelayMs(600));
    let desk = Desk::agent(&stage, &Setup::faults(vec![slow]).composition).await?;
    let meanwhile = async {
        let other = desk.code(request(3, "e1", 0, Call::Verify {})).await?;
        let commits = desk
            .code(request(4, "e1", 0, Call::Commit(commit(2, 0, 1))))
            .await?;
        Ok((other, commits))
    };
    let asked = request(2, "e1", 0, prepare(0, Vec::new()));
    let (_, codes) = while_it_runs(&desk, asked, meanwhile).await?;
    same(
        "another operation,",
        &codes,
        &(ErrorCode::Busy, ErrorCode::Busy),
    )?;
    // Refused before anything was done: it may be asked again.
    desk.answer(request(4, "e1", 0, Call::Commit(commit(2, 0, 1))))
        .await?;
    Ok(())
}

pub(super) async fn a_cached_artifact_survives_its_first_consumer(stage: Rc<dyn Stage>) -> Verdict {
    let desk = Desk::world(&stage, CounterComposition::default()).await?;
    let asked = request(2, "e1", 0, advance("e1", 0, true));
    let mut seen: Option<(Digest, Digest)> = None;
    for _ in 0..3 {
        // Whatever the answer came with is used up and gone before it is asked for again.
        let Answer::Stepped(result) = desk.answer(asked.clone()).await? else {
            return Err(ScenarioFailure::new("a step", "another answer"));
        };
        let mut observation = result.observation;
        let (Some(view), Some(chunk)) = (observation.sensory_views.pop(), observation.audio.pop())
        else {
            return Err(ScenarioFailure::new(
                "a view and a chunk of sound",
                observation,
            ));
        };
        let red = view.pixels.bytes().first().copied();
        same("the counter in its red,", &red, &Some(1))?;
        let digests = (view.pixels.digest(), chunk.samples.digest());
        drop((view.pixels.into_bytes(), chunk.samples.into_bytes()));
        same("the same bytes,", &digests, seen.get_or_insert(digests))?;
    }
    Ok(())
}

pub(super) async fn a_session_of_duplicates_behaves_like_one_of_none(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let straight = Play::ready(&stage, Setup::default()).await?;
    straight.steps(6).await?;
    let repeated = Play::ready(&stage, Setup::default()).await?;
    for step in 0..6 {
        repeated.tap.plan(
            &id("world"),
            "Environment.Advance",
            Some(step),
            Tamper::Duplicate,
        );
        for agent in ["fly-a", "fly-b"] {
            for method in ["Agent.Prepare", "Agent.Commit"] {
                repeated
                    .tap
                    .plan(&id(agent), method, Some(step), Tamper::Duplicate);
            }
        }
    }
    repeated.steps(6).await?;
    holds(
        "every duplicate to have been sent",
        repeated.tap.is_done(),
        (),
    )?;
    let digests = (
        behaviour_digest(&repeated.trace()),
        behaviour_digest(&straight.trace()),
    );
    same("the same behaviour", &digests.0, &digests.1)?;
    for worker in straight.workers() {
        let progress = |play: &Play| {
            let route = play.route(worker);
            let desk_stage = stage.clone();
            async move {
                let desk = Desk {
                    route: route?,
                    stage: desk_stage,
                };
                desk.progress().await
            }
        };
        let (once, twice) = (progress(&straight).await?, progress(&repeated).await?);
        same("as much done,", &twice, &once)?;
    }
    Ok(())
}

pub(super) async fn a_duplicate_of_a_running_beginning_is_in_progress(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let slow = Fault::new(id("fly-a"), FaultPoint::Initialize, FaultKind::DelayMs(600));
    let composition = Setup::faults(vec![slow]).composition;
    let desk = Desk::open(&stage, &composition, "fly-a").await?;
    let asked = request(1, "e1", 0, initialize_agent());
    let meanwhile = async {
        let duplicate = desk.code(asked.clone()).await?;
        let other = desk.code(request(2, "e1", 0, initialize_agent())).await?;
        Ok((duplicate, other))
    };
    let (answer, codes) = while_it_runs(&desk, asked.clone(), meanwhile).await?;
    same(
        "a duplicate, and another,",
        &codes,
        &(ErrorCode::InProgress, ErrorCode::Busy),
    )?;
    let done = desk.progress().await?;
    same(
        "and then repeated,",
        &said(&desk.answer(asked).await?),
        &said(&answer),
    )?;
    same(
        "nothing done again, progress",
        &desk.progress().await?,
        &done,
    )
}
