//! The [`FrameChannel`] trait: what a platform has to offer.

use async_trait::async_trait;

use super::{Frame, ReceivedFrame, WireError};

/// Why no frame went or came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The other end is gone, or this one was closed. There will be no more frames.
    #[error("the channel is closed{}{}", if .reason.is_some() { ": " } else { "" }, .reason.as_deref().unwrap_or_default())]
    Closed {
        /// What is known of why: how a process ended, what a worker said last.
        reason: Option<String>,
    },
    /// What came is no frame. There will be no more: where the next one begins is not known.
    #[error("the channel carried something that is no frame: {0}")]
    Malformed(#[from] WireError),
}

/// One end of a channel that carries frames in order, without loss, to one other end.
///
/// Frames that are sent at the same time go one after the other, never into one another. Sending waits where the other end
/// does not keep up; nothing is buffered without bound.
#[async_trait(?Send)]
pub trait FrameChannel {
    /// Hands a frame over.
    async fn send(&self, frame: Frame) -> Result<(), ChannelError>;

    /// Waits for the next frame. One caller at a time.
    async fn receive(&self) -> Result<ReceivedFrame, ChannelError>;

    /// Closes this end for good; whoever waits on it is told, and so is the other end.
    fn close(&self);
}
