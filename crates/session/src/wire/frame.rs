//! [`Frame`]: one message and the artifacts it refers to.

use super::{MAX_ATTACHMENTS, MAX_MESSAGE_BYTES, WireError};
use crate::Artifact;

/// One message on its way out. Its artifacts are shared with their other owners until a channel copies or transfers them.
#[derive(Clone, Debug)]
pub struct Frame {
    message: Vec<u8>,
    attachments: Vec<Artifact>,
}

/// One message as it came in: canonical JSON, and the bytes of its attachments in the order in which it lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceivedFrame {
    /// The message.
    pub message: Vec<u8>,
    /// Bytes of each attachment.
    pub attachments: Vec<Vec<u8>>,
}

impl Frame {
    /// Bytes before the lengths of the attachments: length of the message and number of attachments, u32 each.
    pub(crate) const PREFIX_BYTES: usize = 8;

    pub(crate) fn new(message: Vec<u8>, attachments: Vec<Artifact>) -> Result<Self, WireError> {
        if message.len() > MAX_MESSAGE_BYTES {
            return Err(WireError::MessageTooLong {
                bytes: message.len(),
                limit: MAX_MESSAGE_BYTES,
            });
        }
        if attachments.len() > MAX_ATTACHMENTS {
            return Err(WireError::TooManyAttachments {
                count: attachments.len(),
                limit: MAX_ATTACHMENTS,
            });
        }
        let largest = attachments.iter().map(Artifact::byte_length).max();
        if let Some(bytes) = largest.filter(|bytes| *bytes > Artifact::MAX_BYTES) {
            return Err(WireError::AttachmentTooLarge {
                bytes,
                limit: Artifact::MAX_BYTES,
            });
        }
        Ok(Self {
            message,
            attachments,
        })
    }

    /// The message: canonical JSON, at most 65,536 bytes.
    #[must_use]
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// Its artifacts, at most 32, in the order in which the message lists them.
    #[must_use]
    pub fn attachments(&self) -> &[Artifact] {
        &self.attachments
    }

    /// What goes before the attachments on a stream of bytes: length of the message (u32, little-endian), number of
    /// attachments (u32), length of each (u64), and the message.
    #[must_use]
    pub fn head(&self) -> Vec<u8> {
        let mut head = Vec::with_capacity(
            Self::PREFIX_BYTES + 8 * self.attachments.len() + self.message.len(),
        );
        let word = |length: usize| {
            u32::try_from(length)
                .expect("both are bounded when a frame is made")
                .to_le_bytes()
        };
        head.extend_from_slice(&word(self.message.len()));
        head.extend_from_slice(&word(self.attachments.len()));
        for artifact in &self.attachments {
            head.extend_from_slice(&artifact.byte_length().to_le_bytes());
        }
        head.extend_from_slice(&self.message);
        head
    }

    /// All of it, for a stream of bytes: [`head`](Self::head), then the bytes of each attachment.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.head();
        for artifact in &self.attachments {
            bytes.extend_from_slice(artifact.bytes());
        }
        bytes
    }

    /// The frame as it will come in: every attachment copied.
    #[must_use]
    pub fn received(&self) -> ReceivedFrame {
        ReceivedFrame {
            message: self.message.clone(),
            attachments: self
                .attachments
                .iter()
                .map(|artifact| artifact.bytes().to_vec())
                .collect(),
        }
    }
}
