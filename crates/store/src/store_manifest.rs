//! The store manifest: which generations there are. Its rename is what commits one.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wellwritten_envelope::{
    Digest, Id, canonical_json, canonical_text, from_json, parse_strict_json, sort_few_by,
};

use crate::epoch_history::EpochHistory;
use crate::file_name;
use crate::generation_info::GenerationInfo;

/// The version of the store manifest this code writes and reads.
pub const STORE_MANIFEST_VERSION: u32 = 1;

/// What the generations are encoded as.
pub const STATE_FORMAT_ID: &str = "flysess-1";

/// How many checkpoint ids are remembered after their generation rotated out, so that a late question
/// about one is answered "it was committed", and so that it is not used again. Limited because the
/// manifest is rewritten by every commit; 64 ids are at most 4.3 kB of it.
pub const RETIRED_IDS: usize = 64;

/// How many generation files that were there without a manifest a store keeps aside. Limited for the same
/// reason; 256 names are at most 17 kB.
pub const UNLISTED_IDS: usize = 256;

/// How many generations can be pinned. Limited because each is a record of about 500 bytes in the manifest and
/// no rotation ever takes it out.
pub const PINNED_GENERATIONS: usize = 64;

/// The decoded, checked content of `manifest.json`.
///
/// In the file: canonical JSON of `storeManifestVersion`, `stateFormatId`, `highWater`, `resumedFrom`,
/// `generations` (oldest commit first), `continues`, `epochs`, `retired` (oldest first), `unlisted`
/// (sorted), `pinned` (sorted; absent where nothing is, as in manifests of before there were pins) and
/// `digest`, the last being BLAKE3 of the canonical JSON of all the others.
///
/// `continues` says, for each generation in turn, which listed one it goes on from; itself where none of
/// those is listed. The *timeline* is `highWater` and what it goes on from, one after the other; every
/// other generation is in an abandoned future. So resuming from an abandoned one needs no bookkeeping:
/// its own past is the timeline again, and nothing else is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreManifest {
    high_water: Option<Id>,
    resumed_from: Option<Id>,
    generations: Vec<GenerationInfo>,
    continues: Vec<Id>,
    pub(crate) epochs: EpochHistory,
    pub(crate) retired: Vec<Id>,
    /// Checkpoint ids whose files were there when the manifest was not; the files are never removed.
    pub(crate) unlisted: Vec<Id>,
    /// The generations that no rotation drops.
    pinned: Vec<Id>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ManifestFile {
    store_manifest_version: u32,
    state_format_id: String,
    // Required though it may be null: a missing field must not read as "no generation".
    #[serde(deserialize_with = "Option::deserialize")]
    high_water: Option<Id>,
    #[serde(deserialize_with = "Option::deserialize")]
    resumed_from: Option<Id>,
    generations: Vec<GenerationInfo>,
    continues: Vec<Id>,
    epochs: EpochHistory,
    retired: Vec<Id>,
    unlisted: Vec<Id>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pinned: Vec<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
}

/// The rule that bytes break which should be a store manifest. Retrying the same bytes fails again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all_fields = "camelCase", deny_unknown_fields)
)]
pub enum ManifestFault {
    /// Not strict JSON.
    #[error("it is not strict JSON: {message}")]
    NotJson {
        /// The rule of strict JSON, and where.
        message: String,
    },
    /// Strict JSON, but not in the one canonical spelling.
    #[error("it is not canonical JSON; the spelling differs at byte {offset}")]
    NotCanonical {
        /// The first byte that differs.
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        offset: usize,
    },
    /// Written by a later version of this software.
    #[error("it has storeManifestVersion {found}, this software reads {supported}")]
    Version {
        /// The version as spelled, or `nothing`.
        found: String,
        /// [`STORE_MANIFEST_VERSION`].
        supported: u32,
    },
    /// A field is missing, unknown, or not of its type.
    #[error("its fields are not those of a store manifest: {message}")]
    Fields {
        /// The first fault in the JSON reader's words.
        message: String,
    },
    /// It is not what was written.
    #[error("its digest is {stated}, its content digests to {computed}")]
    Digest {
        /// The digest it states.
        stated: String,
        /// The digest of its other fields.
        computed: Digest,
    },
    /// The generations are in a format this software does not read.
    #[error("its stateFormatId is {found:?}, this software reads {STATE_FORMAT_ID:?}")]
    StateFormat {
        /// As found.
        found: String,
    },
    /// A file that is not the one file its checkpoint may have; so no path can leave the store.
    #[error("generation {checkpoint_id} names the file {found:?}, which must be {required:?}")]
    File {
        /// The generation.
        checkpoint_id: Id,
        /// The file it names.
        found: String,
        /// The only file it may name.
        required: String,
    },
    /// A checkpoint id that appears twice.
    #[error("checkpoint id {checkpoint_id} appears twice")]
    IdTwice {
        /// The id.
        checkpoint_id: Id,
    },
    /// The high-water mark names nothing that is listed.
    #[error("its highWater {checkpoint_id} is not one of its generations")]
    HighWater {
        /// The id it names.
        checkpoint_id: Id,
    },
    /// There are generations, and none of them is where what is committed next goes on from.
    #[error("it has generations and no highWater")]
    NoHighWater,
    /// A session resumed from a generation that is not in the timeline.
    #[error("its resumedFrom {checkpoint_id} is not in its timeline")]
    ResumedFrom {
        /// The id it names.
        checkpoint_id: Id,
    },
    /// Not every generation goes on from itself or from one committed before it.
    #[error("its continues are not an earlier generation, or itself, for each of its generations")]
    Continues,
    /// The files kept aside are not in the form in which they are written.
    #[error("its unlisted ids are not sorted, or more than {UNLISTED_IDS}")]
    Unlisted,
    /// The pinned generations are not in the form in which they are written.
    #[error(
        "its pinned ids are not sorted, not of its generations, or more than {PINNED_GENERATIONS}"
    )]
    Pinned,
    /// A generation's epoch would be given out again.
    #[error("its epochs do not know epoch {epoch} of generation {checkpoint_id}")]
    EpochUnknown {
        /// The generation.
        checkpoint_id: Id,
        /// Its epoch.
        epoch: Id,
    },
    /// The epoch history is not in the form in which it is written.
    #[error("its epochs are not sorted stems with ordinals")]
    Epochs,
}

impl StoreManifest {
    /// The newest committed generation, or the one a session resumed from since.
    #[must_use]
    pub fn high_water(&self) -> Option<&GenerationInfo> {
        self.high_water.as_ref().and_then(|id| self.find(id))
    }

    /// The generation a session last resumed from, as long as it is listed.
    #[must_use]
    pub fn resumed_from(&self) -> Option<&Id> {
        self.resumed_from.as_ref()
    }

    /// The generations, oldest commit first.
    #[must_use]
    pub fn generations(&self) -> &[GenerationInfo] {
        &self.generations
    }

    /// The record of one generation.
    #[must_use]
    pub fn find(&self, checkpoint_id: &Id) -> Option<&GenerationInfo> {
        self.position(checkpoint_id).map(|at| &self.generations[at])
    }

    /// The generation `from` and what it goes on from, newest first.
    #[must_use]
    pub fn line(&self, from: Option<&Id>) -> Vec<&GenerationInfo> {
        let mut line = Vec::new();
        let mut next = from.and_then(|id| self.position(id));
        while let Some(at) = next {
            line.push(&self.generations[at]);
            next = self
                .position(&self.continues[at])
                .filter(|before| *before < at);
        }
        line
    }

    /// The newest generation that was not abandoned and what it goes on from, newest first.
    #[must_use]
    pub fn timeline(&self) -> Vec<&GenerationInfo> {
        self.line(self.high_water.as_ref())
    }

    fn position(&self, checkpoint_id: &Id) -> Option<usize> {
        self.generations
            .iter()
            .position(|generation| generation.checkpoint_id == *checkpoint_id)
    }

    /// Whether `file` belongs to a generation.
    #[must_use]
    pub fn lists_file(&self, file: &str) -> bool {
        self.generations
            .iter()
            .any(|generation| generation.file == file)
    }

    /// The bytes of the file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut file = ManifestFile {
            store_manifest_version: STORE_MANIFEST_VERSION,
            state_format_id: STATE_FORMAT_ID.to_owned(),
            high_water: self.high_water.clone(),
            resumed_from: self.resumed_from.clone(),
            generations: self.generations.clone(),
            continues: self.continues.clone(),
            epochs: self.epochs.clone(),
            retired: self.retired.clone(),
            unlisted: self.unlisted.clone(),
            pinned: self.pinned.clone(),
            digest: None,
        };
        file.digest = Some(Digest::blake3(&canonical(&file)));
        canonical(&file)
    }

    /// Reads the bytes of the file: strict, canonical, complete, undamaged and consistent, or refused.
    pub fn decode(bytes: &[u8]) -> Result<Self, ManifestFault> {
        let value = parse_strict_json(bytes).map_err(|error| ManifestFault::NotJson {
            message: error.to_string(),
        })?;
        require_version(&value)?;
        require_digest(&value)?;
        let file: ManifestFile = from_json(value).map_err(|error| ManifestFault::Fields {
            message: error.to_string(),
        })?;
        if file.state_format_id != STATE_FORMAT_ID {
            return Err(ManifestFault::StateFormat {
                found: file.state_format_id,
            });
        }
        let manifest = Self {
            high_water: file.high_water,
            resumed_from: file.resumed_from,
            generations: file.generations,
            continues: file.continues,
            epochs: file.epochs,
            retired: file.retired,
            unlisted: file.unlisted,
            pinned: file.pinned,
        };
        manifest.require_consistent()?;
        manifest.require_spelling(bytes)?;
        Ok(manifest)
    }

    /// One content has one spelling: what this code would write.
    fn require_spelling(&self, bytes: &[u8]) -> Result<(), ManifestFault> {
        let spelling = self.encode();
        if spelling == bytes {
            return Ok(());
        }
        let offset = spelling
            .iter()
            .zip(bytes)
            .take_while(|(a, b)| a == b)
            .count();
        Err(ManifestFault::NotCanonical { offset })
    }

    fn require_consistent(&self) -> Result<(), ManifestFault> {
        for generation in &self.generations {
            let required = file_name::generation(&generation.checkpoint_id);
            if generation.file != required {
                return Err(ManifestFault::File {
                    checkpoint_id: generation.checkpoint_id.clone(),
                    found: generation.file.clone(),
                    required,
                });
            }
        }
        let listed = self
            .generations
            .iter()
            .map(|generation| &generation.checkpoint_id);
        let mut ids: Vec<_> = listed.chain(&self.retired).chain(&self.unlisted).collect();
        sort_few_by(&mut ids, Ord::cmp);
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(ManifestFault::IdTwice {
                checkpoint_id: pair[0].clone(),
            });
        }
        if let Some(id) = self
            .high_water
            .as_ref()
            .filter(|id| self.find(id).is_none())
        {
            return Err(ManifestFault::HighWater {
                checkpoint_id: id.clone(),
            });
        }
        if self.high_water.is_none() && !self.generations.is_empty() {
            return Err(ManifestFault::NoHighWater);
        }
        self.require_lines()?;
        let sorted = self.unlisted.windows(2).all(|pair| pair[0] < pair[1]);
        if !sorted || self.unlisted.len() > UNLISTED_IDS {
            return Err(ManifestFault::Unlisted);
        }
        let sorted = self.pinned.windows(2).all(|pair| pair[0] < pair[1]);
        let listed = self.pinned.iter().all(|id| self.find(id).is_some());
        if !sorted || !listed || self.pinned.len() > PINNED_GENERATIONS {
            return Err(ManifestFault::Pinned);
        }
        self.require_epochs()
    }

    fn require_epochs(&self) -> Result<(), ManifestFault> {
        if !self.epochs.is_well_formed() {
            return Err(ManifestFault::Epochs);
        }
        let mut generations = self.generations.iter();
        match generations.find(|generation| !self.epochs.is_used(&generation.epoch)) {
            Some(unknown) => Err(ManifestFault::EpochUnknown {
                checkpoint_id: unknown.checkpoint_id.clone(),
                epoch: unknown.epoch.clone(),
            }),
            None => Ok(()),
        }
    }

    fn require_lines(&self) -> Result<(), ManifestFault> {
        let earlier = |(at, id)| self.position(id).is_some_and(|before| before <= at);
        if self.continues.len() != self.generations.len()
            || !self.continues.iter().enumerate().all(earlier)
        {
            return Err(ManifestFault::Continues);
        }
        let timeline = self.timeline();
        let in_timeline = |id: &Id| {
            timeline
                .iter()
                .any(|generation| generation.checkpoint_id == *id)
        };
        match &self.resumed_from {
            Some(id) if !in_timeline(id) => Err(ManifestFault::ResumedFrom {
                checkpoint_id: id.clone(),
            }),
            _ => Ok(()),
        }
    }
}

fn require_version(value: &Value) -> Result<(), ManifestFault> {
    let found = value.get("storeManifestVersion");
    if found.and_then(Value::as_u64) == Some(u64::from(STORE_MANIFEST_VERSION)) {
        return Ok(());
    }
    Err(ManifestFault::Version {
        found: found.map_or_else(|| "nothing".to_owned(), canonical_text),
        supported: STORE_MANIFEST_VERSION,
    })
}

fn require_digest(value: &Value) -> Result<(), ManifestFault> {
    let mut body = value.clone();
    let stated = body
        .as_object_mut()
        .and_then(|fields| fields.remove("digest"));
    let computed = Digest::blake3(&canonical(&body));
    match stated {
        Some(Value::String(text)) if text == computed.to_string() => Ok(()),
        stated => Err(ManifestFault::Digest {
            stated: stated.map_or_else(|| "missing".to_owned(), |value| canonical_text(&value)),
            computed,
        }),
    }
}

fn canonical(value: &impl Serialize) -> Vec<u8> {
    canonical_json(value).expect(
        "a value read from strict JSON, or made of strings and small integers, has canonical JSON",
    )
}

mod retention;
#[cfg(test)]
mod tests;
