//! Staging and activating the whole group, the environment first, then agents by name.

use wellwritten_envelope::{Envelope, Id, U64};

use crate::audio_rules;
use crate::coordinator::Fault;
use crate::coordinator::asking::Unanswered;
use crate::coordinator::own_payloads::RestoredCoordinator;
use crate::coordinator::restoring::{Activated, Staged};
use crate::observation_rules::check_installed;
use crate::session_state::Link;
use crate::{
    Answer, Artifact, Call, Coordinator, ErrorCode, RequestId, StageRestore, StagedAgent,
    StagedState, StagedWorld, WorldObservation,
};

impl Coordinator {
    /// Stages every participant, and holds what each found in its payload against the rest of the checkpoint. On a failure those that staged are tainted, and so is the one that failed unless it
    /// said itself that nothing changed: a lost reply may hide a staged state.
    pub(crate) async fn stage_all(
        &self,
        links: &[Link],
        envelope: &Envelope<'_>,
        boundary: u64,
        restored: &RestoredCoordinator,
    ) -> Result<Vec<Staged>, Fault> {
        let mut staged: Vec<Staged> = Vec::with_capacity(links.len());
        for (index, link) in links.iter().enumerate() {
            let payload = payload_of(envelope, index);
            match self.stage(link, payload, envelope, boundary).await {
                Ok((one, state)) => {
                    staged.push(one);
                    let expected = self.expected_state(envelope, restored, index);
                    if let Some(difference) = state.difference(&expected) {
                        self.taint_first(links, index + 1);
                        let (participant, code) =
                            (&link.participant_id, ErrorCode::IncompatibleState);
                        return Err(Fault::broken(participant, code, difference));
                    }
                }
                Err(unanswered) => {
                    let certain = matches!(unanswered, Unanswered::Refused(_));
                    self.taint_first(links, if certain { index } else { index + 1 });
                    return Err(unanswered.into_fault());
                }
            }
        }
        Ok(staged)
    }

    fn taint_first(&self, links: &[Link], count: usize) {
        let first = links.iter().take(count);
        self.taint(first.map(|link| link.participant_id.clone()));
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
                episode_id: self.episode_id(),
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
        payload: &Id,
        envelope: &Envelope<'_>,
        boundary: u64,
    ) -> Result<(Staged, StagedState), Unanswered> {
        let manifest = &envelope.manifest;
        // A fresh artifact: nothing of the old epoch's is shared with what is restored.
        let bytes = envelope.payload(payload).unwrap_or_default().to_vec();
        let call = Call::StageRestore(StageRestore {
            checkpoint_id: manifest.checkpoint_id.clone(),
            source_scope: manifest.source_scope.clone(),
            compatibility_digest: link.compatibility_digest,
            payload: Artifact::seal(bytes, Artifact::CHECKPOINT_PAYLOAD),
        });
        let request_id = self.next_request_id();
        match self
            .ask(link, request_id, Some(self.scope(boundary)), call)
            .await?
        {
            Answer::Staged {
                checkpoint_id,
                restore_token,
                state,
            } if checkpoint_id == manifest.checkpoint_id => {
                let token = restore_token;
                Ok((Staged { request_id, token }, state))
            }
            _ => Err(Self::wrong_answer(link, "State.StageRestore")),
        }
    }

    /// Activates every participant and checks what the world then shows. The caller taints everyone on a failure.
    pub(crate) async fn activate_all(
        &self,
        links: &[Link],
        staged: &[Staged],
        envelope: &Envelope<'_>,
        restored: &RestoredCoordinator,
    ) -> Result<Activated, Fault> {
        let manifest = &envelope.manifest;
        let boundary = manifest.source_scope.step.0;
        let mut kept = Vec::new();
        let mut shown = None;
        for (index, (link, staged)) in links.iter().zip(staged).enumerate() {
            let (request_id, observation) = self
                .activate(link, staged, &manifest.checkpoint_id, boundary)
                .await
                .map_err(Unanswered::into_fault)?;
            if observation.is_some() != (index == 0) {
                let message = "the world shows itself on activation, an agent does not";
                return Err(Fault::broken(
                    &link.participant_id,
                    ErrorCode::IdentityMismatch,
                    message,
                ));
            }
            kept.push((link.clone(), staged.request_id));
            kept.push((link.clone(), request_id));
            shown = shown.or(observation);
        }
        let observation = shown.expect("the environment's answer was checked to hold one");
        let world = &links[0];
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
        Ok((observation, kept))
    }

    async fn activate(
        &self,
        link: &Link,
        staged: &Staged,
        checkpoint_id: &Id,
        boundary: u64,
    ) -> Result<(RequestId, Option<WorldObservation>), Unanswered> {
        let request_id = self.next_request_id();
        let call = Call::ActivateRestore {
            restore_token: staged.token.clone(),
        };
        match self
            .ask(link, request_id, Some(self.scope(boundary)), call)
            .await?
        {
            Answer::Activated {
                checkpoint_id: activated,
                committed_step,
                observation,
            } if activated == *checkpoint_id && committed_step.0 == boundary => {
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
