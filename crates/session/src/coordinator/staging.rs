//! Staging and activating the whole group, the environment first, then agents by name.

use wellwritten_envelope::{Envelope, Id};

use crate::coordinator::Fault;
use crate::coordinator::asking::Unanswered;
use crate::coordinator::own_payloads::RestoredCoordinator;
use crate::coordinator::restoring::{Activated, Staged};
use crate::observation_rules::check_observation;
use crate::session_state::Link;
use crate::{
    Answer, Artifact, Call, Coordinator, ErrorCode, RequestId, StageRestore, WorldObservation,
};

impl Coordinator {
    /// Stages every participant. On a failure those that staged are tainted, and so is the one that failed unless it
    /// said itself that nothing changed: a lost reply may hide a staged state.
    pub(crate) async fn stage_all(
        &self,
        links: &[Link],
        envelope: &Envelope<'_>,
        boundary: u64,
    ) -> Result<Vec<Staged>, Fault> {
        let mut staged: Vec<Staged> = Vec::with_capacity(links.len());
        for (index, link) in links.iter().enumerate() {
            let payload = payload_of(envelope, index);
            match self.stage(link, payload, envelope, boundary).await {
                Ok(one) => staged.push(one),
                Err(unanswered) => {
                    let certain = matches!(unanswered, Unanswered::Refused(_));
                    let reached = if certain { index } else { index + 1 };
                    self.taint(
                        links[..reached]
                            .iter()
                            .map(|link| link.participant_id.clone()),
                    );
                    return Err(unanswered.into_fault());
                }
            }
        }
        Ok(staged)
    }

    async fn stage(
        &self,
        link: &Link,
        payload: &Id,
        envelope: &Envelope<'_>,
        boundary: u64,
    ) -> Result<Staged, Unanswered> {
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
            } if checkpoint_id == manifest.checkpoint_id => Ok(Staged {
                request_id,
                token: restore_token,
            }),
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
        check_observation(
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
