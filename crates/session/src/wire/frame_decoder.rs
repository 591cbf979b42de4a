//! [`FrameDecoder`]: frames out of a stream of bytes.

use super::{Frame, MAX_ATTACHMENTS, MAX_MESSAGE_BYTES, ReceivedFrame, WireError};
use crate::Artifact;

/// Takes bytes as they come and gives frames as they become complete.
///
/// Lengths are checked before anything is kept for them, and memory grows with what has arrived, never with what a length
/// promises. After an error the stream has no next frame: where one ends is not known any more.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    head: Vec<u8>,
    /// Lengths still to be filled: the message's first, then each attachment's.
    expected: Vec<usize>,
    parts: Vec<Vec<u8>>,
    failure: Option<WireError>,
}

impl FrameDecoder {
    /// At the start of a frame.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a frame has begun and is not complete: a stream that ends here was cut.
    #[must_use]
    pub fn is_within_frame(&self) -> bool {
        !self.head.is_empty()
    }

    /// Takes bytes from the front of `bytes`, up to the end of the frame that is being read; gives the frame once it is
    /// complete. Call again with what is left until nothing is left and no frame comes.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Result<Option<ReceivedFrame>, WireError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let outcome = self.advance(bytes);
        if let Err(error) = &outcome {
            self.failure = Some(error.clone());
        }
        outcome
    }

    fn advance(&mut self, bytes: &mut &[u8]) -> Result<Option<ReceivedFrame>, WireError> {
        loop {
            let needed = self.head_bytes();
            if self.head.len() < needed {
                if bytes.is_empty() {
                    return Ok(None);
                }
                let missing = needed - self.head.len();
                self.head.extend_from_slice(front(bytes, missing));
                if self.head.len() == Frame::PREFIX_BYTES {
                    self.check_prefix()?;
                }
                continue;
            }
            if self.expected.is_empty() {
                self.expect_parts()?;
            }
            let index = self.parts.len() - 1;
            let (part, length) = (&mut self.parts[index], self.expected[index]);
            if part.len() < length {
                if bytes.is_empty() {
                    return Ok(None);
                }
                let missing = length - part.len();
                part.extend_from_slice(front(bytes, missing));
                continue;
            }
            if self.parts.len() < self.expected.len() {
                self.parts.push(Vec::new());
                continue;
            }
            return Ok(Some(self.complete()));
        }
    }

    fn word(&self, at: usize) -> usize {
        let bytes = self.head[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes) as usize
    }

    /// The bytes before the message, as far as their number is known.
    fn head_bytes(&self) -> usize {
        if self.head.len() < Frame::PREFIX_BYTES {
            Frame::PREFIX_BYTES
        } else {
            Frame::PREFIX_BYTES + 8 * self.word(4)
        }
    }

    fn check_prefix(&self) -> Result<(), WireError> {
        let (bytes, count) = (self.word(0), self.word(4));
        if bytes > MAX_MESSAGE_BYTES {
            let limit = MAX_MESSAGE_BYTES;
            return Err(WireError::MessageTooLong { bytes, limit });
        }
        if count > MAX_ATTACHMENTS {
            let limit = MAX_ATTACHMENTS;
            return Err(WireError::TooManyAttachments { count, limit });
        }
        Ok(())
    }

    fn expect_parts(&mut self) -> Result<(), WireError> {
        self.expected.push(self.word(0));
        for length in self.head[Frame::PREFIX_BYTES..].chunks_exact(8) {
            let bytes = u64::from_le_bytes(length.try_into().expect("eight bytes"));
            let limit = Artifact::MAX_BYTES;
            if bytes > limit {
                return Err(WireError::AttachmentTooLarge { bytes, limit });
            }
            self.expected
                .push(usize::try_from(bytes).expect("the limit fits"));
        }
        self.parts.push(Vec::new());
        Ok(())
    }

    fn complete(&mut self) -> ReceivedFrame {
        self.head.clear();
        self.expected.clear();
        let mut parts = std::mem::take(&mut self.parts).into_iter();
        ReceivedFrame {
            message: parts.next().unwrap_or_default(),
            attachments: parts.collect(),
        }
    }
}

/// Takes up to `length` bytes off the front.
fn front<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (front, rest) = bytes.split_at(length.min(bytes.len()));
    *bytes = rest;
    front
}
