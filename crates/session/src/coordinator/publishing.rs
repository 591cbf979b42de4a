//! Publication of committed boundaries, and what may be asked about them.

use std::rc::Rc;

use wellwritten_envelope::{Id, U64};

use crate::audio_rules::positions;
use crate::coordinator::manifest::SCHEDULER;
use crate::{
    BehaviourDigest, CommittedBoundary, CommittedSnapshot, Coordinator, PortControl,
    PublicationGate, PublicationOutcome, PublishedAgent, PublishedEvent, QueryError,
    SessionDescriptor, SessionQueries, SnapshotAgent, SnapshotMedia, SubscribeError,
    SubscribeOptions, Subscription, TaskEvent, TraceRecord, TraceSink, TypedValue,
};

/// What ended at the boundary that is published.
#[derive(Default)]
pub(crate) struct Ended {
    /// What every agent decided, by agent; empty where no transition ended.
    pub decisions: Vec<TypedValue>,
    /// What the world was given, by port; empty where no transition ended.
    pub controls: Vec<PortControl>,
    /// What the task saw.
    pub events: Vec<TaskEvent>,
    /// The boundary each agent says it committed, by agent; empty where the coordinator itself put them there.
    pub committed_steps: Vec<u64>,
}

impl Coordinator {
    /// Begins to watch what is published. See [`Subscription`].
    pub fn subscribe(&self, options: SubscribeOptions) -> Result<Subscription, SubscribeError> {
        self.publisher.subscribe(options)
    }

    /// What the session is made of: the revision asked for, or the last one.
    pub fn descriptor(&self, revision: Option<u64>) -> Result<Rc<SessionDescriptor>, QueryError> {
        self.publisher.descriptor(revision)
    }

    /// The latest committed boundary that was published.
    pub fn snapshot(&self) -> Result<Rc<CommittedSnapshot>, QueryError> {
        self.publisher.snapshot()
    }

    /// Answers questions about what is published, to be put behind a transport of the host's.
    #[must_use]
    pub fn queries(&self) -> SessionQueries {
        SessionQueries::new(self.session_id.clone(), &self.publisher)
    }

    /// Puts the host's own outlet before every publication from now on, or takes it away.
    pub fn set_publication_gate(&self, gate: Option<Rc<dyn PublicationGate>>) {
        self.publisher.set_gate(gate);
    }

    /// Tells every transition from now on to `sink`, or to nobody.
    pub fn set_trace_sink(&self, sink: Option<Rc<dyn TraceSink>>) {
        *self.trace_sink.borrow_mut() = sink;
    }

    /// The digest of the behaviour of the present timeline, records that are no longer kept included.
    #[must_use]
    pub fn behaviour_digest(&self) -> BehaviourDigest {
        self.state.borrow().trace.digest()
    }

    /// The digest of the behaviour up to `boundary`, where it is remembered ([`Trace::digest_at`](crate::Trace::digest_at)).
    #[must_use]
    pub fn behaviour_digest_at(&self, boundary: u64) -> Option<BehaviourDigest> {
        self.state.borrow().trace.digest_at(boundary)
    }

    /// A timeline begins at boundary 0.
    pub(crate) fn publish_begun(&self, events: Vec<TaskEvent>) {
        if let Some(sink) = self.trace_sink.borrow().clone() {
            let (episode_id, epoch) = {
                let state = self.state.borrow();
                (state.episode_id.clone(), state.epoch.clone())
            };
            sink.began(&episode_id, &epoch);
        }
        self.publish_standing(events);
    }

    /// Publishes the boundary the session was set up or restored at: what it is made of, then where it stands.
    pub(crate) fn publish_standing(&self, events: Vec<TaskEvent>) {
        match self.described() {
            Ok(descriptor) => {
                let epoch = self.state.borrow().epoch.clone();
                self.publisher.describe(&epoch, descriptor);
                self.publish(Ended {
                    events,
                    ..Ended::default()
                });
            }
            Err(reason) => {
                self.publisher.fault(reason);
            }
        }
    }

    /// Publishes the boundary a transition ended at, then records the transition, with what was published.
    pub(crate) fn publish_and_record(&self, ended: Ended, mut record: TraceRecord) {
        let boundary = record.behaviour.acknowledged_boundary;
        if self.publish(ended).is_accepted() {
            record.behaviour.published_boundary = Some(boundary);
        }
        record.operational.resolutions = std::mem::take(&mut self.state.borrow_mut().resolutions);
        let sink = self.trace_sink.borrow().clone();
        let told = sink.as_ref().map(|_| record.clone());
        self.state.borrow_mut().trace.push(record);
        if let (Some(sink), Some(record)) = (sink, told) {
            sink.committed(&record, &self.behaviour_digest());
        }
    }

    /// Events first, then the snapshot.
    fn publish(&self, ended: Ended) -> PublicationOutcome {
        let (snapshot, committed) = match self.draft(&ended) {
            Ok(draft) => draft,
            Err(reason) => return self.publisher.fault(reason),
        };
        if self.publisher.has_listeners() {
            for event in ended.events {
                let scope = snapshot.scope.clone();
                self.publisher.tell(&PublishedEvent::Task { scope, event });
            }
        }
        self.publisher.publish(snapshot, &committed)
    }

    /// The snapshot of the boundary the session stands at, and what it is held against.
    fn draft(&self, ended: &Ended) -> Result<(CommittedSnapshot, CommittedBoundary), String> {
        let stamp = self.publisher.stamp();
        let stamp = stamp.ok_or("the session was not described")?;
        let state = self.state.borrow();
        let boundary = state.machine.phase().committed_boundary();
        let boundary = boundary.ok_or("the session stands at no committed boundary")?;
        let observation = state.observation.as_ref();
        let observation = observation.ok_or("there is nothing to be seen")?;
        let progress = state.progress.clone().ok_or("there is no progress")?;
        let mut decisions = ended.decisions.iter().cloned();
        let mut steps = ended.committed_steps.iter().copied();
        let mut agents = Vec::with_capacity(state.agents.len());
        let mut committed_steps = Vec::with_capacity(state.agents.len());
        for slot in &state.agents {
            let agent_id = slot.link.participant_id.clone();
            let mut controls = ended.controls.iter();
            committed_steps.push((agent_id.clone(), steps.next().unwrap_or(state.boundary)));
            agents.push(SnapshotAgent {
                agent_id,
                telemetry: slot.telemetry.clone(),
                selected_decision: decisions.next(),
                applied_controls: controls
                    .find(|control| control.port_id == slot.port_id)
                    .cloned(),
            });
        }
        let snapshot = CommittedSnapshot {
            descriptor_revision: stamp.descriptor_revision,
            publisher_incarnation: stamp.publisher_incarnation,
            scope: wellwritten_envelope::Scope {
                session_id: self.session_id.clone(),
                epoch: state.epoch.clone(),
                step: U64(boundary),
            },
            episode_id: state.episode_id.clone(),
            sequence: stamp.sequence,
            world_time: observation.world_time,
            agents,
            progress,
            media: SnapshotMedia {
                views: observation.views().cloned().collect(),
                audio: observation.audio.clone(),
            },
            event_ids: ended.events.iter().map(|event| event.id.clone()).collect(),
        };
        let committed = CommittedBoundary {
            boundary: state.boundary,
            world_time: state.committed_world_time,
            committed_steps,
            audio: positions(state.environment.descriptor(), &state.timelines),
            attachments: observation
                .attachments()
                .map(|(name, artifact)| (name, artifact.clone()))
                .collect(),
        };
        Ok((snapshot, committed))
    }

    /// What the session is made of, as its participants attested it.
    fn described(&self) -> Result<SessionDescriptor, String> {
        let composition_digest = self
            .composition_digest()
            .map_err(|error| error.to_string())?;
        let state = self.state.borrow();
        let progress = state.progress.as_ref().ok_or("there is no progress")?;
        let agents = state.agents.iter();
        Ok(SessionDescriptor {
            session_id: self.session_id.clone(),
            revision: U64(0),
            composition_digest,
            scheduler_id: Id::parse(SCHEDULER).expect("a legal id"),
            environment: state.environment.descriptor().clone(),
            task_schema: progress.schema().clone(),
            agents: agents
                .map(|slot| PublishedAgent::new(slot.port_id.clone(), slot.link.profile()))
                .collect(),
        })
    }
}
