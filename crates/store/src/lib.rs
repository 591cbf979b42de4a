//! The store of a session's checkpoints: each one whole and durable, or not there.
//!
//! A *store* is a flat folder of files on a [`StoreMedium`]. A *generation* is one envelope in it, and
//! the *store manifest* lists the generations. Committing writes the envelope to a temporary, reads it
//! back, syncs it, renames it and syncs the folder, then does the same with the manifest: the rename of
//! the manifest is the moment at which the generation is there. What no manifest lists is not there,
//! and is removed. A [`StoreReader`] looks; a [`Store`] is a reader that holds the lock and commits.
//!
//! A session asks a store by [`StoreRequest`] and hears a [`StoreReply`], because the store belongs to whoever is off
//! the session's thread: a thread, a worker of a browser, or the same program. [`serve_request`] is what an owner does,
//! [`StoreClient`] is what everyone else holds, and a [`StoreRoute`] is the way between. With the feature `wire` both are
//! a text and attachments (`store_wire`), for a route that carries nothing else.
//!
//! Before the client stands a [`Writer`]: slots that are taken before anything is captured, a budget of bytes, a bounded
//! queue, and one outcome for each save.
//!
//! Generations rotate out: `keep_generations` stay, abandoned ones going first, then the oldest, and never the newest.
//! A *pinned* one stays until it is let go. An *imported* one comes from another store; it is pinned, and beside the
//! timeline.
//!
//! # Whose responsibility
//!
//! The medium answers for what its operations promise (see [`StoreMedium`]) and for waiting a bounded
//! time for the lock; the store for everything else, including that what was written can be read. A
//! caller decides what to save and when, and what to restore. The store encodes, off the session's thread. Nothing here
//! spawns, sleeps or reads a clock; a store is used by one task at a time.
//!
//! # What a save costs
//!
//! Each payload byte is hashed twice: once for the table of its envelope, and once for the store's record, which is of
//! the whole file. None is copied: the medium is given the payloads where they are ([`StoreMedium::write_new`]). The
//! file is read back once and compared. To select a generation takes one read, and hashes each payload byte twice.
//! `tests/store/passes.rs` counts.
//!
//! # Invariants
//!
//! - After a crash at any moment, opening yields the last acknowledged generation or the one being
//!   committed, with every generation the manifest lists whole.
//! - Nothing is deleted that a manifest lists which a crash may bring back.
//! - A checkpoint id is committed once. An epoch recorded is never new again.
//! - A failed commit loses no generation; a commit that happened is reported as one, whatever failed
//!   after it.
//! - A pinned generation is never dropped, nor is the one last resumed from as long as another can be.
//! - A generation that is found without a manifest is never deleted.
//! - A future that was abandoned by resuming elsewhere is never taken unless it is named.
//! - The store never holds more files than its generations and a small fixed number of leftovers
//!   (and of what was found without a manifest).
//!
//! # What it does not do
//!
//! It takes no checkpoint and restores nothing: it hands out verified bytes. It does
//! not compare compatibility blocks field by field, only their digests. It does not guard against
//! someone who forges files: digests detect accidents.
//!
//! # Example
//!
//! ```
//! # futures::executor::block_on(async {
//! use std::sync::Arc;
//!
//! use wellwritten_store::{
//!     MemoryMedium, SaveRequest, Selection, Store, StoreClient, StoreConfig,
//! };
//!
//! let medium = MemoryMedium::new();
//! let (store, _) = Store::open(medium.clone(), StoreConfig::default()).await?;
//! let client = StoreClient::local(store);
//! # let sample = wellwritten_store::testing::SampleGeneration::new("first", "e1", 10);
//! # let (manifest, world, others) = (sample.manifest.clone(), sample.payloads[0].1.clone(), sample.to_save());
//! let mut payloads = others.payloads;
//! payloads[0].1 = Arc::new(world); // any owner of bytes
//! let committed = client.save(SaveRequest { manifest, payloads }).await?;
//! assert!(committed.certainty.is_durable());
//! client.set_pinned(&committed.generation.checkpoint_id, true).await?;
//! drop(client); // releases the lock
//!
//! let (store, _) = Store::open(medium, StoreConfig::default()).await?;
//! let selected = store.select(&Selection::default()).await?;
//! assert_eq!(selected.generation, committed.generation);
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

pub use commit::{Certainty, CommitError, CommitStep, Committed, Pruned};
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
pub use store_medium::{FileEntry, FoundContent, StoreMedium, Usage};
pub use store_reader::{Resolution, StoreReader};
pub use store_request::{StoreReply, StoreRequest};
pub use store_route::{StoreGone, StoreRoute};
pub use verify_report::{DamageKind, DamageReport, VerifyReport};
pub use writer::{
    SaveKind, SaveRefusal, SaveSlot, SaveTicket, Writer, WriterConfig, WriterConfigError,
    WriterEvent, WriterStatistics,
};
