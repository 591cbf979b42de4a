//! [`serve`]: the participant's end of a channel.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::{
    CallId, ChannelError, FrameChannel, Inbox, MAX_CALLS_IN_FLIGHT, ReceivedFrame, RefusedRequest,
    WireError, reply_frame,
};
use crate::{BoxedFuture, Call, ErrorCode, ParticipantError, ParticipantRuntime, Reply, RequestId};

/// Answers under way, refusals included, above which nothing more is taken in: the other end does not read them.
const MAX_ANSWERS: usize = 2 * MAX_CALLS_IN_FLIGHT;

/// How serving ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServeEnd {
    /// `Worker.Shutdown` was answered.
    Stopped,
    /// The coordinator's end is gone, or sent what is no frame.
    Closed(ChannelError),
}

/// How answering one request ended.
enum Answered {
    Sent,
    Stopping,
    Closed(ChannelError),
}

/// Answers requests until the channel ends or the participant is told to stop.
///
/// Up to 16 requests are under way at once, so that a status is answered while an operation runs; one more is refused as
/// busy. Nothing is dropped half done: operations that run when the channel ends are abandoned with it, and so is the
/// participant.
pub async fn serve(runtime: Rc<ParticipantRuntime>, channel: Rc<dyn FrameChannel>) -> ServeEnd {
    let server = Server {
        runtime: &runtime,
        channel: &*channel,
        inbox: Inbox::new(),
    };
    let mut receiving = channel.receive();
    let mut answering: Vec<BoxedFuture<'_, Answered>> = Vec::new();
    let end = loop {
        match poll_fn(|context| poll_either(&mut receiving, &mut answering, context)).await {
            Turn::Received(Ok(frame)) => {
                let is_full = answering.len() >= MAX_CALLS_IN_FLIGHT;
                answering.push(Box::pin(server.answer(frame, is_full)));
                // Not before the last one ended: one caller at a time.
                receiving = channel.receive();
            }
            Turn::Received(Err(error)) | Turn::Answered(Answered::Closed(error)) => {
                break ServeEnd::Closed(error);
            }
            Turn::Answered(Answered::Stopping) => break ServeEnd::Stopped,
            Turn::Answered(Answered::Sent) => {}
        }
    };
    drop(receiving);
    drop(answering);
    channel.close();
    end
}

enum Turn {
    Received(Result<ReceivedFrame, ChannelError>),
    Answered(Answered),
}

type Receiving<'a> = Pin<Box<dyn Future<Output = Result<ReceivedFrame, ChannelError>> + 'a>>;

/// What runs goes first, in the order in which it came in; then the next frame.
fn poll_either(
    receiving: &mut Receiving<'_>,
    answering: &mut Vec<BoxedFuture<'_, Answered>>,
    context: &mut Context<'_>,
) -> Poll<Turn> {
    for index in 0..answering.len() {
        if let Poll::Ready(answered) = answering[index].as_mut().poll(context) {
            drop(answering.remove(index));
            return Poll::Ready(Turn::Answered(answered));
        }
    }
    if answering.len() >= MAX_ANSWERS {
        return Poll::Pending;
    }
    receiving.as_mut().poll(context).map(Turn::Received)
}

struct Server<'a> {
    runtime: &'a ParticipantRuntime,
    channel: &'a dyn FrameChannel,
    inbox: Inbox,
}

impl Server<'_> {
    async fn answer(&self, frame: ReceivedFrame, is_full: bool) -> Answered {
        let incoming = match self.inbox.open(frame) {
            Ok(incoming) => incoming,
            Err(error) => {
                let error = ParticipantError::refused(error.code(), error.to_string());
                return self.send(CallId::NONE, self.refuse_unread(error)).await;
            }
        };
        let call_id = incoming.call_id();
        let request = match incoming.into_request() {
            Ok(request) => request,
            Err(refused) => return self.send(call_id, self.refuse(refused)).await,
        };
        if is_full {
            let message = format!("{MAX_CALLS_IN_FLIGHT} requests are under way");
            let refused = RefusedRequest {
                request_id: request.request_id,
                scope: request.scope,
                error: ParticipantError::refused(ErrorCode::Busy, message),
            };
            return self.send(call_id, self.refuse(refused)).await;
        }
        let stops = matches!(request.call, Call::Shutdown { .. });
        let reply = self.runtime.handle(&request).await;
        let is_stopping = stops && reply.outcome.is_ok();
        match self.send(call_id, reply).await {
            Answered::Sent if is_stopping => Answered::Stopping,
            answered => answered,
        }
    }

    fn refuse_unread(&self, error: ParticipantError) -> Reply {
        self.refuse(RefusedRequest {
            request_id: RequestId(0),
            scope: None,
            error,
        })
    }

    fn refuse(&self, refused: RefusedRequest) -> Reply {
        self.runtime
            .reply(refused.request_id, refused.scope, Err(refused.error))
    }

    async fn send(&self, call_id: CallId, reply: Reply) -> Answered {
        let frame = reply_frame(call_id, &reply)
            .or_else(|error| reply_frame(call_id, &self.instead_of(&reply, &error)));
        let sent = match frame {
            Ok(frame) => self.channel.send(frame).await,
            Err(error) => Err(ChannelError::Malformed(error)),
        };
        sent.map_or_else(Answered::Closed, |()| Answered::Sent)
    }

    /// What is answered where the answer itself is more than a message may be: a refusal without its report, and a fault
    /// instead of a result, which by then has happened.
    fn instead_of(&self, reply: &Reply, error: &WireError) -> Reply {
        let outcome = match &reply.outcome {
            Err(refusal) => ParticipantError {
                detail: None,
                ..refusal.clone()
            },
            Ok(_) => ParticipantError::new(
                ErrorCode::BackendFailure,
                crate::MutationCertainty::Applied,
                format!("the result cannot be sent: {error}"),
            ),
        };
        self.runtime
            .reply(reply.request_id, reply.scope.clone(), Err(outcome))
    }
}
