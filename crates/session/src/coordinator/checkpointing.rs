//! Checkpoints: every participant read at one committed boundary, one envelope, one commit.

use std::sync::Arc;

use wellwritten_envelope::{Id, Scope};
use wellwritten_store::{PayloadBytes, SaveRequest};

use crate::coordinator::Fault;
use crate::coordinator::asking::{Asking, Unanswered, all_unless_faulted};
use crate::coordinator::manifest::WORLD;
use crate::coordinator::own_payloads::name;
use crate::session_state::Link;
use crate::{
    Answer, Artifact, Call, Coordinator, ErrorCode, Phase, RequestId, SaveKind, SaveOutcome,
    SaveTicket, SessionError,
};

/// One participant's answer to being captured.
type CapturedPart = (RequestId, Artifact);

/// What checkpoint to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointRequest {
    /// Its name, never used before; one made of epoch and boundary where none is given.
    pub checkpoint_id: Option<Id>,
    /// Whether a later one may take its place while it waits for the store.
    pub kind: SaveKind,
}

impl Coordinator {
    /// Captures every participant at the committed boundary and hands the checkpoint to the store; returns as soon as it
    /// is captured.
    ///
    /// A place on the way to the store is reserved before anyone is asked; where there is none, or the bytes are too
    /// many, the checkpoint is refused as busy and nothing has changed. Where a participant's state does not read
    /// cleanly, it is refused with the report. The session is `Capturing` only while it is read, and then where it was;
    /// whatever the store answers is an outcome and never ends the epoch.
    pub async fn capture(&self, request: CheckpointRequest) -> Result<SaveTicket, SessionError> {
        let saves = self.saves()?;
        let (slot, captured) = {
            let _guard = self.begin("checkpoint")?;
            let Some(boundary) = self.phase().committed_boundary() else {
                return Err(self.refuse_phase("checkpoint"));
            };
            let checkpoint_id = self.fresh_checkpoint_id(saves, request.checkpoint_id, boundary)?;
            let slot = saves
                .writer
                .reserve(request.kind, saves.writer.estimate())?;
            self.go(Phase::Capturing { boundary })
                .map_err(|fault| self.fail(fault))?;
            (
                slot,
                self.capture_and_return(&checkpoint_id, boundary).await?,
            )
        };
        let scope = captured.manifest.source_scope.clone();
        let ticket = saves.writer.submit(slot, captured)?;
        let checkpoint_id = ticket.checkpoint_id();
        let mut state = self.state.borrow_mut();
        state
            .recording
            .remember(checkpoint_id, &scope.epoch, scope.step.0);
        state
            .trace
            .note_capture(checkpoint_id.clone(), scope.step.0);
        drop(state);
        Ok(ticket)
    }

    /// Takes a checkpoint that nothing supersedes and waits for its outcome. The session is not held while it waits.
    pub async fn checkpoint(&self, checkpoint_id: Option<Id>) -> Result<SaveOutcome, SessionError> {
        let ticket = self
            .capture(CheckpointRequest {
                checkpoint_id,
                kind: SaveKind::Durable,
            })
            .await?;
        Ok(ticket.outcome().await)
    }

    /// Captures, and goes back to where it came from whether or not that worked.
    async fn capture_and_return(
        &self,
        checkpoint_id: &Id,
        boundary: u64,
    ) -> Result<SaveRequest, SessionError> {
        let mut kept = Vec::new();
        let captured = self.captured(checkpoint_id, boundary, &mut kept).await;
        self.acknowledge(&kept).await;
        let origin = self.state.borrow().machine.capture_origin();
        if let Some(origin) = origin {
            self.go(origin).map_err(|fault| self.fail(fault))?;
        }
        // Without an origin the epoch was ended meanwhile, and that is the answer.
        match origin {
            Some(_) => captured,
            None => Err(self.fail(Fault::inside(
                ErrorCode::Internal,
                "the capture has no way back",
            ))),
        }
    }

    async fn captured(
        &self,
        checkpoint_id: &Id,
        boundary: u64,
        kept: &mut Vec<(Link, RequestId)>,
    ) -> Result<SaveRequest, SessionError> {
        let scope = self.scope(boundary);
        let composition_digest = self.composition_digest()?;
        let participants = self.capture_all(checkpoint_id, &scope, kept).await?;
        let own = self.own_payloads(checkpoint_id, &scope, composition_digest)?;
        let manifest = self.manifest(checkpoint_id, &scope, composition_digest)?;
        let names = std::iter::once(name(WORLD))
            .chain(manifest.agents.iter().map(|agent| agent.payload.clone()));
        let theirs = names
            .zip(participants)
            .map(|(name, payload)| (name, Arc::new(payload) as PayloadBytes));
        let own = own
            .into_iter()
            .map(|(name, bytes)| (name, Arc::new(bytes) as PayloadBytes));
        Ok(SaveRequest {
            payloads: theirs.chain(own).collect(),
            manifest,
        })
    }

    /// Reads every participant, in the order of the day. Whoever answered is in `kept`, also where another did not.
    async fn capture_all(
        &self,
        checkpoint_id: &Id,
        scope: &Scope,
        kept: &mut Vec<(Link, RequestId)>,
    ) -> Result<Vec<Artifact>, SessionError> {
        let links = self.links();
        let questions = links.iter().map(|link| {
            Box::pin(self.capture_one(link, checkpoint_id, scope)) as Asking<'_, CapturedPart>
        });
        let put = self.each_in_order(questions.collect()).await;
        for (link, put) in links.iter().zip(&put) {
            if let Some(Ok((request_id, _))) = put {
                kept.push((link.clone(), *request_id));
            }
        }
        let captured = all_unless_faulted(put);
        let captured = captured.map_err(|unanswered| self.refusal_or_failure(unanswered))?;
        Ok(captured.into_iter().map(|(_, payload)| payload).collect())
    }

    async fn capture_one(
        &self,
        link: &Link,
        checkpoint_id: &Id,
        scope: &Scope,
    ) -> Result<CapturedPart, Unanswered> {
        let request_id = self.next_request_id();
        let call = Call::Capture {
            checkpoint_id: checkpoint_id.clone(),
        };
        match self
            .ask(link, request_id, Some(scope.clone()), call)
            .await?
        {
            Answer::Captured {
                checkpoint_id: captured,
                boundary,
                compatibility_digest,
                payload,
            } if captured == *checkpoint_id
                && boundary == scope.step
                && compatibility_digest == link.compatibility_digest =>
            {
                Ok((request_id, payload))
            }
            _ => Err(Self::wrong_answer(link, "State.Capture")),
        }
    }
}
