//! Which generation a restore takes.

use wellwritten_envelope::{Digest, Id};

use crate::damage::{Damage, DamagedGeneration};
use crate::generation_info::GenerationInfo;
use crate::record_field::RecordField;
use crate::store_error::{ReadError, StoreError};
use crate::store_route::StoreGone;

/// What a restore asks for. The default takes the newest generation, whatever it is, and falls back to
/// none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "camelCase", deny_unknown_fields)
)]
pub struct Selection {
    /// This generation, or the newest that `filter` lets through. A named one may lie in a future that
    /// was abandoned; the newest never does.
    pub checkpoint_id: Option<Id>,
    /// What the generation must be of.
    pub filter: GenerationFilter,
    /// Whether an older generation may stand in for a damaged newest one. Has no effect on a named one, nor on one that
    /// the medium cannot read ([`Damage::Unreadable`]): that may be whole.
    pub fallback: bool,
}

/// What a generation must be of to be taken; `None` lets anything through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "camelCase", deny_unknown_fields)
)]
pub struct GenerationFilter {
    /// The session.
    pub session_id: Option<Id>,
    /// The episode.
    pub episode_id: Option<Id>,
    /// The digest of the compatibility block.
    pub compatibility_digest: Option<Digest>,
}

impl GenerationFilter {
    /// The first field in which `generation` differs, if any.
    #[must_use]
    pub fn mismatch(&self, generation: &GenerationInfo) -> Option<Mismatch> {
        let differs = |field, required: Option<String>, found: String| {
            let required = required.filter(|required| *required != found)?;
            Some(Mismatch {
                checkpoint_id: generation.checkpoint_id.clone(),
                field,
                required,
                found,
            })
        };
        let text = |id: &Option<Id>| id.as_ref().map(Id::to_string);
        differs(
            RecordField::SessionId,
            text(&self.session_id),
            generation.session_id.to_string(),
        )
        .or_else(|| {
            differs(
                RecordField::EpisodeId,
                text(&self.episode_id),
                generation.episode_id.to_string(),
            )
        })
        .or_else(|| {
            let required = self.compatibility_digest.as_ref().map(Digest::to_string);
            differs(
                RecordField::CompatibilityDigest,
                required,
                generation.compatibility_digest.to_string(),
            )
        })
    }
}

/// The field that keeps a generation from being taken, and both values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "camelCase", deny_unknown_fields)
)]
pub struct Mismatch {
    /// The generation.
    pub checkpoint_id: Id,
    /// The field of its record.
    pub field: RecordField,
    /// What was asked for.
    pub required: String,
    /// What the generation is of.
    pub found: String,
}

/// A whole generation, ready to be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Its record, equal to the envelope's own words.
    pub generation: GenerationInfo,
    /// The envelope; length, digest and content verified.
    pub bytes: Vec<u8>,
    /// Newer generations that were passed over because they are damaged, newest first.
    pub damaged: Vec<DamagedGeneration>,
    /// Newer generations that were passed over because the filter refuses them, newest first.
    pub incompatible: Vec<Mismatch>,
}

/// No generation was taken. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all_fields = "camelCase", deny_unknown_fields)
)]
pub enum SelectError {
    /// The store lists no such generation; retry with one that it lists.
    #[error("the store has no generation `{checkpoint_id}`")]
    Unknown {
        /// The id asked for.
        checkpoint_id: Id,
    },
    /// It was committed and has since been rotated out; its bytes are gone.
    #[error("generation `{checkpoint_id}` was committed and has since been rotated out")]
    RotatedOut {
        /// The id asked for.
        checkpoint_id: Id,
    },
    /// There is no generation to restore from.
    #[error("the store has no generation to restore from")]
    Empty,
    /// The named generation, or every one of them, is of something else.
    #[error("{}", incompatible_text(refused))]
    Incompatible {
        /// Why each is refused, newest first; at least one.
        refused: Vec<Mismatch>,
    },
    /// The generation to be taken is damaged. Where an older one is offered, ask for it by name or with
    /// `fallback`.
    #[error("generation `{checkpoint_id}` is damaged: {damage}{}", offer_text(older.as_ref()))]
    Damaged {
        /// The newest that fits, or the one that was named.
        checkpoint_id: Id,
        /// What is wrong with it.
        damage: Damage,
        /// The next older generation that fits; not verified yet.
        older: Option<Id>,
    },
    /// This view is read-only, and the manifest could not be read again. Retrying makes sense when the cause
    /// is gone.
    #[error("the store cannot be looked at: {source}")]
    View {
        /// Why.
        source: StoreError,
    },
    /// The owner of the store ended. Retry when it is open again.
    #[error(transparent)]
    Gone(#[from] StoreGone),
    /// Every generation that fits is damaged.
    #[error("all {} generations that fit are damaged", damaged.len())]
    AllDamaged {
        /// Each of them, newest first; at least one.
        damaged: Vec<DamagedGeneration>,
    },
}

impl From<ReadError> for SelectError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Unknown { checkpoint_id } => Self::Unknown { checkpoint_id },
            ReadError::RotatedOut { checkpoint_id } => Self::RotatedOut { checkpoint_id },
            ReadError::Damaged {
                checkpoint_id,
                damage,
            } => Self::Damaged {
                checkpoint_id,
                damage,
                older: None,
            },
            ReadError::View { source } => Self::View { source },
            ReadError::Gone(gone) => Self::Gone(gone),
        }
    }
}

fn incompatible_text(refused: &[Mismatch]) -> String {
    let one = |mismatch: &Mismatch| {
        format!(
            "generation `{}` has {} {}, this session has {}",
            mismatch.checkpoint_id, mismatch.field, mismatch.found, mismatch.required
        )
    };
    refused.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn offer_text(older: Option<&Id>) -> String {
    older.map_or_else(
        || "; there is no older one that fits".to_owned(),
        |id| format!("; the next older one is `{id}`"),
    )
}
