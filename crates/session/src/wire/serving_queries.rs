//! [`serve_queries`]: an observer's end of a session, behind a channel.

use std::rc::Rc;

use super::incoming::Question;
use super::outgoing::Replying;
use super::{
    CallId, ChannelError, Frame, FrameChannel, Inbox, Incoming, ReceivedFrame, RefusedRequest,
    WireError,
};
use crate::{ErrorCode, ParticipantError, QueryAnswer, RequestId, SessionQueries};

/// Answers `Session.GetDescriptor` and `Session.GetSnapshot` over `channel`, one after the other, until it ends; says how.
///
/// Replies come from the session's own name and the publisher's incarnation, and the artifacts of a snapshot travel beside it.
/// The scope of a question is echoed and otherwise nothing to it. An observer that does not read its answers keeps nobody
/// waiting but this.
pub async fn serve_queries(queries: SessionQueries, channel: Rc<dyn FrameChannel>) -> ChannelError {
    let inbox = Inbox::new();
    loop {
        let frame = match channel.receive().await {
            Ok(frame) => frame,
            Err(error) => return ended(&*channel, error),
        };
        let sent = match answer(&queries, &inbox, frame) {
            Ok(frame) => channel.send(frame).await,
            Err(error) => Err(ChannelError::Malformed(error)),
        };
        if let Err(error) = sent {
            return ended(&*channel, error);
        }
    }
}

fn ended(channel: &dyn FrameChannel, error: ChannelError) -> ChannelError {
    channel.close();
    error
}

/// The reply to one frame; an error only where not even a refusal can be said.
fn answer(
    queries: &SessionQueries,
    inbox: &Inbox,
    frame: ReceivedFrame,
) -> Result<Frame, WireError> {
    let (call_id, asked) = match inbox.open(frame) {
        Ok(incoming) => (incoming.call_id(), question(incoming)),
        Err(error) => {
            let (code, message) = (error.code(), error.to_string());
            let unread = RefusedRequest::new(RequestId(0), None, code, message);
            (CallId::NONE, Err(unread))
        }
    };
    let (request_id, scope, outcome) = match asked {
        Ok(Question {
            request_id,
            method,
            scope,
            params,
        }) => {
            let outcome = queries.answer(&method, &params);
            (request_id, scope, outcome.map_err(ParticipantError::from))
        }
        Err(refused) => (refused.request_id, refused.scope, Err(refused.error)),
    };
    let replying = Replying {
        call_id,
        request_id,
        worker_id: queries.session_id(),
        incarnation_id: &queries.incarnation(),
        scope: &scope,
    };
    replying.frame(outcome.as_ref()).or_else(|error| {
        let message = format!("the answer cannot be sent: {error}");
        let error = ParticipantError::refused(ErrorCode::BackendFailure, message);
        replying.frame::<QueryAnswer>(Err(&error))
    })
}

/// What a message asks. No question has anything attached.
fn question(incoming: Incoming) -> Result<Question, RefusedRequest> {
    let (question, attachments) = incoming.into_question()?;
    match attachments.first() {
        None => Ok(question),
        Some(attachment) => {
            let artifact_id = attachment.artifact_id;
            let error = WireError::UnusedAttachment { artifact_id };
            let (code, message) = (error.code(), error.to_string());
            let Question {
                request_id, scope, ..
            } = question;
            Err(RefusedRequest::new(request_id, scope, code, message))
        }
    }
}
