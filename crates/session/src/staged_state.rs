//! [`StagedWorld`] and [`StagedAgent`]: what a participant found in the state it staged.
//!
//! A checkpoint says many things twice: once in the coordinator's record, once in the state of the participant they are
//! about. Bytes that are right in every digest can still disagree, so whoever stages a state says what is in it, and the
//! coordinator compares before anyone activates.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Digest, Id, RationalNs, U64};

use crate::{AgentRecord, AudioPosition};

/// What a world found in the state it staged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StagedWorld {
    /// The boundary it will be at.
    pub boundary: U64,
    /// Its logical time there.
    pub world_time: RationalNs,
    /// The episode it was initialized for.
    pub episode_id: Id,
    /// Digest of the inspection it will show.
    pub inspection_digest: Digest,
    /// Where every declared stream of sound is, in declared order.
    pub audio: Vec<AudioPosition>,
}

/// What an agent found in the state it staged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StagedAgent {
    /// The boundary it will be at: its commits so far.
    pub boundary: U64,
    /// Ticks since it was built, warm-up included.
    pub brain_ticks: U64,
    /// Logical time left over.
    pub remainder: RationalNs,
    /// Digest of the context it retains.
    pub decision_context_digest: Digest,
}

impl StagedAgent {
    /// What the runtime around an agent wrote beside the agent's own state.
    pub(crate) fn recorded(boundary: U64, record: &AgentRecord) -> Self {
        Self {
            boundary,
            brain_ticks: record.brain_ticks,
            remainder: record.remainder,
            decision_context_digest: record.decision_context_digest,
        }
    }
}

/// What a participant found in the state it staged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StagedState {
    /// A world.
    World(StagedWorld),
    /// An agent.
    Agent(StagedAgent),
}

impl StagedState {
    /// The first field in which this differs from `expected`, as a sentence with both values.
    pub(crate) fn difference(&self, expected: &Self) -> Option<String> {
        let pairs = self.words().into_iter().zip(expected.words());
        pairs
            .filter(|(found, expected)| found != expected)
            .map(|((field, found), (_, expected))| {
                format!("its {field} is {found}, elsewhere in the checkpoint it is {expected}")
            })
            .next()
    }

    fn words(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::World(world) => vec![
                ("boundary", world.boundary.to_string()),
                ("worldTime", format!("{:?}", world.world_time)),
                ("episodeId", world.episode_id.to_string()),
                ("inspectionDigest", world.inspection_digest.to_string()),
                ("audioPositions", spelled(&world.audio)),
            ],
            Self::Agent(agent) => vec![
                ("committedStep", agent.boundary.to_string()),
                ("brainTicks", agent.brain_ticks.to_string()),
                ("remainder", format!("{:?}", agent.remainder)),
                (
                    "decisionContextDigest",
                    agent.decision_context_digest.to_string(),
                ),
            ],
        }
    }
}

fn spelled(positions: &[AudioPosition]) -> String {
    let positions: Vec<String> = positions
        .iter()
        .map(|position| format!("{} at {}", position.stream_id, position.next_sample))
        .collect();
    format!("[{}]", positions.join(", "))
}
