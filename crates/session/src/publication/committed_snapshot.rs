//! [`CommittedSnapshot`]: everything about one committed boundary.

use serde::Serialize;
use wellwritten_envelope::{Id, RationalNs, Scope, U64};

use crate::{AgentTelemetry, Artifact, AudioRef, PortControl, TypedValue, ViewRef};

/// One agent at a committed boundary.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotAgent {
    /// The agent.
    pub agent_id: Id,
    /// How it fares here. Absent right after a restore: what it said last was of another timeline, and it says nothing new
    /// before the next commit.
    pub telemetry: Option<AgentTelemetry>,
    /// What it decided in the transition that ended here; absent where none did: at boundary 0 and right after a restore.
    pub selected_decision: Option<TypedValue>,
    /// What its port was given in the transition that ended here; absent where none did.
    pub applied_controls: Option<PortControl>,
}

/// What there is to see and hear at a committed boundary: the world's own handles, shared and not copied.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotMedia {
    /// One frame of every view that agents see, then those there are for spectators, each in declared order.
    pub views: Vec<ViewRef>,
    /// One chunk of every declared stream, in declared order, of the transition that ended here; none where none did.
    pub audio: Vec<AudioRef>,
}

/// One committed boundary, as it is shown to whoever watches.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommittedSnapshot {
    /// The [`SessionDescriptor`](crate::SessionDescriptor) it is to be read with.
    pub descriptor_revision: U64,
    /// Which life of the publisher: `publisher-` and the first epoch it published. A store keeps epochs apart over every
    /// coordinator of a session; without a store, it is only as unique as the epoch's name.
    pub publisher_incarnation: Id,
    /// Session and epoch; its step is the boundary.
    pub scope: Scope,
    /// The episode.
    pub episode_id: Id,
    /// Publications accepted in this life of the publisher, this one included. It says nothing about boundaries.
    pub sequence: U64,
    /// Logical time since the episode began.
    pub world_time: RationalNs,
    /// Agents, by name.
    pub agents: Vec<SnapshotAgent>,
    /// The task's progress.
    pub progress: TypedValue,
    /// What there is to see and hear.
    pub media: SnapshotMedia,
    /// Events of the transition that ended here, in the task's order; at boundary 0 those of the set-up; none after a
    /// restore.
    pub event_ids: Vec<Id>,
}

impl CommittedSnapshot {
    /// Every artifact it refers to, under the name it travels by: `view.<id>`, `audio.<id>`.
    pub fn attachments(&self) -> impl Iterator<Item = (String, &Artifact)> {
        let views = self.media.views.iter();
        let views = views.map(|view| (format!("view.{}", view.view_id), &view.pixels));
        let audio = self.media.audio.iter();
        views.chain(audio.map(|chunk| (format!("audio.{}", chunk.stream_id), &chunk.samples)))
    }
}
