//! The half of a store that changes nothing.

use wellwritten_envelope::{Digest, Id};

use crate::damage::{Damage, DamagedGeneration};
use crate::envelope_words;
use crate::epoch_history::EpochHistory;
use crate::file_name;
use crate::generation_info::GenerationInfo;
use crate::generation_list::{GenerationList, ListedGeneration};
use crate::medium_error::MediumError;
use crate::selection::{GenerationFilter, Mismatch, SelectError, Selected, Selection};
use crate::store_error::{ReadError, StoreError};
use crate::store_manifest::StoreManifest;
use crate::store_medium::{StoreMedium, Usage};
use crate::verify_report::VerifyReport;

/// What became of a save whose answer was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all_fields = "camelCase", deny_unknown_fields)
)]
pub enum Resolution {
    /// It committed and is listed.
    Committed(Box<GenerationInfo>),
    /// It committed and has since been rotated out.
    RotatedOut,
    /// A file of that id was there when the store had no manifest, and is kept aside: the id is taken.
    Unlisted,
    /// It is in no manifest: it did not commit (or it did, more than
    /// [`RETIRED_IDS`](crate::RETIRED_IDS) rotations ago).
    NotCommitted,
}

/// A view of a store as of when its manifest was last read.
///
/// It needs no lock: a manifest is replaced by one rename, so a reader sees one or the other. A
/// generation that the owner rotates out meanwhile reads as [`Damage::Missing`]; [`refresh`](Self::refresh)
/// and look again.
#[derive(Debug)]
pub struct StoreReader<M> {
    pub(crate) medium: M,
    pub(crate) manifest: StoreManifest,
    pub(crate) manifest_found: bool,
}

impl<M: StoreMedium> StoreReader<M> {
    /// Reads the manifest of the store on `medium`. No manifest is an empty store.
    pub async fn open(medium: M) -> Result<Self, StoreError> {
        let mut reader = Self {
            medium,
            manifest: StoreManifest::default(),
            manifest_found: false,
        };
        reader.refresh().await?;
        Ok(reader)
    }

    /// Reads the manifest again. After an error the view is what it was.
    pub async fn refresh(&mut self) -> Result<(), StoreError> {
        match self.medium.read(file_name::MANIFEST).await {
            Ok(bytes) => {
                self.manifest = StoreManifest::decode(&bytes)?;
                self.manifest_found = true;
            }
            Err(error) if error.is_not_found() && self.manifest_found => {
                return Err(StoreError::ManifestVanished);
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// The generations, newest commit first.
    pub fn generations(&self) -> impl DoubleEndedIterator<Item = &GenerationInfo> {
        self.manifest.generations().iter().rev()
    }

    /// The newest generation that was not abandoned: the last one committed, or the one a session
    /// resumed from since. Not verified.
    #[must_use]
    pub fn latest(&self) -> Option<&GenerationInfo> {
        self.manifest.high_water()
    }

    /// The record of one generation.
    #[must_use]
    pub fn find(&self, checkpoint_id: &Id) -> Option<&GenerationInfo> {
        self.manifest.find(checkpoint_id)
    }

    /// Whether `generation` lies in a future that a resumption from an earlier one, or from one of another
    /// future, left behind: no restore takes it unless it is named, and rotation drops it first.
    #[must_use]
    pub fn is_abandoned(&self, generation: &GenerationInfo) -> bool {
        !self.manifest.timeline().contains(&generation)
    }

    /// Whether no rotation drops `generation`.
    #[must_use]
    pub fn is_pinned(&self, generation: &GenerationInfo) -> bool {
        self.manifest.is_pinned(&generation.checkpoint_id)
    }

    /// Whether a generation of that episode is stored.
    #[must_use]
    pub fn is_episode_used(&self, session_id: &Id, episode_id: &Id) -> bool {
        self.generations()
            .any(|one| (&one.session_id, &one.episode_id) == (session_id, episode_id))
    }

    /// Every generation with what this view knows of it, oldest commit first.
    #[must_use]
    pub fn generation_list(&self) -> GenerationList {
        let timeline = self.manifest.timeline();
        let latest = self.latest();
        let listed = |info: &GenerationInfo| ListedGeneration {
            info: info.clone(),
            pinned: self.is_pinned(info),
            abandoned: !timeline.contains(&info),
            is_latest: latest == Some(info),
        };
        GenerationList {
            generations: self.manifest.generations().iter().map(listed).collect(),
            resumed_from: self.manifest.resumed_from().cloned(),
            unlisted: self.manifest.unlisted.clone(),
        }
    }

    /// Every epoch name this store must take as used, of generations long gone included.
    #[must_use]
    pub fn epochs(&self) -> &EpochHistory {
        &self.manifest.epochs
    }

    /// What this view of the manifest says about a save under `checkpoint_id`. After a commit of
    /// unknown outcome ask [`Store::resolve`](crate::Store::resolve), which reads the manifest anew.
    #[must_use]
    pub fn resolution(&self, checkpoint_id: &Id) -> Resolution {
        if let Some(generation) = self.find(checkpoint_id) {
            Resolution::Committed(Box::new(generation.clone()))
        } else if self.manifest.retired.contains(checkpoint_id) {
            Resolution::RotatedOut
        } else if self.manifest.unlisted.contains(checkpoint_id) {
            Resolution::Unlisted
        } else {
            Resolution::NotCommitted
        }
    }

    /// How full the medium is.
    pub async fn usage(&self) -> Result<Usage, MediumError> {
        self.medium.usage().await
    }

    /// The bytes of a generation, of the committed length and digest, or an error that says what is
    /// wrong. The envelope in them is not looked at; see [`verify`](Self::verify).
    pub async fn read(&self, checkpoint_id: &Id) -> Result<Vec<u8>, ReadError> {
        let generation = self.require(checkpoint_id)?;
        self.read_bytes(generation)
            .await
            .map_err(|damage| ReadError::Damaged {
                checkpoint_id: checkpoint_id.clone(),
                damage,
            })
    }

    /// The bytes of a generation, checked as [`verify`](Self::verify) does: to export it.
    pub async fn read_whole(&self, checkpoint_id: &Id) -> Result<Vec<u8>, ReadError> {
        let generation = self.require(checkpoint_id)?;
        self.read_record(generation)
            .await
            .map_err(|damage| ReadError::Damaged {
                checkpoint_id: checkpoint_id.clone(),
                damage,
            })
    }

    /// Checks length, digest, the envelope by every rule of its format, and that the store's record
    /// says what the envelope says.
    pub async fn verify(&self, checkpoint_id: &Id) -> Result<VerifyReport, ReadError> {
        let generation = self.require(checkpoint_id)?;
        let damage = self.read_record(generation).await.err();
        Ok(VerifyReport {
            checkpoint_id: generation.checkpoint_id.clone(),
            file: generation.file.clone(),
            byte_length: generation.byte_length,
            envelope_digest: generation.envelope_digest,
            verified: damage.is_none(),
            damage: damage.as_ref().map(Into::into),
        })
    }

    /// The generations that a restore may take without naming one, best first, and those that `filter`
    /// refuses. Abandoned ones (see [`is_abandoned`](Self::is_abandoned)) are in neither.
    #[must_use]
    pub fn candidates(&self, filter: &GenerationFilter) -> (Vec<&GenerationInfo>, Vec<Mismatch>) {
        let mut fitting = Vec::new();
        let mut refused = Vec::new();
        for generation in self.manifest.timeline() {
            match filter.mismatch(generation) {
                None => fitting.push(generation),
                Some(mismatch) => refused.push(mismatch),
            }
        }
        (fitting, refused)
    }

    /// The generation a restore should take, verified like [`verify`](Self::verify) does.
    pub async fn select(&self, selection: &Selection) -> Result<Selected, SelectError> {
        let Some(checkpoint_id) = &selection.checkpoint_id else {
            return self
                .select_newest(&selection.filter, selection.fallback)
                .await;
        };
        let generation = self.require(checkpoint_id)?;
        if let Some(mismatch) = selection.filter.mismatch(generation) {
            return Err(SelectError::Incompatible {
                refused: vec![mismatch],
            });
        }
        let bytes = self
            .read_record(generation)
            .await
            .map_err(|damage| SelectError::Damaged {
                checkpoint_id: checkpoint_id.clone(),
                damage,
                older: self.next_older(generation, &selection.filter),
            })?;
        Ok(Selected {
            generation: generation.clone(),
            bytes,
            damaged: Vec::new(),
            incompatible: Vec::new(),
        })
    }

    async fn select_newest(
        &self,
        filter: &GenerationFilter,
        fallback: bool,
    ) -> Result<Selected, SelectError> {
        let (fitting, refused) = self.candidates(filter);
        if fitting.is_empty() {
            return Err(if refused.is_empty() {
                SelectError::Empty
            } else {
                SelectError::Incompatible { refused }
            });
        }
        let mut damaged = Vec::new();
        for generation in fitting {
            let damage = match self.read_record(generation).await {
                Ok(bytes) => {
                    let newer = self.ids_newer_than(generation);
                    return Ok(Selected {
                        generation: generation.clone(),
                        bytes,
                        damaged,
                        incompatible: refused
                            .into_iter()
                            .filter(|mismatch| newer.contains(&&mismatch.checkpoint_id))
                            .collect(),
                    });
                }
                Err(damage) => damage,
            };
            let checkpoint_id = generation.checkpoint_id.clone();
            // What cannot be read now may be whole, and going on from an older one would abandon it.
            let may_be_whole = matches!(damage, Damage::Unreadable { .. });
            if !fallback || may_be_whole {
                return Err(SelectError::Damaged {
                    checkpoint_id,
                    damage,
                    older: self.next_older(generation, filter),
                });
            }
            damaged.push(DamagedGeneration {
                checkpoint_id,
                damage,
            });
        }
        Err(SelectError::AllDamaged { damaged })
    }

    fn next_older(&self, than: &GenerationInfo, filter: &GenerationFilter) -> Option<Id> {
        self.manifest
            .line(Some(&than.checkpoint_id))
            .into_iter()
            .skip(1)
            .find(|generation| filter.mismatch(generation).is_none())
            .map(|generation| generation.checkpoint_id.clone())
    }

    fn ids_newer_than(&self, than: &GenerationInfo) -> Vec<&Id> {
        self.generations()
            .take_while(|generation| *generation != than)
            .map(|generation| &generation.checkpoint_id)
            .collect()
    }

    fn require(&self, checkpoint_id: &Id) -> Result<&GenerationInfo, ReadError> {
        if let Some(generation) = self.find(checkpoint_id) {
            return Ok(generation);
        }
        let checkpoint_id = checkpoint_id.clone();
        Err(if self.manifest.retired.contains(&checkpoint_id) {
            ReadError::RotatedOut { checkpoint_id }
        } else {
            ReadError::Unknown { checkpoint_id }
        })
    }

    async fn read_record(&self, generation: &GenerationInfo) -> Result<Vec<u8>, Damage> {
        let bytes = self.read_bytes(generation).await?;
        envelope_words::require_recorded(generation, &bytes)?;
        Ok(bytes)
    }

    async fn read_bytes(&self, generation: &GenerationInfo) -> Result<Vec<u8>, Damage> {
        let bytes = self.medium.read(&generation.file).await.map_err(|source| {
            if source.is_not_found() {
                Damage::Missing {
                    file: generation.file.clone(),
                }
            } else {
                Damage::Unreadable { source }
            }
        })?;
        let found_bytes = bytes.len() as u64;
        if found_bytes != generation.byte_length.get() {
            return Err(Damage::Length {
                committed_bytes: generation.byte_length.get(),
                found_bytes,
            });
        }
        let found = Digest::blake3(&bytes);
        if found != generation.envelope_digest {
            return Err(Damage::Digest {
                committed: generation.envelope_digest,
                found,
            });
        }
        Ok(bytes)
    }
}
