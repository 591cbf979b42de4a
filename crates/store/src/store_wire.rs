//! Requests and replies as a text and attachments, for a store whose owner is in another worker.
//!
//! The text is JSON with every whole number as decimal text; whatever is long is an attachment: payloads, envelopes.
//! Each message says how many it has, by what it is, and nothing else is taken for it. What cannot be read is a
//! [`WireError`]; nothing was done then.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wellwritten_envelope::{
    Id, JsonShapeError, Manifest, StrictJsonError, canonical_json, from_json, parse_strict_json,
};

use crate::commit::{Certainty, CommitError, Committed, Pruned};
use crate::damage::DamagedGeneration;
use crate::generation_info::GenerationInfo;
use crate::generation_list::GenerationList;
use crate::save_request::{PayloadBytes, SaveRequest};
use crate::selection::{Mismatch, SelectError, Selected, Selection};
use crate::store_error::{ImportError, ReadError, UsageError};
use crate::store_medium::Usage;
use crate::store_reader::Resolution;
use crate::store_request::{StoreReply, StoreRequest};
use crate::verify_report::VerifyReport;

/// A request or a reply, ready to be sent.
pub struct WireMessage {
    /// What it says.
    pub text: String,
    /// Its long parts, in order.
    pub attachments: Vec<PayloadBytes>,
}

/// With the attachments' number instead of their bytes.
impl fmt::Debug for WireMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WireMessage")
            .field("text", &self.text)
            .field("attachments", &self.attachments.len())
            .finish()
    }
}

/// A message cannot be written or read. Nothing was done; the same message fails again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// It is not JSON.
    #[error("the message is not strict JSON: {0}")]
    Json(#[from] StrictJsonError),
    /// It is JSON of another shape.
    #[error("the message has another shape: {0}")]
    Shape(#[from] JsonShapeError),
    /// Another number of attachments came with it.
    #[error("{found} attachments came with a message that has {expected}")]
    Attachments {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A manifest holds what no JSON of ours can.
    #[error("the message cannot be written: {reason}")]
    Unwritable {
        /// What the writer said.
        reason: String,
    },
}

/// The text of a [`StoreRequest`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all_fields = "camelCase", deny_unknown_fields)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is alive at a time, for a moment"
)]
enum RequestText {
    Save {
        manifest: Manifest,
        payloads: Vec<Id>,
    },
    Import {},
    Resolve {
        checkpoint_id: Id,
    },
    Select {
        selection: Selection,
    },
    Generations {},
    Read {
        checkpoint_id: Id,
    },
    Verify {
        checkpoint_id: Id,
    },
    SetPinned {
        checkpoint_id: Id,
        pinned: bool,
    },
    Prune {
        #[serde(with = "crate::decimal")]
        keep: usize,
    },
    EpochUsed {
        epoch: Id,
    },
    NextEpochAfter {
        epoch: Id,
    },
    EpisodeUsed {
        session_id: Id,
        episode_id: Id,
    },
    ClaimEpoch {
        epoch: Id,
    },
    MarkResumed {
        checkpoint_id: Id,
    },
    Usage {},
}

/// The text of a [`StoreReply`].
#[derive(Serialize, Deserialize)]
enum ReplyText {
    Saved(Result<Committed, CommitError>),
    Imported(Result<Committed, ImportError>),
    Resolved(Result<Resolution, CommitError>),
    Selected(Result<SelectedText, SelectError>),
    Generations(Result<GenerationList, ReadError>),
    Read(Result<Attached, ReadError>),
    Verified(Result<VerifyReport, ReadError>),
    PinnedSet(Result<Certainty, CommitError>),
    Pruned(Result<Pruned, CommitError>),
    EpochUsed(Result<bool, ReadError>),
    NextEpoch(Result<Option<Id>, ReadError>),
    EpisodeUsed(Result<bool, ReadError>),
    EpochClaimed(Result<Certainty, CommitError>),
    Resumed(Result<Certainty, CommitError>),
    Usage(Result<Usage, UsageError>),
}

/// Stands for bytes that are attached.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attached {}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SelectedText {
    generation: GenerationInfo,
    damaged: Vec<DamagedGeneration>,
    incompatible: Vec<Mismatch>,
}

/// Writes a request. Its payloads are not copied.
pub fn encode_request(request: StoreRequest) -> Result<WireMessage, WireError> {
    let mut attachments = Vec::new();
    let text = match request {
        StoreRequest::Save(SaveRequest { manifest, payloads }) => {
            let (names, bytes) = payloads.into_iter().unzip();
            attachments = bytes;
            RequestText::Save {
                manifest,
                payloads: names,
            }
        }
        StoreRequest::Import { bytes } => {
            attachments.push(bytes);
            RequestText::Import {}
        }
        StoreRequest::Resolve { checkpoint_id } => RequestText::Resolve { checkpoint_id },
        StoreRequest::Select { selection } => RequestText::Select { selection },
        StoreRequest::Generations => RequestText::Generations {},
        StoreRequest::Read { checkpoint_id } => RequestText::Read { checkpoint_id },
        StoreRequest::Verify { checkpoint_id } => RequestText::Verify { checkpoint_id },
        StoreRequest::SetPinned {
            checkpoint_id,
            pinned,
        } => RequestText::SetPinned {
            checkpoint_id,
            pinned,
        },
        StoreRequest::Prune { keep } => RequestText::Prune { keep },
        StoreRequest::EpochUsed { epoch } => RequestText::EpochUsed { epoch },
        StoreRequest::NextEpochAfter { epoch } => RequestText::NextEpochAfter { epoch },
        StoreRequest::EpisodeUsed {
            session_id,
            episode_id,
        } => RequestText::EpisodeUsed {
            session_id,
            episode_id,
        },
        StoreRequest::ClaimEpoch { epoch } => RequestText::ClaimEpoch { epoch },
        StoreRequest::MarkResumed { checkpoint_id } => RequestText::MarkResumed { checkpoint_id },
        StoreRequest::Usage => RequestText::Usage {},
    };
    Ok(WireMessage {
        text: write(&text)?,
        attachments,
    })
}

/// Reads a request.
pub fn decode_request(text: &str, attachments: Vec<Vec<u8>>) -> Result<StoreRequest, WireError> {
    let text: RequestText = read(text)?;
    let expected = match &text {
        RequestText::Save { payloads, .. } => payloads.len(),
        RequestText::Import {} => 1,
        _ => 0,
    };
    require_attachments(expected, &attachments)?;
    let mut attachments = attachments.into_iter().map(owned);
    Ok(match text {
        RequestText::Save { manifest, payloads } => StoreRequest::Save(SaveRequest {
            manifest,
            payloads: payloads.into_iter().zip(attachments).collect(),
        }),
        RequestText::Import {} => StoreRequest::Import {
            bytes: attachments.next().unwrap_or_else(|| owned(Vec::new())),
        },
        RequestText::Resolve { checkpoint_id } => StoreRequest::Resolve { checkpoint_id },
        RequestText::Select { selection } => StoreRequest::Select { selection },
        RequestText::Generations {} => StoreRequest::Generations,
        RequestText::Read { checkpoint_id } => StoreRequest::Read { checkpoint_id },
        RequestText::Verify { checkpoint_id } => StoreRequest::Verify { checkpoint_id },
        RequestText::SetPinned {
            checkpoint_id,
            pinned,
        } => StoreRequest::SetPinned {
            checkpoint_id,
            pinned,
        },
        RequestText::Prune { keep } => StoreRequest::Prune { keep },
        RequestText::EpochUsed { epoch } => StoreRequest::EpochUsed { epoch },
        RequestText::NextEpochAfter { epoch } => StoreRequest::NextEpochAfter { epoch },
        RequestText::EpisodeUsed {
            session_id,
            episode_id,
        } => StoreRequest::EpisodeUsed {
            session_id,
            episode_id,
        },
        RequestText::ClaimEpoch { epoch } => StoreRequest::ClaimEpoch { epoch },
        RequestText::MarkResumed { checkpoint_id } => StoreRequest::MarkResumed { checkpoint_id },
        RequestText::Usage {} => StoreRequest::Usage,
    })
}

/// Writes a reply. Its bytes are not copied.
pub fn encode_reply(reply: StoreReply) -> Result<WireMessage, WireError> {
    let mut attachments = Vec::new();
    let text = match reply {
        StoreReply::Saved(result) => ReplyText::Saved(result),
        StoreReply::Imported(result) => ReplyText::Imported(result),
        StoreReply::Resolved(result) => ReplyText::Resolved(result),
        StoreReply::Selected(result) => ReplyText::Selected(result.map(|selected| {
            attachments.push(owned(selected.bytes));
            SelectedText {
                generation: selected.generation,
                damaged: selected.damaged,
                incompatible: selected.incompatible,
            }
        })),
        StoreReply::Generations(result) => ReplyText::Generations(result),
        StoreReply::Read(result) => ReplyText::Read(result.map(|bytes| {
            attachments.push(owned(bytes));
            Attached {}
        })),
        StoreReply::Verified(result) => ReplyText::Verified(result),
        StoreReply::PinnedSet(result) => ReplyText::PinnedSet(result),
        StoreReply::Pruned(result) => ReplyText::Pruned(result),
        StoreReply::EpochUsed(result) => ReplyText::EpochUsed(result),
        StoreReply::NextEpoch(result) => ReplyText::NextEpoch(result),
        StoreReply::EpisodeUsed(result) => ReplyText::EpisodeUsed(result),
        StoreReply::EpochClaimed(result) => ReplyText::EpochClaimed(result),
        StoreReply::Resumed(result) => ReplyText::Resumed(result),
        StoreReply::Usage(result) => ReplyText::Usage(result),
    };
    Ok(WireMessage {
        text: write(&text)?,
        attachments,
    })
}

/// Reads a reply.
pub fn decode_reply(text: &str, attachments: Vec<Vec<u8>>) -> Result<StoreReply, WireError> {
    let text: ReplyText = read(text)?;
    let has_bytes = matches!(text, ReplyText::Selected(Ok(_)) | ReplyText::Read(Ok(_)));
    require_attachments(usize::from(has_bytes), &attachments)?;
    let bytes = attachments.into_iter().next().unwrap_or_default();
    Ok(match text {
        ReplyText::Saved(result) => StoreReply::Saved(result),
        ReplyText::Imported(result) => StoreReply::Imported(result),
        ReplyText::Resolved(result) => StoreReply::Resolved(result),
        ReplyText::Selected(result) => StoreReply::Selected(result.map(|selected| Selected {
            generation: selected.generation,
            bytes,
            damaged: selected.damaged,
            incompatible: selected.incompatible,
        })),
        ReplyText::Generations(result) => StoreReply::Generations(result),
        ReplyText::Read(result) => StoreReply::Read(result.map(|Attached {}| bytes)),
        ReplyText::Verified(result) => StoreReply::Verified(result),
        ReplyText::PinnedSet(result) => StoreReply::PinnedSet(result),
        ReplyText::Pruned(result) => StoreReply::Pruned(result),
        ReplyText::EpochUsed(result) => StoreReply::EpochUsed(result),
        ReplyText::NextEpoch(result) => StoreReply::NextEpoch(result),
        ReplyText::EpisodeUsed(result) => StoreReply::EpisodeUsed(result),
        ReplyText::EpochClaimed(result) => StoreReply::EpochClaimed(result),
        ReplyText::Resumed(result) => StoreReply::Resumed(result),
        ReplyText::Usage(result) => StoreReply::Usage(result),
    })
}

fn owned(bytes: Vec<u8>) -> PayloadBytes {
    Arc::new(bytes)
}

fn write(text: &impl Serialize) -> Result<String, WireError> {
    let unwritable = |reason: String| WireError::Unwritable { reason };
    let bytes = canonical_json(text).map_err(|error| unwritable(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| unwritable(error.to_string()))
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, WireError> {
    Ok(from_json(parse_strict_json(text.as_bytes())?)?)
}

fn require_attachments(expected: usize, attachments: &[Vec<u8>]) -> Result<(), WireError> {
    let found = attachments.len();
    if found == expected {
        return Ok(());
    }
    Err(WireError::Attachments { expected, found })
}

#[cfg(test)]
mod tests;
