//! Messages between a coordinator and a participant in another program.
//!
//! A [`Frame`] is one message with the artifacts it refers to; a [`FrameChannel`] carries frames in order and is all that a
//! platform adds. [`Remote`] is the coordinator's end of a channel, [`serve`] the participant's; [`serve_queries`] answers
//! an observer.
//!
//! A message is canonical JSON of at most 64 KiB: `{"callId", "attachments", "request"}` or `{"callId", "attachments",
//! "reply"}`. A call id names one dispatch; a request that is sent again keeps its request id and gets a new call id. Everything
//! is read strictly: unknown, missing and repeated fields are refused, as is an attachment that nothing refers to.

pub(crate) mod artifact_exchange;
mod call_id;
mod channel;
mod frame;
mod frame_decoder;
mod inbox;
mod incoming;
mod memory_channel;
mod numbered_id;
mod outgoing;
mod remote;
mod serving;
mod serving_queries;
mod wire_error;

pub use artifact_exchange::ArtifactId;
pub use call_id::CallId;
pub use channel::{ChannelError, FrameChannel};
pub use frame::{Frame, ReceivedFrame};
pub use frame_decoder::FrameDecoder;
pub use inbox::Inbox;
pub use incoming::{Incoming, RefusedRequest};
pub use memory_channel::MemoryChannel;
pub use outgoing::{reply_frame, request_frame};
pub use remote::Remote;
pub use serving::{ServeEnd, serve};
pub use serving_queries::serve_queries;
pub use wire_error::WireError;

pub(crate) use numbered_id::{number_after, numbered_id};

use crate::Artifact;

/// An artifact beside a message, under its sender's name for it.
#[derive(Clone, Debug)]
pub(crate) struct Attachment {
    pub artifact_id: ArtifactId,
    pub artifact: Artifact,
}

/// Longest message, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 65_536;
/// Most artifacts beside one message.
pub const MAX_ATTACHMENTS: usize = 32;
/// Most calls that wait on one channel at once.
pub const MAX_CALLS_IN_FLIGHT: usize = 16;
