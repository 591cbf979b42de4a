//! What a run did, digest for digest.

use std::rc::Rc;

use wellwritten_counter::AGENTS;
use wellwritten_session::{DispatchOrder, behaviour_digest};

use crate::play::{Play, Setup};
use crate::scenario_failure::{holds, same};
use crate::trace_digests::{DIGESTS, SHORT_STEPS, STEPS};
use crate::{ScenarioFailure, Stage, Verdict};

use super::order::ORDERS;

async fn digest_of(
    stage: &Rc<dyn Stage>,
    agents: usize,
    dispatch: DispatchOrder,
    steps: u64,
) -> Result<String, ScenarioFailure> {
    let play = Play::ready(stage, Setup::agents(agents).dispatched(dispatch)).await?;
    play.tap.listen_no_more();
    play.steps(steps).await?;
    let digest = behaviour_digest(&play.trace());
    let kept = play.session.behaviour_digest();
    same(
        "the session's own digest of it,",
        &(kept.length, kept.digest),
        &(steps, digest),
    )?;
    Ok(digest.to_string())
}

pub(super) async fn every_order_and_number_of_agents_behaves_as_written_down(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let due: Vec<String> = DIGESTS
        .iter()
        .map(|(_, short, _)| (*short).to_owned())
        .collect();
    for dispatch in ORDERS {
        let mut found = Vec::new();
        for (agents, ..) in DIGESTS {
            found.push(digest_of(&stage, agents, dispatch, SHORT_STEPS).await?);
        }
        same("the behaviour of short runs,", &found, &due)?;
    }
    Ok(())
}

/// The agents of one row of the digests, for a thousand steps in an order of their own.
async fn a_thousand_steps(stage: Rc<dyn Stage>, row: usize) -> Verdict {
    let (agents, _, due) = DIGESTS[row];
    let digest = digest_of(&stage, agents, ORDERS[row], STEPS).await?;
    same("the behaviour of a long run,", &digest, &due.to_owned())
}

pub(super) async fn a_thousand_steps_of_one_agent_behave_as_written_down(
    stage: Rc<dyn Stage>,
) -> Verdict {
    a_thousand_steps(stage, 0).await
}

pub(super) async fn a_thousand_steps_of_two_agents_behave_as_written_down(
    stage: Rc<dyn Stage>,
) -> Verdict {
    a_thousand_steps(stage, 1).await
}

pub(super) async fn a_thousand_steps_of_four_agents_behave_as_written_down(
    stage: Rc<dyn Stage>,
) -> Verdict {
    a_thousand_steps(stage, 2).await
}

pub(super) async fn one_tick_too_many_is_another_behaviour(stage: Rc<dyn Stage>) -> Verdict {
    let play = Play::ready(&stage, Setup::default()).await?;
    play.steps(3).await?;
    let digest = behaviour_digest(&play.trace());
    let mut altered = play.trace();
    altered[1].behaviour.agents[0].ticks_advanced.0 += 1;
    holds(
        "a tick to show",
        behaviour_digest(&altered) != digest,
        digest,
    )?;
    let mut shuffled = play.trace();
    shuffled[1].behaviour.agents.reverse();
    "req-0".clone_into(&mut shuffled[2].operational.advance_request_id);
    same(
        "order and names not to show,",
        &behaviour_digest(&shuffled),
        &digest,
    )?;
    let fewer = play.trace()[..2].to_vec();
    holds(
        "a shorter run to show",
        behaviour_digest(&fewer) != digest,
        AGENTS.len(),
    )
}
