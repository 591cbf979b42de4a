//! [`check_coherence`]: whether a snapshot shows one boundary and nothing else.

use wellwritten_envelope::{Id, RationalNs};

use crate::{
    Artifact, AudioPosition, CommittedSnapshot, ErrorCode, SessionDescriptor, ViewAudience,
    ViewDescriptor,
};

/// What is known of a committed boundary, apart from any snapshot of it.
#[derive(Clone, Debug)]
pub struct CommittedBoundary {
    /// The boundary.
    pub boundary: u64,
    /// The world's logical time there.
    pub world_time: RationalNs,
    /// The boundary each agent committed, by agent.
    pub committed_steps: Vec<(Id, u64)>,
    /// Where every stream of sound is, in declared order.
    pub audio: Vec<AudioPosition>,
    /// The artifacts of that boundary, under the names of [`CommittedSnapshot::attachments`].
    pub attachments: Vec<(String, Artifact)>,
}

/// Why a snapshot is not coherent: `BUFFER_INVALID`, and nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IncoherentSnapshot {
    /// It is to be read with another descriptor.
    #[error("it names revision {found} of the descriptor, this is revision {expected}")]
    Revision {
        /// The revision it names.
        found: u64,
        /// The revision at hand.
        expected: u64,
    },
    /// It is of another session.
    #[error("it is of session {found}, the descriptor of {expected}")]
    Session {
        /// Its session.
        found: Id,
        /// The descriptor's.
        expected: Id,
    },
    /// It is of another boundary.
    #[error("it shows boundary {found}, {expected} was committed")]
    Boundary {
        /// Its boundary.
        found: u64,
        /// The committed one.
        expected: u64,
    },
    /// It shows another time.
    #[error("it shows the world's time of another boundary")]
    WorldTime,
    /// An agent has not committed the boundary.
    #[error("{agent} committed {found}, the boundary is {expected}")]
    NotCommitted {
        /// The agent.
        agent: Id,
        /// What it committed.
        found: u64,
        /// The boundary.
        expected: u64,
    },
    /// It lists other agents than there are, or in another order.
    #[error("it lists agents {found:?}, there are {expected:?}")]
    Agents {
        /// Those it lists.
        found: Vec<Id>,
        /// Those there are.
        expected: Vec<Id>,
    },
    /// An agent's telemetry reports other rates than its graph has.
    #[error("the telemetry of {agent} lists other roles than its graph")]
    RateRoles {
        /// The agent.
        agent: Id,
    },
    /// An agent's controls are those of another port.
    #[error("the controls of {agent} are of port {found}, it drives {expected}")]
    Port {
        /// The agent.
        agent: Id,
        /// The port of the controls.
        found: Id,
        /// Its port.
        expected: Id,
    },
    /// A decision without its controls or the other way round, or actions of some agents only, or at boundary 0.
    #[error("the decision and controls of {agent} are not of the transition that ended here")]
    Actions {
        /// The agent.
        agent: Id,
    },
    /// Progress follows another schema than the descriptor's.
    #[error("progress follows {found}, the descriptor names {expected}")]
    TaskSchema {
        /// The schema of the progress.
        found: Id,
        /// The descriptor's.
        expected: Id,
    },
    /// The views are not the declared ones, in their order.
    #[error("it shows views {found:?}, declared are {expected:?}")]
    Views {
        /// Those it shows.
        found: Vec<Id>,
        /// Those declared.
        expected: Vec<Id>,
    },
    /// A frame of another step than the one due.
    #[error("view {view} was rendered at {found}, {expected} is due")]
    ProducedStep {
        /// The view.
        view: Id,
        /// Its producing step.
        found: u64,
        /// The one due.
        expected: u64,
    },
    /// A frame of another shape than declared.
    #[error("view {view} has {found} bytes, declared are {expected}")]
    Shape {
        /// The view.
        view: Id,
        /// Its bytes.
        found: u64,
        /// The declared ones.
        expected: u64,
    },
    /// The chunks are not one of every declared stream, in their order; or there are some where no transition ended.
    #[error("it sounds on streams {found:?}, due are {expected:?}")]
    Streams {
        /// Those it sounds on.
        found: Vec<Id>,
        /// Those that are due.
        expected: Vec<Id>,
    },
    /// A chunk that ends elsewhere than where its stream is.
    #[error("the chunk of stream {stream} does not end at {position}, where the stream is")]
    AudioPosition {
        /// The stream.
        stream: Id,
        /// Where it is.
        position: u64,
    },
    /// A chunk of another shape than declared.
    #[error("the chunk of stream {stream} has {found} bytes, its sample frames are {expected}")]
    AudioShape {
        /// The stream.
        stream: Id,
        /// Its bytes.
        found: u64,
        /// Those of its sample frames.
        expected: u64,
    },
    /// Something it refers to is not an artifact of the boundary, or the other way round.
    #[error("{name} is not the artifact of this boundary")]
    Attachment {
        /// The attachment.
        name: String,
    },
    /// An event is listed twice, or there are more than a transition may have.
    #[error("its {count} events are too many, or one is listed twice")]
    Events {
        /// How many it lists.
        count: usize,
    },
}

impl IncoherentSnapshot {
    /// What it is on the wire.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        ErrorCode::BufferInvalid
    }
}

/// Whether `snapshot` shows `committed` as `descriptor` describes the session: revision, agents, ports, rate roles, actions,
/// producing steps and shapes of views, ends and shapes of chunks, and every artifact by identity, one to one.
pub fn check_coherence(
    snapshot: &CommittedSnapshot,
    descriptor: &SessionDescriptor,
    committed: &CommittedBoundary,
) -> Result<(), IncoherentSnapshot> {
    check_identity(snapshot, descriptor, committed)?;
    check_agents(snapshot, descriptor, committed)?;
    check_views(snapshot, descriptor)?;
    check_audio(snapshot, descriptor, committed)?;
    check_attachments(snapshot, committed)?;
    let events = &snapshot.event_ids;
    let is_repeated = |(index, id)| events[..index].contains(id);
    if events.len() > crate::Behaviour::MAX_EVENTS || events.iter().enumerate().any(is_repeated) {
        return Err(IncoherentSnapshot::Events {
            count: events.len(),
        });
    }
    Ok(())
}

fn check_identity(
    snapshot: &CommittedSnapshot,
    descriptor: &SessionDescriptor,
    committed: &CommittedBoundary,
) -> Result<(), IncoherentSnapshot> {
    if snapshot.descriptor_revision != descriptor.revision {
        return Err(IncoherentSnapshot::Revision {
            found: snapshot.descriptor_revision.0,
            expected: descriptor.revision.0,
        });
    }
    if snapshot.scope.session_id != descriptor.session_id {
        return Err(IncoherentSnapshot::Session {
            found: snapshot.scope.session_id.clone(),
            expected: descriptor.session_id.clone(),
        });
    }
    if snapshot.scope.step.0 != committed.boundary {
        return Err(IncoherentSnapshot::Boundary {
            found: snapshot.scope.step.0,
            expected: committed.boundary,
        });
    }
    if snapshot.world_time != committed.world_time {
        return Err(IncoherentSnapshot::WorldTime);
    }
    if *snapshot.progress.schema() != descriptor.task_schema {
        return Err(IncoherentSnapshot::TaskSchema {
            found: snapshot.progress.schema().id.clone(),
            expected: descriptor.task_schema.id.clone(),
        });
    }
    Ok(())
}

fn check_agents(
    snapshot: &CommittedSnapshot,
    descriptor: &SessionDescriptor,
    committed: &CommittedBoundary,
) -> Result<(), IncoherentSnapshot> {
    let expected = descriptor.agents.iter().map(|agent| &agent.agent_id);
    let found = snapshot.agents.iter().map(|agent| &agent.agent_id);
    let attested = committed.committed_steps.iter().map(|(agent, _)| agent);
    if !found.clone().eq(expected.clone()) || !attested.eq(expected.clone()) {
        return Err(IncoherentSnapshot::Agents {
            found: found.cloned().collect(),
            expected: expected.cloned().collect(),
        });
    }
    for (agent, step) in &committed.committed_steps {
        if *step != committed.boundary {
            return Err(IncoherentSnapshot::NotCommitted {
                agent: agent.clone(),
                found: *step,
                expected: committed.boundary,
            });
        }
    }
    let first = snapshot.agents.first();
    let moved = first.is_some_and(|agent| agent.selected_decision.is_some());
    for (agent, attested) in snapshot.agents.iter().zip(&descriptor.agents) {
        let agent_id = || agent.agent_id.clone();
        if let Some(telemetry) = &agent.telemetry {
            let roles = telemetry.rates.iter().map(|rate| &rate.role_id);
            if !roles.eq(&attested.rate_roles) {
                return Err(IncoherentSnapshot::RateRoles { agent: agent_id() });
            }
        }
        if agent.selected_decision.is_some() != moved
            || agent.applied_controls.is_some() != moved
            || (moved && committed.boundary == 0)
        {
            return Err(IncoherentSnapshot::Actions { agent: agent_id() });
        }
        if let Some(controls) = &agent.applied_controls
            && controls.port_id != attested.port_id
        {
            return Err(IncoherentSnapshot::Port {
                agent: agent_id(),
                found: controls.port_id.clone(),
                expected: attested.port_id.clone(),
            });
        }
    }
    Ok(())
}

/// Every sensory view, then some of the spectators' views, each in declared order, each of the step and shape due.
fn check_views(
    snapshot: &CommittedSnapshot,
    descriptor: &SessionDescriptor,
) -> Result<(), IncoherentSnapshot> {
    let declared = &descriptor.environment.views;
    let of = |audience| {
        declared
            .iter()
            .filter(move |view| view.audience == audience)
    };
    let (mut sensory, mut spectator) = (of(ViewAudience::Sensory), of(ViewAudience::Spectator));
    let views = &snapshot.media.views;
    let wrong_views = || IncoherentSnapshot::Views {
        found: views.iter().map(|view| view.view_id.clone()).collect(),
        expected: declared.iter().map(|view| view.view_id.clone()).collect(),
    };
    for view in views {
        let due = match sensory.next() {
            Some(next) => Some(next).filter(|next| next.view_id == view.view_id),
            None => spectator.find(|next: &&ViewDescriptor| next.view_id == view.view_id),
        };
        let due = due.ok_or_else(wrong_views)?;
        let step = due.producing_step(snapshot.scope.step.0);
        if view.produced_step.0 != step {
            return Err(IncoherentSnapshot::ProducedStep {
                view: view.view_id.clone(),
                found: view.produced_step.0,
                expected: step,
            });
        }
        if view.pixels.byte_length() != due.byte_length()
            || view.pixels.content_type() != Artifact::RGBA8
        {
            return Err(IncoherentSnapshot::Shape {
                view: view.view_id.clone(),
                found: view.pixels.byte_length(),
                expected: due.byte_length(),
            });
        }
    }
    match sensory.next() {
        Some(_) => Err(wrong_views()),
        None => Ok(()),
    }
}

/// Where a transition ended, one chunk of every stream that ends where the stream is; silence elsewhere.
fn check_audio(
    snapshot: &CommittedSnapshot,
    descriptor: &SessionDescriptor,
    committed: &CommittedBoundary,
) -> Result<(), IncoherentSnapshot> {
    let mut agents = snapshot.agents.iter();
    let moved = agents.any(|agent| agent.selected_decision.is_some());
    let declared = descriptor.environment.audio.iter().filter(|_| moved);
    let expected = declared.clone().map(|stream| &stream.stream_id);
    let chunks = &snapshot.media.audio;
    let found = chunks.iter().map(|chunk| &chunk.stream_id);
    let positions = committed.audio.iter().filter(|_| moved);
    let attested = positions.clone().map(|position| &position.stream_id);
    if !found.clone().eq(expected.clone()) || !attested.eq(expected.clone()) {
        return Err(IncoherentSnapshot::Streams {
            found: found.cloned().collect(),
            expected: expected.cloned().collect(),
        });
    }
    for ((chunk, declared), position) in chunks.iter().zip(declared).zip(positions) {
        let stream = chunk.stream_id.clone();
        let end = chunk
            .first_sample
            .0
            .checked_add(u64::from(chunk.sample_frames));
        if end != Some(position.next_sample.0) {
            return Err(IncoherentSnapshot::AudioPosition {
                stream,
                position: position.next_sample.0,
            });
        }
        let expected = declared.byte_length(chunk.sample_frames);
        let samples = &chunk.samples;
        if samples.byte_length() != expected || samples.content_type() != Artifact::F32LE {
            return Err(IncoherentSnapshot::AudioShape {
                stream,
                found: samples.byte_length(),
                expected,
            });
        }
    }
    Ok(())
}

/// One to one: every artifact referred to is the boundary's own under that name, and the boundary has no other.
fn check_attachments(
    snapshot: &CommittedSnapshot,
    committed: &CommittedBoundary,
) -> Result<(), IncoherentSnapshot> {
    let mut left: Vec<&(String, Artifact)> = committed.attachments.iter().collect();
    for (name, artifact) in snapshot.attachments() {
        let position = left
            .iter()
            .position(|(other, own)| *other == name && own.is_same(artifact));
        match position {
            Some(position) => left.swap_remove(position),
            None => return Err(IncoherentSnapshot::Attachment { name }),
        };
    }
    match left.first() {
        Some((name, _)) => Err(IncoherentSnapshot::Attachment { name: name.clone() }),
        None => Ok(()),
    }
}
