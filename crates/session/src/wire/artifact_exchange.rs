//! How artifacts leave a message and come back into it.
//!
//! While a message is written, every artifact in it is put aside as an attachment and leaves a reference behind; while
//! one is read, every reference is answered with an attachment. Serde has no place for either, so both stand beside the
//! call, for as long as it lasts: see [`writing`] and [`reading`].

use std::cell::RefCell;
use std::fmt;

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Digest, U64};

use crate::Artifact;
use crate::wire::Attachment;

/// Name of one artifact among those of one program: `art-<n>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactId(pub u64);

impl fmt::Display for ArtifactId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "art-{}", self.0)
    }
}

super::numbered_id!(ArtifactId, "art-");

/// What a message says of an artifact that travels beside it. The digest is absent where the sender has not computed
/// it, which it has of every captured state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ArtifactRef {
    artifact_id: ArtifactId,
    byte_length: U64,
    content_type: String,
    #[serde(deserialize_with = "Option::deserialize")]
    digest: Option<Digest>,
}

/// What stands beside a message that is being written or read.
enum Exchange {
    Writing(Vec<Attachment>),
    Reading(Reading),
}

/// What there is to answer references with, and how it went.
pub(crate) struct Reading {
    attachments: Vec<Attachment>,
    is_used: Vec<bool>,
    /// The first reference that could not be answered, and why.
    pub failure: Option<String>,
}

impl Reading {
    /// The first attachment that no reference named.
    pub(crate) fn unused(&self) -> Option<ArtifactId> {
        let position = self.is_used.iter().position(|used| !*used)?;
        Some(self.attachments[position].artifact_id)
    }

    fn answer(&self, reference: &ArtifactRef) -> Result<(usize, Artifact), String> {
        let position = self
            .attachments
            .iter()
            .position(|attached| attached.artifact_id == reference.artifact_id)
            .ok_or_else(|| format!("{} is not attached to this message", reference.artifact_id))?;
        let artifact = &self.attachments[position].artifact;
        if artifact.byte_length() != reference.byte_length.0
            || artifact.content_type() != reference.content_type
        {
            return Err(format!(
                "{} has {} bytes of {}, the message says {} of {}",
                reference.artifact_id,
                artifact.byte_length(),
                artifact.content_type(),
                reference.byte_length,
                reference.content_type
            ));
        }
        if reference.digest.is_none() && artifact.content_type() == Artifact::CHECKPOINT_PAYLOAD {
            return Err(format!(
                "{} is a captured state, and the message does not say its digest",
                reference.artifact_id
            ));
        }
        if let Some(stated) = reference.digest {
            let found = artifact.digest();
            if found != stated {
                return Err(format!(
                    "{} has digest {found}, the message says {stated}",
                    reference.artifact_id
                ));
            }
        }
        Ok((position, artifact.clone()))
    }
}

thread_local! {
    static EXCHANGE: RefCell<Option<Exchange>> = const { RefCell::new(None) };
}

/// Puts the thread's exchange back to what it was, also when the call between panics.
struct Restored(Option<Exchange>);

impl Drop for Restored {
    fn drop(&mut self) {
        let before = self.0.take();
        EXCHANGE.with(|exchange| *exchange.borrow_mut() = before);
    }
}

fn within<T>(exchange: Exchange, call: impl FnOnce() -> T) -> (T, Option<Exchange>) {
    let before = EXCHANGE.with(|current| current.borrow_mut().replace(exchange));
    let restored = Restored(before);
    let outcome = call();
    let after = EXCHANGE.with(|current| current.borrow_mut().take());
    drop(restored);
    (outcome, after)
}

/// Runs `write`, which serializes a message, and gives what its artifacts became: each once, in the order of the text.
pub(crate) fn writing<T>(write: impl FnOnce() -> T) -> (T, Vec<Attachment>) {
    let (written, exchange) = within(Exchange::Writing(Vec::new()), write);
    match exchange {
        Some(Exchange::Writing(attachments)) => (written, attachments),
        _ => (written, Vec::new()),
    }
}

/// Runs `read`, which reads a message that came with `attachments`, and says how its references were answered.
pub(crate) fn reading<T>(
    attachments: Vec<Attachment>,
    read: impl FnOnce() -> T,
) -> (T, Option<Reading>) {
    let is_used = vec![false; attachments.len()];
    let (outcome, exchange) = within(
        Exchange::Reading(Reading {
            attachments,
            is_used,
            failure: None,
        }),
        read,
    );
    match exchange {
        Some(Exchange::Reading(reading)) => (outcome, Some(reading)),
        _ => (outcome, None),
    }
}

/// Makes an attachment of `artifact` where a message is being written; none anywhere else.
pub(crate) fn attach(artifact: &Artifact) -> Option<ArtifactRef> {
    EXCHANGE.with(|exchange| {
        let mut exchange = exchange.borrow_mut();
        let Some(Exchange::Writing(attachments)) = &mut *exchange else {
            return None;
        };
        let artifact_id = ArtifactId(artifact.outgoing_id());
        if attachments
            .iter()
            .all(|attached| attached.artifact_id != artifact_id)
        {
            attachments.push(Attachment {
                artifact_id,
                artifact: artifact.clone(),
            });
        }
        Some(ArtifactRef {
            artifact_id,
            byte_length: U64(artifact.byte_length()),
            content_type: artifact.content_type().to_owned(),
            digest: if artifact.content_type() == Artifact::CHECKPOINT_PAYLOAD {
                Some(artifact.digest())
            } else {
                artifact.known_digest()
            },
        })
    })
}

/// The attachment a reference names.
pub(crate) fn resolve(reference: &ArtifactRef) -> Result<Artifact, String> {
    EXCHANGE.with(|exchange| {
        let mut exchange = exchange.borrow_mut();
        let Some(Exchange::Reading(reading)) = &mut *exchange else {
            return Err("an artifact is read only within a message".to_owned());
        };
        match reading.answer(reference) {
            Ok((position, artifact)) => {
                reading.is_used[position] = true;
                Ok(artifact)
            }
            Err(reason) => {
                reading.failure.get_or_insert_with(|| reason.clone());
                Err(reason)
            }
        }
    })
}
