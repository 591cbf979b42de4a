//! Who is asked when, and how often.

use std::collections::BTreeSet;
use std::rc::Rc;

use futures::future::join;
use wellwritten_counter::{Fault, FaultKind, FaultPoint};
use wellwritten_session::{
    Answer, Call, DispatchOrder, ErrorCode, Phase, RationalNs, U64, WorkerState, behaviour_digest,
};

use crate::desk::{Desk, advance, request};
use crate::play::{MS, Play, Setup, id};
use crate::scenario_failure::{holds, refused, same};
use crate::tap::{Entry, Said};
use crate::{ScenarioFailure, Stage, Tamper, Verdict};

pub(super) const ORDERS: [DispatchOrder; 3] = [
    DispatchOrder::Concurrent,
    DispatchOrder::Sequential,
    DispatchOrder::Reversed,
];

/// Where in what was said a method was asked for, or answered.
fn places(entries: &[Entry], method: &str, step: u64, is_answer: bool) -> Vec<usize> {
    let is_it = |entry: &Entry| {
        entry.method() == method
            && entry.step() == Some(step)
            && matches!(entry.said, Said::Answered(_)) == is_answer
    };
    let entries = entries.iter().enumerate();
    entries
        .filter(|(_, entry)| is_it(entry))
        .map(|(place, _)| place)
        .collect()
}

pub(super) async fn one_advance_for_each_complete_batch(stage: Rc<dyn Stage>) -> Verdict {
    for agents in 1..=4 {
        let play = Play::ready(&stage, Setup::agents(agents)).await?;
        play.steps(5).await?;
        let mut batches = BTreeSet::new();
        let mut asked = 0;
        for entry in play.tap.entries() {
            let (Call::Advance(batch), Said::Asked) = (&entry.request.call, &entry.said) else {
                continue;
            };
            asked += 1;
            batches.insert(batch.batch_id.clone());
            let ports: Vec<String> = batch
                .controls
                .iter()
                .map(|port| port.port_id.to_string())
                .collect();
            let due: Vec<String> = (1..=agents).map(|port| format!("p{port}")).collect();
            same("the batch to list every port in order,", &ports, &due)?;
            for port in &batch.controls {
                let lists = (port.buttons.len(), port.axes.len());
                same("every button and axis of a port,", &lists, &(2, 1))?;
            }
        }
        same("one advance for each step,", &asked, &5)?;
        same("a batch id of its own for each,", &batches.len(), &5)?;
    }
    Ok(())
}

pub(super) async fn all_prepare_before_the_world_moves_and_commit_before_the_next_prepare(
    stage: Rc<dyn Stage>,
) -> Verdict {
    for dispatch in ORDERS {
        let play = Play::ready(&stage, Setup::agents(3).dispatched(dispatch)).await?;
        play.steps(3).await?;
        let entries = play.tap.entries();
        for step in 0..3 {
            let first_and_last = |method, is_answer| {
                let places = places(&entries, method, step, is_answer);
                (
                    places.len(),
                    places.first().copied(),
                    places.last().copied(),
                )
            };
            let prepared = first_and_last("Agent.Prepare", true);
            let advances = first_and_last("Environment.Advance", false);
            let moved = first_and_last("Environment.Advance", true);
            let commits = first_and_last("Agent.Commit", false);
            let committed = first_and_last("Agent.Commit", true);
            let next = places(&entries, "Agent.Prepare", step + 1, false);
            let counts = [prepared.0, advances.0, moved.0, commits.0, committed.0];
            same("every answer once,", &counts, &[3, 1, 1, 3, 3])?;
            let in_order = prepared.2 < advances.1
                && advances.1 < moved.1
                && moved.1 < commits.1
                && next.first().is_none_or(|next| committed.2 < Some(*next));
            holds(
                "all prepared, moved, all committed, in this order",
                in_order,
                &entries,
            )?;
        }
    }
    Ok(())
}

pub(super) async fn a_slow_agent_holds_the_world(stage: Rc<dyn Stage>) -> Verdict {
    for dispatch in ORDERS {
        for (at, method) in [
            (FaultPoint::Prepare, "Environment.Advance"),
            (FaultPoint::Commit, "Agent.Prepare"),
        ] {
            let slow = Fault::new(id("fly-b"), at, FaultKind::DelayMs(40)).at_boundary(0);
            let setup = Setup::faults(vec![slow]).dispatched(dispatch);
            let play = Play::ready(&stage, setup).await?;
            play.steps(2).await?;
            let entries = play.tap.entries();
            let slow_method = match at {
                FaultPoint::Prepare => "Agent.Prepare",
                _ => "Agent.Commit",
            };
            let held = u64::from(at == FaultPoint::Commit);
            let answered = places(&entries, slow_method, 0, true);
            let next = places(&entries, method, held, false);
            let waits = answered.len() == 2 && answered.last() < next.first();
            holds("what follows to wait for the slow agent", waits, &entries)?;
            let took_ns = play.trace()[0].operational.wall_time_ns.0;
            holds(
                "a step as long as its slowest agent",
                took_ns >= 39 * MS,
                took_ns,
            )?;
        }
    }
    Ok(())
}

pub(super) async fn one_judgement_for_each_transition_and_none_at_bootstrap(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::agents(3)).await?;
    let said = play.tap.drain();
    let updates = said.iter().filter_map(|entry| match entry.answer() {
        Some(Answer::AgentInitialized { initialized, .. }) => {
            Some(initialized.telemetry.learning.updates)
        }
        _ => None,
    });
    same(
        "no reward at bootstrap,",
        &updates.collect::<Vec<_>>(),
        &vec![U64(0); 3],
    )?;
    play.steps(4).await?;
    let mut seen = BTreeSet::new();
    for record in play.trace() {
        let events = &record.behaviour.event_ids;
        same("one event for each agent,", &events.len(), &3)?;
        same(
            "every reward for its event,",
            &record.behaviour.outcome_ids,
            events,
        )?;
        seen.extend(events.iter().cloned());
    }
    same("no event twice,", &seen.len(), &12)?;
    for entry in play.tap.entries() {
        if let Call::Commit(commit) = &entry.request.call {
            same("one reward for each agent,", &commit.rewards.len(), &1)?;
        }
        if let Some(Answer::Committed { committed, .. }) = entry.answer() {
            let updates = committed.telemetry.learning.updates;
            same(
                "one reinforcement for each step,",
                &updates,
                &committed.committed_step,
            )?;
        }
    }
    Ok(())
}

pub(super) async fn sixty_hertz_over_milliseconds_is_16_17_17(stage: Rc<dyn Stage>) -> Verdict {
    let play = Play::ready(&stage, Setup::default()).await?;
    play.steps(3).await?;
    let trace = play.trace();
    for agent in 0..2 {
        let behaviours = || trace.iter().map(|record| &record.behaviour.agents[agent]);
        let ticks: Vec<u64> = behaviours().map(|agent| agent.ticks_advanced.0).collect();
        same("ticks of", &ticks, &vec![16, 17, 17])?;
        let total = behaviours()
            .next_back()
            .map(|agent| (agent.brain_ticks, agent.remainder));
        // 50 of three steps, and 10 of the warm-up, which left the remainder alone.
        same(
            "ticks in all of",
            &total,
            &Some((U64(60), RationalNs::ZERO)),
        )?;
    }
    let world_time = play.session.status().world_time;
    same(
        "world time",
        &world_time,
        &RationalNs::from_nanoseconds(50_000_000),
    )
}

pub(super) async fn one_agent_works_like_two_and_four(stage: Rc<dyn Stage>) -> Verdict {
    let mut alone = None;
    for agents in [1, 2, 4] {
        let play = Play::ready(&stage, Setup::agents(agents)).await?;
        play.steps(4).await?;
        same(
            "every boundary told of,",
            &play.boundaries(),
            &vec![1, 2, 3, 4],
        )?;
        for record in play.trace() {
            let names: Vec<String> = record
                .behaviour
                .agents
                .iter()
                .map(|agent| agent.agent_id.to_string())
                .collect();
            let due = ["fly-a", "fly-b", "fly-c", "fly-d"][..agents].to_vec();
            holds("every agent by name", names == due, &names)?;
        }
        // The first decision of an agent depends on nobody else.
        let first = play
            .trace()
            .first()
            .map(|record| record.behaviour.agents[0].decision_digest);
        same(
            "the same first decision,",
            &first,
            alone.get_or_insert(first),
        )?;
    }
    Ok(())
}

pub(super) async fn replies_in_another_order_change_nothing(stage: Rc<dyn Stage>) -> Verdict {
    let straight = Play::ready(&stage, Setup::agents(3)).await?;
    straight.steps(3).await?;
    let crossed = Play::ready(&stage, Setup::agents(3)).await?;
    for method in ["Agent.Prepare", "Agent.Commit"] {
        crossed.tap.plan(
            &id("fly-a"),
            method,
            Some(1),
            Tamper::HoldUntil(id("fly-b")),
        );
        crossed.tap.plan(
            &id("fly-b"),
            method,
            Some(1),
            Tamper::HoldUntil(id("fly-c")),
        );
    }
    crossed.steps(3).await?;
    holds("every hold to have happened", crossed.tap.is_done(), ())?;
    let digests = (
        behaviour_digest(&crossed.trace()),
        behaviour_digest(&straight.trace()),
    );
    same("the same behaviour", &digests.0, &digests.1)
}

pub(super) async fn status_answers_during_compute_and_is_no_progress(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let slow = Fault::new(id("world"), FaultPoint::Advance, FaultKind::DelayMs(400));
    let composition = Setup::faults(vec![slow]).composition;
    let desk = Desk::world(&stage, composition).await?;
    let moving = desk.answer(request(2, "e1", 0, advance("e1", 0, true)));
    let asking = async {
        let clock = desk.stage.clock();
        let mut seen = Vec::new();
        for _ in 0..100 {
            let status = desk.status().await?;
            if status.state == WorkerState::Advancing {
                seen.push(status);
            }
            if seen.len() == 3 {
                break;
            }
            clock.sleep_ns(2 * MS).await;
        }
        Ok::<_, ScenarioFailure>(seen)
    };
    let (moved, seen) = join(moving, asking).await;
    moved?;
    let seen = seen?;
    same("three answers while it moves,", &seen.len(), &3)?;
    let active = seen[0]
        .active_request_id
        .map(|request_id| request_id.to_string());
    same(
        "the operation that runs,",
        &active,
        &Some("req-2".to_owned()),
    )?;
    holds(
        "a status to be no progress",
        seen.iter().all(|status| *status == seen[0]),
        &seen,
    )?;
    let after = desk.status().await?;
    let (before, after_progress) = (seen[0].progress_counter, after.progress_counter);
    holds(
        "its end to be progress",
        after_progress > before,
        (before, after_progress),
    )?;
    let play = Play::ready(&stage, Setup::default()).await?;
    same(
        "a session that stands,",
        &play.session.phase(),
        &Phase::Ready { boundary: 0 },
    )
}

pub(super) async fn a_stimulus_from_outside_is_applied_once_before_the_next_ticks(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default()).await?;
    play.steps(1).await?;
    let unknown = play.session.admit(&id("fly-a"), &id("thunder"), 20.0);
    refused(
        "a kind that nobody declares",
        unknown,
        ErrorCode::Unsupported,
    )?;
    let admitted = play.session.admit(&id("fly-b"), &id("spark"), 20.0)?;
    same("promised for the next step,", &admitted.earliest_step, &1)?;
    play.steps(2).await?;
    let mut given = Vec::new();
    for entry in play.tap.entries() {
        let (Call::Prepare(prepare), Said::Asked) = (&entry.request.call, &entry.said) else {
            continue;
        };
        for stimulus in &prepare.pre_step_stimulations {
            given.push((entry.worker.to_string(), entry.step(), stimulus.id.clone()));
        }
    }
    let due = ("fly-b".to_owned(), Some(1), admitted.admission.admission_id);
    same("given once, to whom it was for,", &given, &vec![due])?;
    let without = Play::ready(&stage, Setup::default()).await?;
    without.steps(3).await?;
    let decided = |play: &Play, agent: usize| -> Vec<wellwritten_session::Digest> {
        let trace = play.trace();
        let records = trace.iter();
        records
            .map(|record| record.behaviour.agents[agent].decision_digest)
            .collect()
    };
    same(
        "the first step as without it,",
        &decided(&play, 1)[0],
        &decided(&without, 1)[0],
    )?;
    let digests = (
        behaviour_digest(&play.trace()),
        behaviour_digest(&without.trace()),
    );
    holds(
        "another behaviour than without it",
        digests.0 != digests.1,
        digests,
    )
}
