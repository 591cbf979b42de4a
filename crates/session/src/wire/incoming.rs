//! [`Incoming`]: one message that has come in.

use serde::Deserialize;
use serde_json::Value;
use wellwritten_envelope::{Id, JsonShapeError, Scope, from_json};

use super::artifact_exchange::reading;
use super::{Attachment, CallId, WireError};
use crate::{
    Answer, Call, ErrorCode, MutationCertainty, ParticipantError, Reply, Request, RequestId,
};

/// What a message asks or answers, not read yet.
#[derive(Debug)]
pub(crate) enum Body {
    Request(Value),
    Reply(Value),
}

/// One message that has come in.
#[derive(Debug)]
pub struct Incoming {
    call_id: CallId,
    body: Body,
    attachments: Vec<Attachment>,
}

/// A request that is answered without anyone hearing of it, and with what.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedRequest {
    /// The request's name; `req-0` where it has none.
    pub request_id: RequestId,
    /// Its scope, where it could be read.
    pub scope: Option<Scope>,
    /// The answer.
    pub error: ParticipantError,
}

impl RefusedRequest {
    pub(crate) fn new(
        request_id: RequestId,
        scope: Option<Scope>,
        code: ErrorCode,
        message: String,
    ) -> Self {
        Self {
            request_id,
            scope,
            error: ParticipantError::refused(code, message),
        }
    }
}

/// A question by the name of its method.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Question {
    pub request_id: RequestId,
    pub method: String,
    #[serde(deserialize_with = "Option::deserialize")]
    pub scope: Option<Scope>,
    pub params: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResultBody {
    request_id: RequestId,
    worker_id: Id,
    incarnation_id: Id,
    #[serde(deserialize_with = "Option::deserialize")]
    scope: Option<Scope>,
    result: Option<Value>,
    error: Option<ParticipantError>,
    #[serde(rename = "type")]
    kind: ReplyKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ReplyKind {
    Result,
    Error,
}

/// Reads a part of a message whose references are answered with `attachments`, every one of which must be named.
fn read_with<T>(
    attachments: Vec<Attachment>,
    read: impl FnOnce() -> Result<T, JsonShapeError>,
) -> Result<T, WireError> {
    let (outcome, exchange) = reading(attachments, read);
    let failure = exchange.as_ref().and_then(|it| it.failure.clone());
    if let Some(reason) = failure {
        return Err(WireError::Artifact { reason });
    }
    let value = outcome?;
    match exchange.and_then(|it| it.unused()) {
        Some(artifact_id) => Err(WireError::UnusedAttachment { artifact_id }),
        None => Ok(value),
    }
}

impl Incoming {
    pub(crate) const fn new(call_id: CallId, body: Body, attachments: Vec<Attachment>) -> Self {
        Self {
            call_id,
            body,
            attachments,
        }
    }

    /// The dispatch it is, or answers.
    #[must_use]
    pub const fn call_id(&self) -> CallId {
        self.call_id
    }

    /// What it asks, whatever the method; the parameters and what is attached are not read.
    pub(crate) fn into_question(self) -> Result<(Question, Vec<Attachment>), RefusedRequest> {
        let invalid = |error: WireError| {
            let code = ErrorCode::InvalidArgument;
            RefusedRequest::new(RequestId(0), None, code, error.to_string())
        };
        let Body::Request(body) = self.body else {
            return Err(invalid(WireError::Direction {
                expected: "request",
            }));
        };
        let question = from_json(body).map_err(|error| invalid(WireError::Shape(error)))?;
        Ok((question, self.attachments))
    }

    /// The request it is.
    pub fn into_request(self) -> Result<Request, RefusedRequest> {
        let (question, attachments) = self.into_question()?;
        let Question {
            request_id,
            method,
            scope,
            params,
        } = question;
        if !Call::METHODS.contains(&method.as_str()) {
            let message = format!("there is no method {method:?}");
            let code = ErrorCode::Unsupported;
            return Err(RefusedRequest::new(request_id, scope, code, message));
        }
        match read_with(attachments, || Call::read(&method, params)) {
            Ok(call) => Ok(Request {
                request_id,
                scope,
                call,
            }),
            Err(error) => Err(RefusedRequest::new(
                request_id,
                scope,
                error.code(),
                format!("{method}: {error}"),
            )),
        }
    }

    /// The reply it is to a call of `method`.
    pub fn into_reply(self, method: &'static str) -> Result<Reply, WireError> {
        let Body::Reply(body) = self.body else {
            return Err(WireError::Direction { expected: "reply" });
        };
        let body: ResultBody = from_json(body)?;
        let outcome = match (body.kind, body.result, body.error) {
            (ReplyKind::Result, Some(result), None) => Ok(read_with(self.attachments, || {
                Answer::read(method, result)
            })?),
            (ReplyKind::Error, None, Some(error)) => {
                read_with(self.attachments, || Ok(()))?;
                let characters = error.message.chars().count();
                if characters > ParticipantError::MAX_MESSAGE {
                    return Err(WireError::ErrorMessage {
                        characters,
                        limit: ParticipantError::MAX_MESSAGE,
                    });
                }
                if error.code.changes_nothing() && error.mutation != MutationCertainty::None {
                    return Err(WireError::Certainty {
                        code: error.code,
                        mutation: error.mutation,
                    });
                }
                Err(error)
            }
            _ => {
                return Err(WireError::Direction {
                    expected: "reply with either a result or an error",
                });
            }
        };
        Ok(Reply {
            request_id: body.request_id,
            worker_id: body.worker_id,
            incarnation_id: body.incarnation_id,
            scope: body.scope,
            outcome,
        })
    }
}
