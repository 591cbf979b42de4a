//! Staging and activating the whole group: the environment first, then the agents in the order of the day.

use wellwritten_envelope::{Envelope, Id, Manifest, U64};

use crate::audio_rules;
use crate::coordinator::Fault;
use crate::coordinator::asking::{Asking, Unanswered};
use crate::coordinator::own_payloads::RestoredCoordinator;
use crate::coordinator::restoring::{Activated, Staged};
use crate::observation_rules::check_installed;
use crate::session_state::Link;
use crate::{
    Answer, Artifact, Call, Coordinator, ErrorCode, RequestId, StageRestore, StagedAgent,
    StagedState, StagedWorld, WorldObservation,
};

/// One participant's answer to being staged.
struct StagedPart {
    staged: Staged,
    /// Where what it found in its payload differs from the rest of the checkpoint.
    difference: Option<String>,
}

/// One participant's answer to being activated: what a world then shows.
type ActivatedPart = (RequestId, Option<WorldObservation>);

impl Coordinator {
    /// Stages every participant, the environment first and then the agents in the order of the day, and holds what each
    /// found in its payload against the rest of the checkpoint.
    ///
    /// On a failure the first participant in order is blamed, and everyone is tainted that staged or may have: whoever
    /// refused and says that nothing changed, and whoever was not asked, is not. A lost reply may hide a staged state.
    pub(crate) async fn stage_all(
        &self,
        links: &[Link],
        envelope: &Envelope<'_>,
        restored: &RestoredCoordinator,
    ) -> Result<Vec<Staged>, Fault> {
        let questions = |from: usize, to: usize| {
            (from..to)
                .map(|index| {
                    Box::pin(self.stage(&links[index], index, envelope, restored))
                        as Asking<'_, StagedPart>
                })
                .collect()
        };
        let mut parts = self.each_in_order(questions(0, 1)).await;
        if matches!(
            parts[0],
            Some(Ok(StagedPart {
                difference: None,
                ..
            }))
        ) {
            parts.extend(self.each_in_order(questions(1, links.len())).await);
        }
        let mut staged = Vec::with_capacity(links.len());
        let (mut faults, mut tainted) = (Vec::new(), Vec::new());
        for (link, part) in links.iter().zip(parts) {
            let is_certain = matches!(part, None | Some(Err(Unanswered::Refused(_))));
            if !is_certain {
                tainted.push(link.participant_id.clone());
            }
            match part {
                Some(Ok(part)) => match part.difference {
                    Some(difference) => faults.push(Fault::broken(
                        &link.participant_id,
                        ErrorCode::IncompatibleState,
                        difference,
                    )),
                    None => staged.push(part.staged),
                },
                Some(Err(unanswered)) => faults.push(unanswered.into_fault()),
                None => {}
            }
        }
        match faults.into_iter().next() {
            Some(blamed) => {
                self.taint(tainted);
                Err(blamed)
            }
            None => Ok(staged),
        }
    }

    /// What the participant at `index` must have found in its payload: the manifest's and the record's words, which
    /// were compared with each other.
    fn expected_state(
        &self,
        envelope: &Envelope<'_>,
        restored: &RestoredCoordinator,
        index: usize,
    ) -> StagedState {
        let manifest = &envelope.manifest;
        let boundary = manifest.source_scope.step;
        let Some(agent) = index.checked_sub(1) else {
            return StagedState::World(StagedWorld {
                boundary,
                world_time: manifest.world_time,
                episode_id: manifest.episode_id.clone(),
                inspection_digest: restored.inspection.digest(),
                audio: audio_rules::positions(
                    self.state.borrow().environment.descriptor(),
                    &restored.timelines,
                ),
            });
        };
        let agent = &restored.agents[agent];
        StagedState::Agent(StagedAgent {
            boundary,
            brain_ticks: U64(agent.brain_ticks),
            remainder: agent.clock.remainder(),
            decision_context_digest: agent.context.digest(),
        })
    }

    async fn stage(
        &self,
        link: &Link,
        index: usize,
        envelope: &Envelope<'_>,
        restored: &RestoredCoordinator,
    ) -> Result<StagedPart, Unanswered> {
        let manifest = &envelope.manifest;
        // A fresh artifact: nothing of the old epoch's is shared with what is restored.
        let payload = envelope.payload(payload_of(envelope, index));
        let call = Call::StageRestore(StageRestore {
            checkpoint_id: manifest.checkpoint_id.clone(),
            source_scope: manifest.source_scope.clone(),
            compatibility_digest: link.compatibility_digest,
            payload: Artifact::seal(
                payload.unwrap_or_default().to_vec(),
                Artifact::CHECKPOINT_PAYLOAD,
            ),
        });
        let request_id = self.next_request_id();
        let scope = self.scope(manifest.source_scope.step.0);
        match self.ask(link, request_id, Some(scope), call).await? {
            Answer::Staged {
                checkpoint_id,
                restore_token: token,
                state,
            } if checkpoint_id == manifest.checkpoint_id => Ok(StagedPart {
                staged: Staged { request_id, token },
                difference: state.difference(&self.expected_state(envelope, restored, index)),
            }),
            _ => Err(Self::wrong_answer(link, "State.StageRestore")),
        }
    }

    /// Activates every participant, the environment first and then the agents in the order of the day, and checks what
    /// the world then shows. The first in order is blamed; the caller taints everyone on a failure.
    pub(crate) async fn activate_all(
        &self,
        links: &[Link],
        staged: &[Staged],
        envelope: &Envelope<'_>,
        restored: &RestoredCoordinator,
    ) -> Result<Activated, Fault> {
        let manifest = &envelope.manifest;
        let boundary = manifest.source_scope.step.0;
        let (world, agents) = links.split_first().expect("a session has an environment");
        let (request_id, observation) = self
            .activate(world, &staged[0], manifest)
            .await
            .map_err(Unanswered::into_fault)?;
        let misplaced = |link: &Link| {
            let message = "the world shows itself on activation, an agent does not";
            Fault::broken(&link.participant_id, ErrorCode::IdentityMismatch, message)
        };
        let observation = observation.ok_or_else(|| misplaced(world))?;
        check_installed(
            world.descriptor(),
            &observation,
            boundary,
            manifest.world_time,
        )?;
        if observation.inspection.digest() != restored.inspection.digest() {
            let message = "the restored world is inspected as another one than was captured";
            return Err(Fault::broken(
                &world.participant_id,
                ErrorCode::IncompatibleState,
                message,
            ));
        }
        let questions = agents.iter().zip(&staged[1..]).map(|(link, staged)| {
            Box::pin(self.activate(link, staged, manifest)) as Asking<'_, ActivatedPart>
        });
        let activated = self
            .in_order(questions.collect())
            .await
            .map_err(Unanswered::into_fault)?;
        let mut kept: Vec<(Link, RequestId)> = links
            .iter()
            .zip(staged)
            .map(|(link, staged)| (link.clone(), staged.request_id))
            .collect();
        kept.push((world.clone(), request_id));
        for (link, (request_id, shown)) in agents.iter().zip(activated) {
            if shown.is_some() {
                return Err(misplaced(link));
            }
            kept.push((link.clone(), request_id));
        }
        Ok((observation, kept))
    }

    async fn activate(
        &self,
        link: &Link,
        staged: &Staged,
        manifest: &Manifest,
    ) -> Result<ActivatedPart, Unanswered> {
        let request_id = self.next_request_id();
        let call = Call::ActivateRestore {
            restore_token: staged.token.clone(),
        };
        let step = manifest.source_scope.step;
        match self
            .ask(link, request_id, Some(self.scope(step.0)), call)
            .await?
        {
            Answer::Activated {
                checkpoint_id: activated,
                committed_step,
                observation,
            } if activated == manifest.checkpoint_id && committed_step == step => {
                Ok((request_id, observation))
            }
            _ => Err(Self::wrong_answer(link, "State.ActivateRestore")),
        }
    }
}

/// The payload of the participant at `index`: the environment, then agents in the manifest's order, which was compared
/// with the session's.
fn payload_of<'a>(envelope: &'a Envelope<'_>, index: usize) -> &'a Id {
    match index.checked_sub(1) {
        None => &envelope.manifest.environment.payload,
        Some(agent) => &envelope.manifest.agents[agent].payload,
    }
}
