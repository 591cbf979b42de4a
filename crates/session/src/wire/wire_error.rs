//! [`WireError`]: why bytes are no message.

use wellwritten_envelope::{CanonicalError, JsonShapeError, StrictJsonError};

use super::ArtifactId;
use crate::{ErrorCode, MutationCertainty};

/// Why bytes are no message, or a message cannot be written. Nothing was acted on; the same bytes fail again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The message is too long.
    #[error("a message of {bytes} bytes, the limit is {limit}")]
    MessageTooLong {
        /// Its length.
        bytes: usize,
        /// The longest.
        limit: usize,
    },
    /// Too many artifacts.
    #[error("{count} attachments beside one message, the limit is {limit}")]
    TooManyAttachments {
        /// How many.
        count: usize,
        /// The most there may be.
        limit: usize,
    },
    /// One artifact is too large.
    #[error("an attachment of {bytes} bytes, the limit is {limit}")]
    AttachmentTooLarge {
        /// Its length.
        bytes: u64,
        /// The largest.
        limit: u64,
    },
    /// The message lists other attachments than came with it.
    #[error("the message lists {listed} attachments, {found} came with it")]
    AttachmentCount {
        /// In the message.
        listed: usize,
        /// Beside it.
        found: usize,
    },
    /// An attachment has another length than the message says.
    #[error("{artifact_id} came with {found} bytes, the message says {listed}")]
    AttachmentLength {
        /// Which.
        artifact_id: ArtifactId,
        /// In the message.
        listed: u64,
        /// Beside it.
        found: u64,
    },
    /// An attachment is of no kind there is.
    #[error("{artifact_id} is of content type {content_type:?}, which there is not")]
    ContentType {
        /// Which.
        artifact_id: ArtifactId,
        /// What the message says.
        content_type: String,
    },
    /// The message lists an attachment twice.
    #[error("{artifact_id} is listed twice")]
    RepeatedAttachment {
        /// Which.
        artifact_id: ArtifactId,
    },
    /// An artifact came again with other bytes.
    #[error("{artifact_id} came again with other bytes; an artifact never changes")]
    ArtifactChanged {
        /// Which.
        artifact_id: ArtifactId,
    },
    /// A reference has no attachment that fits it.
    #[error("{reason}")]
    Artifact {
        /// Which, and how it differs.
        reason: String,
    },
    /// An attachment that nothing in the message refers to.
    #[error("nothing in the message refers to {artifact_id}")]
    UnusedAttachment {
        /// Which.
        artifact_id: ArtifactId,
    },
    /// It is not JSON.
    #[error("the message is not strict JSON: {0}")]
    Json(#[from] StrictJsonError),
    /// It holds a number that would be written as an integer beyond 2^53-1, which is no JSON here.
    #[error("the message holds {number}, which is an integer beyond 2^53-1 however it is written")]
    UnsafeNumber {
        /// The number.
        number: String,
    },
    /// It is JSON of another shape.
    #[error("the message has another shape: {0}")]
    Shape(#[from] JsonShapeError),
    /// It has no canonical JSON.
    #[error("the message cannot be written: {reason}")]
    Unwritable {
        /// What the writer said.
        reason: String,
    },
    /// A request where a reply belongs, or the reverse.
    #[error("the message is not a {expected}")]
    Direction {
        /// What belongs here.
        expected: &'static str,
    },
    /// An error's message is too long.
    #[error("an error's message of {characters} characters, the limit is {limit}")]
    ErrorMessage {
        /// Its length.
        characters: usize,
        /// The longest.
        limit: usize,
    },
    /// An error that says something was changed, under a code that says nothing was.
    #[error("{code} never comes with mutation {mutation}")]
    Certainty {
        /// The code.
        code: ErrorCode,
        /// What the reply says.
        mutation: MutationCertainty,
    },
}

impl From<CanonicalError> for WireError {
    fn from(error: CanonicalError) -> Self {
        Self::Unwritable {
            reason: error.to_string(),
        }
    }
}

impl WireError {
    /// The code under which it is answered.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::TooManyAttachments { .. }
            | Self::AttachmentTooLarge { .. }
            | Self::AttachmentCount { .. }
            | Self::AttachmentLength { .. }
            | Self::ContentType { .. }
            | Self::RepeatedAttachment { .. }
            | Self::ArtifactChanged { .. }
            | Self::Artifact { .. }
            | Self::UnusedAttachment { .. } => ErrorCode::BufferInvalid,
            _ => ErrorCode::InvalidArgument,
        }
    }
}
