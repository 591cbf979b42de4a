//! The store of a session's checkpoints: each one whole and durable, or not there.
//!
//! A *store* is a flat folder of files on a [`StoreMedium`]. A *generation* is one envelope in it, and
//! the *store manifest* lists the generations. Committing writes the envelope to a temporary, syncs it,
//! reads it back, renames it and syncs the folder, then does the same with the manifest: the rename of
//! the manifest is the moment at which the generation is there. What no manifest lists is not there,
//! and is removed. A [`StoreReader`] looks; a [`Store`] is a reader that holds the lock and commits.
//!
//! # Whose responsibility
//!
//! The medium answers for what its operations promise (see [`StoreMedium`]) and for waiting a bounded
//! time for the lock; the store for everything else, including that what was written can be read. A
//! caller encodes envelopes and decides when to commit and what to restore. Nothing here spawns, sleeps
//! or reads a clock; a store is used by one task at a time.
//!
//! # Invariants
//!
//! - After a crash at any moment, opening yields the last acknowledged generation or the one being
//!   committed, with every generation the manifest lists whole.
//! - Nothing is deleted that a manifest lists which a crash may bring back.
//! - A checkpoint id is committed once. An epoch recorded is never new again.
//! - A failed commit loses no generation; a commit that happened is reported as one, whatever failed
//!   after it.
//! - A generation that is found without a manifest is never deleted.
//! - A future that was abandoned by resuming elsewhere is never taken unless it is named.
//! - The store never holds more files than its generations and a small fixed number of leftovers
//!   (and of what was found without a manifest).
//!
//! # What it does not do
//!
//! It takes no checkpoint, queues nothing, and restores nothing: it hands out verified bytes. It does
//! not compare compatibility blocks field by field, only their digests. It does not guard against
//! someone who forges files: digests detect accidents.
//!
//! # Example
//!
//! ```
//! # futures::executor::block_on(async {
//! use wellwritten_envelope::decode;
//! use wellwritten_store::{
//!     GenerationBytes, MemoryMedium, Selection, Store, StoreConfig, compatibility_digest,
//! };
//!
//! let medium = MemoryMedium::new();
//! let (mut store, _) = Store::open(medium.clone(), StoreConfig::default()).await?;
//! # let bytes = wellwritten_store::testing::SampleGeneration::new("first", "e1", 10).bytes;
//! let manifest = decode(&bytes)?.manifest;
//! let committed = store
//!     .commit(GenerationBytes {
//!         checkpoint_id: manifest.checkpoint_id,
//!         session_id: manifest.source_scope.session_id,
//!         epoch: manifest.source_scope.epoch,
//!         episode_id: manifest.episode_id,
//!         boundary: manifest.source_scope.step.get(),
//!         compatibility_digest: compatibility_digest(&manifest.compatibility),
//!         bytes: &bytes,
//!     })
//!     .await?;
//! assert!(committed.certainty.is_durable());
//! drop(store); // releases the lock
//!
//! let (store, _) = Store::open(medium, StoreConfig::default()).await?;
//! let selected = store.select(&Selection::default()).await?;
//! assert_eq!(selected.bytes, bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod commit;
mod damage;
#[cfg(feature = "wire")]
mod decimal;
mod envelope_fault;
mod envelope_words;
mod epoch_history;
pub mod file_name;
mod file_names;
mod generation_info;
mod generation_list;
mod local_route;
mod medium_error;
mod memory_medium;
mod open_report;
mod open_store;
mod record_field;
mod save_outcome;
mod save_request;
mod selection;
mod serve_request;
mod store;
mod store_client;
mod store_config;
mod store_error;
mod store_manifest;
mod store_medium;
mod store_reader;
mod store_request;
mod store_route;
#[cfg(feature = "wire")]
pub mod store_wire;
#[cfg(feature = "testing")]
pub mod testing;
mod verify_report;
mod writer;

pub use commit::{Certainty, CommitError, CommitStep, Committed, GenerationBytes, Pruned};
pub use damage::{Damage, DamagedGeneration};
pub use envelope_fault::EnvelopeFault;
pub use envelope_words::compatibility_digest;
pub use epoch_history::{EpochHistory, EpochStem};
pub use generation_info::GenerationInfo;
pub use generation_list::{GenerationList, ListedGeneration};
pub use medium_error::{LockError, MediumError};
pub use memory_medium::{MemoryLock, MemoryMedium};
pub use open_report::{KeptFile, KeptReason, LeftoverFile, OpenReport};
pub use open_store::OpenStore;
pub use record_field::RecordField;
pub use save_outcome::SaveOutcome;
pub use save_request::{PayloadBytes, SaveRequest};
pub use selection::{GenerationFilter, Mismatch, SelectError, Selected, Selection};
pub use serve_request::serve_request;
pub use store::Store;
pub use store_client::StoreClient;
pub use store_config::StoreConfig;
pub use store_error::{ImportError, ReadError, StoreError, UsageError};
pub use store_manifest::{
    ManifestFault, PINNED_GENERATIONS, RETIRED_IDS, STATE_FORMAT_ID, STORE_MANIFEST_VERSION,
    StoreManifest, UNLISTED_IDS,
};
pub use store_medium::{FileEntry, StoreMedium, Usage};
pub use store_reader::{Resolution, StoreReader};
pub use store_request::{StoreReply, StoreRequest};
pub use store_route::{StoreGone, StoreRoute};
pub use verify_report::{DamageKind, DamageReport, VerifyReport};
pub use writer::{
    SaveKind, SaveRefusal, SaveSlot, SaveTicket, Writer, WriterConfig, WriterConfigError,
    WriterEvent, WriterStatistics,
};
