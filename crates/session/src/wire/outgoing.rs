//! Requests and replies as frames.

use serde::Serialize;
use wellwritten_envelope::{Id, Scope, U64, canonical_json};

use super::artifact_exchange::writing;
use super::{ArtifactId, Attachment, CallId, Frame, WireError};
use crate::{Call, ParticipantError, Reply, Request, RequestId};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedAttachment {
    artifact_id: ArtifactId,
    byte_length: U64,
    content_type: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestBody<'a> {
    request_id: RequestId,
    method: &'static str,
    scope: &'a Option<Scope>,
    params: &'a Call,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplyBody<'a, R> {
    #[serde(rename = "type")]
    kind: &'static str,
    request_id: RequestId,
    worker_id: &'a Id,
    incarnation_id: &'a Id,
    scope: &'a Option<Scope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ParticipantError>,
}

/// A request as one frame.
pub fn request_frame(call_id: CallId, request: &Request) -> Result<Frame, WireError> {
    let body = RequestBody {
        request_id: request.request_id,
        method: request.call.method(),
        scope: &request.scope,
        params: &request.call,
    };
    frame(call_id, "request", &body)
}

/// A reply as one frame.
pub fn reply_frame(call_id: CallId, reply: &Reply) -> Result<Frame, WireError> {
    let replying = Replying {
        call_id,
        request_id: reply.request_id,
        worker_id: &reply.worker_id,
        incarnation_id: &reply.incarnation_id,
        scope: &reply.scope,
    };
    replying.frame(reply.outcome.as_ref())
}

/// What a reply says beside its outcome.
pub(crate) struct Replying<'a> {
    pub call_id: CallId,
    pub request_id: RequestId,
    pub worker_id: &'a Id,
    pub incarnation_id: &'a Id,
    pub scope: &'a Option<Scope>,
}

impl Replying<'_> {
    /// The reply as one frame.
    pub(crate) fn frame<R: Serialize>(
        &self,
        outcome: Result<&R, &ParticipantError>,
    ) -> Result<Frame, WireError> {
        let body = ReplyBody {
            kind: if outcome.is_ok() { "result" } else { "error" },
            request_id: self.request_id,
            worker_id: self.worker_id,
            incarnation_id: self.incarnation_id,
            scope: self.scope,
            result: outcome.ok(),
            error: outcome.err(),
        };
        frame(self.call_id, "reply", &body)
    }
}

/// `{"attachments":[..],"callId":"call-n","<key>":..}`, which is canonical as it stands: both keys sort behind.
fn frame<T: Serialize>(call_id: CallId, key: &str, body: &T) -> Result<Frame, WireError> {
    let (body, attachments) = writing(|| canonical_json(body));
    let body = body?;
    let listed: Vec<ListedAttachment> = attachments
        .iter()
        .map(
            |Attachment {
                 artifact_id,
                 artifact,
             }| ListedAttachment {
                artifact_id: *artifact_id,
                byte_length: U64(artifact.byte_length()),
                content_type: artifact.content_type(),
            },
        )
        .collect();
    let mut message = b"{\"attachments\":".to_vec();
    message.extend_from_slice(&canonical_json(&listed)?);
    message.extend_from_slice(format!(",\"callId\":\"{call_id}\",\"{key}\":").as_bytes());
    message.extend_from_slice(&body);
    message.push(b'}');
    let artifacts = attachments.into_iter().map(|it| it.artifact).collect();
    Frame::new(message, artifacts)
}
