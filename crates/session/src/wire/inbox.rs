//! [`Inbox`]: what has come in over one channel.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use wellwritten_envelope::{U64, from_json, parse_strict_json};

use super::incoming::Body;
use super::{
    ArtifactId, Attachment, CallId, Incoming, MAX_ATTACHMENTS, MAX_MESSAGE_BYTES, ReceivedFrame,
    WireError,
};
use crate::Artifact;
use crate::artifact::WeakArtifact;
use crate::plain_number::first_not_plain;

/// Names that are remembered before those of artifacts nobody owns any more are forgotten.
const REMEMBERED: usize = 64;

/// Reads frames of one channel. An artifact that comes again while someone still owns it is the same artifact.
#[derive(Default)]
pub struct Inbox {
    known: RefCell<BTreeMap<ArtifactId, WeakArtifact>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListedAttachment {
    artifact_id: ArtifactId,
    byte_length: U64,
    content_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Message {
    call_id: CallId,
    attachments: Vec<ListedAttachment>,
    request: Option<Value>,
    reply: Option<Value>,
}

impl Inbox {
    /// Nothing has come in.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The message in a frame, with its attachments sealed. What the message asks or answers is read later, by whom it
    /// concerns.
    pub fn open(&self, frame: ReceivedFrame) -> Result<Incoming, WireError> {
        if frame.message.len() > MAX_MESSAGE_BYTES {
            return Err(WireError::MessageTooLong {
                bytes: frame.message.len(),
                limit: MAX_MESSAGE_BYTES,
            });
        }
        if frame.attachments.len() > MAX_ATTACHMENTS {
            return Err(WireError::TooManyAttachments {
                count: frame.attachments.len(),
                limit: MAX_ATTACHMENTS,
            });
        }
        let message = parse_strict_json(&frame.message)?;
        if let Some(number) = first_not_plain(&message) {
            return Err(WireError::UnsafeNumber {
                number: ryu_js::Buffer::new().format(number).to_owned(),
            });
        }
        let message: Message = from_json(message)?;
        let body = match (message.request, message.reply) {
            (Some(request), None) => Body::Request(request),
            (None, Some(reply)) => Body::Reply(reply),
            _ => {
                return Err(WireError::Direction {
                    expected: "request or a reply",
                });
            }
        };
        if message.attachments.len() != frame.attachments.len() {
            return Err(WireError::AttachmentCount {
                listed: message.attachments.len(),
                found: frame.attachments.len(),
            });
        }
        let mut attachments: Vec<Attachment> = Vec::with_capacity(frame.attachments.len());
        for (listed, bytes) in message.attachments.iter().zip(frame.attachments) {
            let artifact_id = listed.artifact_id;
            if attachments.iter().any(|it| it.artifact_id == artifact_id) {
                return Err(WireError::RepeatedAttachment { artifact_id });
            }
            attachments.push(Attachment {
                artifact_id,
                artifact: self.seal(listed, bytes)?,
            });
        }
        Ok(Incoming::new(message.call_id, body, attachments))
    }

    fn seal(&self, listed: &ListedAttachment, bytes: Vec<u8>) -> Result<Artifact, WireError> {
        let artifact_id = listed.artifact_id;
        let found = bytes.len() as u64;
        if found > Artifact::MAX_BYTES {
            return Err(WireError::AttachmentTooLarge {
                bytes: found,
                limit: Artifact::MAX_BYTES,
            });
        }
        if found != listed.byte_length.0 {
            return Err(WireError::AttachmentLength {
                artifact_id,
                listed: listed.byte_length.0,
                found,
            });
        }
        let content_type = Artifact::known_content_type(&listed.content_type).ok_or_else(|| {
            WireError::ContentType {
                artifact_id,
                content_type: listed.content_type.clone(),
            }
        })?;
        let mut known = self.known.borrow_mut();
        if let Some(artifact) = known.get(&artifact_id).and_then(WeakArtifact::upgrade) {
            return if artifact.bytes() == bytes && artifact.content_type() == content_type {
                Ok(artifact)
            } else {
                Err(WireError::ArtifactChanged { artifact_id })
            };
        }
        let artifact = Artifact::seal(bytes, content_type);
        if known.len() >= REMEMBERED {
            known.retain(|_, artifact| !artifact.is_gone());
        }
        known.insert(artifact_id, artifact.downgrade());
        Ok(artifact)
    }
}
