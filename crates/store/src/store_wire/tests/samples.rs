//! One of every variant of everything that crosses, and every error in every reply.

use std::sync::Arc;

use wellwritten_envelope::{Digest, EnvelopeRule, Id, U64};

use crate::commit::{Certainty, CommitError, CommitStep, Committed, Pruned};
use crate::damage::{Damage, DamagedGeneration};
use crate::envelope_fault::EnvelopeFault;
use crate::generation_info::GenerationInfo;
use crate::generation_list::{GenerationList, ListedGeneration};
use crate::medium_error::{LockError, MediumError};
use crate::record_field::RecordField;
use crate::selection::{GenerationFilter, Mismatch, SelectError, Selected, Selection};
use crate::store_error::{ImportError, ReadError, StoreError, UsageError};
use crate::store_manifest::ManifestFault;
use crate::store_medium::Usage;
use crate::store_reader::Resolution;
use crate::store_request::{StoreReply, StoreRequest};
use crate::store_route::StoreGone;
use crate::testing::SampleGeneration;
use crate::verify_report::{DamageKind, DamageReport, VerifyReport};

/// A type with samples of all of its variants.
pub(super) trait Samples: Sized {
    fn samples() -> Vec<Self>;
}

pub(super) fn samples_of<T: Samples>() -> Vec<T> {
    T::samples()
}

fn id(name: &str) -> Id {
    name.parse().unwrap()
}

fn text(text: &str) -> String {
    text.to_owned()
}

fn digest(of: &str) -> Digest {
    Digest::blake3(of.as_bytes())
}

fn info() -> GenerationInfo {
    GenerationInfo {
        checkpoint_id: id("a"),
        file: text("a.flysess"),
        session_id: id("demo"),
        epoch: id("e1"),
        episode_id: id("episode-1"),
        boundary: U64(u64::MAX),
        compatibility_digest: digest("compatibility"),
        envelope_digest: digest("envelope"),
        byte_length: U64(7),
    }
}

fn gone() -> StoreGone {
    StoreGone {
        reason: text("a \"tab\" closed\n\u{1f980}"),
    }
}

fn fault() -> EnvelopeFault {
    EnvelopeFault {
        rule: EnvelopeRule::PayloadDigest,
        message: text("payload world is damaged"),
    }
}

/// Samples of an enum whose variants hold nothing.
macro_rules! plain_samples {
    ($($kind:ident: $($variant:ident)*;)*) => {$(
        impl Samples for $kind {
            fn samples() -> Vec<Self> {
                vec![$(Self::$variant),*]
            }
        }
    )*};
}

plain_samples! {
    EnvelopeRule: Length Magic Version HeaderBytes ReservedWord PayloadCount FooterMagic FileBytes FooterDigest
        ManifestBounds ManifestJson ManifestCanonical TableOffset TableBounds EntryName EntryUnique EntryOffset
        EntryBounds PayloadDigest Padding FooterGap ManifestField ManifestVersion DigestAlgorithm UnknownField
        PayloadRows PayloadReference;
    CommitStep: Settle WriteGeneration SyncGeneration ReadBackGeneration NameGeneration SyncGenerationName
        WriteManifest SyncManifest ReadBackManifest NameManifest;
    RecordField: CheckpointId SessionId Epoch EpisodeId Boundary CompatibilityDigest;
    DamageKind: Missing Unreadable Length Digest Envelope Record;
}

impl Samples for MediumError {
    fn samples() -> Vec<Self> {
        let file = || text("~generation");
        vec![
            Self::NotFound { file: file() },
            Self::AlreadyExists { file: file() },
            Self::QuotaExceeded {
                file: file(),
                requested_bytes: u64::MAX,
                available_bytes: Some(1 << 60),
            },
            Self::QuotaExceeded {
                file: file(),
                requested_bytes: 1,
                available_bytes: None,
            },
            Self::ShortWrite {
                file: file(),
                requested_bytes: 10,
                written_bytes: 4_294_967_288,
            },
            Self::Locked {
                file: file(),
                owner: text("tab"),
            },
            Self::Denied {
                file: file(),
                message: text("EROFS"),
            },
            Self::InvalidName { file: text("../") },
            Self::Io {
                file: file(),
                name: text("InvalidStateError"),
                message: String::new(),
            },
        ]
    }
}

impl Samples for LockError {
    fn samples() -> Vec<Self> {
        let held = Self::Held {
            owner: text("process"),
        };
        let medium = MediumError::samples().into_iter();
        let medium = medium.map(|source| Self::Medium { source });
        [held].into_iter().chain(medium).collect()
    }
}

impl Samples for ManifestFault {
    fn samples() -> Vec<Self> {
        let checkpoint_id = || id("a");
        vec![
            Self::NotJson {
                message: text("no"),
            },
            Self::NotCanonical { offset: usize::MAX },
            Self::Version {
                found: text("2"),
                supported: 1,
            },
            Self::Fields {
                message: text("missing"),
            },
            Self::Digest {
                stated: text("missing"),
                computed: digest("x"),
            },
            Self::StateFormat {
                found: text("flysess-2"),
            },
            Self::File {
                checkpoint_id: checkpoint_id(),
                found: text("/etc/passwd"),
                required: text("a.flysess"),
            },
            Self::IdTwice {
                checkpoint_id: checkpoint_id(),
            },
            Self::HighWater {
                checkpoint_id: checkpoint_id(),
            },
            Self::NoHighWater,
            Self::ResumedFrom {
                checkpoint_id: checkpoint_id(),
            },
            Self::Continues,
            Self::Unlisted,
            Self::Pinned,
            Self::EpochUnknown {
                checkpoint_id: checkpoint_id(),
                epoch: id("e1"),
            },
            Self::Epochs,
        ]
    }
}

impl Samples for StoreError {
    fn samples() -> Vec<Self> {
        let locks = LockError::samples().into_iter();
        let faults = ManifestFault::samples().into_iter();
        let mut samples = vec![
            Self::KeepGenerations {
                keep_generations: 0,
            },
            Self::TooManyUnlisted {
                count: usize::MAX,
                limit: 256,
            },
            Self::ManifestVanished,
            Self::Medium {
                source: MediumError::NotFound { file: text("x") },
            },
        ];
        samples.extend(locks.map(|source| Self::Lock { source }));
        samples.extend(faults.map(|fault| Self::ManifestUnreadable { fault }));
        samples
    }
}

impl Samples for Damage {
    fn samples() -> Vec<Self> {
        let records = RecordField::samples().into_iter();
        let mut samples = vec![
            Self::Missing {
                file: text("a.flysess"),
            },
            Self::Unreadable {
                source: MediumError::samples().remove(0),
            },
            Self::Length {
                committed_bytes: u64::MAX,
                found_bytes: 0,
            },
            Self::Digest {
                committed: digest("a"),
                found: digest("b"),
            },
            Self::Envelope { source: fault() },
        ];
        samples.extend(records.map(|field| Self::Record {
            field,
            recorded: text("1"),
            found: text("2"),
        }));
        samples
    }
}

impl Samples for ReadError {
    fn samples() -> Vec<Self> {
        let damages = Damage::samples().into_iter();
        let views = StoreError::samples().into_iter();
        let mut samples = vec![
            Self::Unknown {
                checkpoint_id: id("a"),
            },
            Self::RotatedOut {
                checkpoint_id: id("a"),
            },
            Self::Gone(gone()),
        ];
        samples.extend(damages.map(|damage| Self::Damaged {
            checkpoint_id: id("a"),
            damage,
        }));
        samples.extend(views.map(|source| Self::View { source }));
        samples
    }
}

fn mismatches() -> Vec<Mismatch> {
    let fields = RecordField::samples().into_iter();
    fields
        .map(|field| Mismatch {
            checkpoint_id: id("b"),
            field,
            required: text("this"),
            found: text("that"),
        })
        .collect()
}

fn damaged() -> Vec<DamagedGeneration> {
    let damages = Damage::samples().into_iter();
    damages
        .map(|damage| DamagedGeneration {
            checkpoint_id: id("c"),
            damage,
        })
        .collect()
}

impl Samples for SelectError {
    fn samples() -> Vec<Self> {
        let damaged_with = |older| Self::Damaged {
            checkpoint_id: id("a"),
            damage: Damage::samples().remove(2),
            older,
        };
        vec![
            Self::Unknown {
                checkpoint_id: id("a"),
            },
            Self::RotatedOut {
                checkpoint_id: id("a"),
            },
            Self::Empty,
            Self::Incompatible {
                refused: mismatches(),
            },
            damaged_with(Some(id("b"))),
            damaged_with(None),
            Self::View {
                source: StoreError::ManifestVanished,
            },
            Self::Gone(gone()),
            Self::AllDamaged { damaged: damaged() },
        ]
    }
}

impl Samples for Certainty {
    fn samples() -> Vec<Self> {
        let causes = MediumError::samples().into_iter();
        let uncertain = causes.map(|cause| Self::NameUncertain { cause });
        [Self::Durable].into_iter().chain(uncertain).collect()
    }
}

impl Samples for CommitError {
    fn samples() -> Vec<Self> {
        let source = || MediumError::samples().remove(2);
        let steps = CommitStep::samples().into_iter();
        let at_each_step = steps.map(|step| Self::Medium {
            step,
            source: source(),
        });
        let others = [
            Self::CheckpointIdUsed {
                checkpoint_id: id("a"),
            },
            Self::EpochUsed { epoch: id("e1") },
            Self::UnknownGeneration {
                checkpoint_id: id("a"),
            },
            Self::NotEncodable {
                reason: text("no world"),
            },
            Self::ReadOnly,
            Self::KeepGenerations {
                keep_generations: 0,
            },
            Self::TooManyPinned { limit: 64 },
            Self::ReadBack {
                step: CommitStep::ReadBackManifest,
                written_bytes: u64::MAX,
                written: digest("a"),
                found_bytes: 0,
                found: digest("b"),
            },
            Self::LeftoversRemain {
                count: 8,
                limit: 7,
                source: source(),
            },
            Self::ManifestUnreadable {
                fault: ManifestFault::Epochs,
            },
            Self::ManifestVanished,
            Self::Gone(gone()),
            Self::OutcomeUnknown { source: source() },
        ];
        at_each_step.chain(others).collect()
    }
}

impl Samples for ImportError {
    fn samples() -> Vec<Self> {
        let commits = CommitError::samples().into_iter().map(Self::Commit);
        let others = [
            Self::Damaged { source: fault() },
            Self::OtherSession {
                stored: id("demo"),
                found: id("other"),
            },
        ];
        commits.chain(others).collect()
    }
}

impl Samples for UsageError {
    fn samples() -> Vec<Self> {
        let medium = MediumError::samples().into_iter().map(Self::Medium);
        medium.chain([Self::Gone(gone())]).collect()
    }
}

impl Samples for Resolution {
    fn samples() -> Vec<Self> {
        vec![
            Self::Committed(Box::new(info())),
            Self::RotatedOut,
            Self::Unlisted,
            Self::NotCommitted,
        ]
    }
}

/// At least one of every request; the first is a save.
pub(super) fn requests() -> Vec<StoreRequest> {
    let checkpoint_id = || id("a");
    let sample = SampleGeneration::new("a", "e1", u64::MAX);
    let selection = Selection {
        checkpoint_id: Some(id("a")),
        filter: GenerationFilter {
            session_id: Some(id("demo")),
            episode_id: None,
            compatibility_digest: Some(digest("compatibility")),
        },
        fallback: true,
    };
    vec![
        StoreRequest::Save(sample.to_save()),
        StoreRequest::Import {
            bytes: Arc::new(sample.bytes),
        },
        StoreRequest::Resolve {
            checkpoint_id: checkpoint_id(),
        },
        StoreRequest::Select { selection },
        StoreRequest::Select {
            selection: Selection::default(),
        },
        StoreRequest::Generations,
        StoreRequest::Read {
            checkpoint_id: checkpoint_id(),
        },
        StoreRequest::Verify {
            checkpoint_id: checkpoint_id(),
        },
        StoreRequest::SetPinned {
            checkpoint_id: checkpoint_id(),
            pinned: true,
        },
        StoreRequest::Prune { keep: usize::MAX },
        StoreRequest::EpochUsed { epoch: id("e1") },
        StoreRequest::NextEpochAfter { epoch: id("e1") },
        StoreRequest::EpisodeUsed {
            session_id: id("demo"),
            episode_id: id("episode-1"),
        },
        StoreRequest::ClaimEpoch { epoch: id("e2") },
        StoreRequest::MarkResumed {
            checkpoint_id: checkpoint_id(),
        },
        StoreRequest::Usage,
    ]
}

fn verified() -> impl Iterator<Item = VerifyReport> {
    let report = |damage: Option<DamageReport>| VerifyReport {
        checkpoint_id: id("a"),
        file: text("a.flysess"),
        byte_length: U64(u64::MAX),
        envelope_digest: digest("envelope"),
        verified: damage.is_none(),
        damage,
    };
    let damages = Damage::samples().into_iter();
    let of_each = damages.map(move |damage| report(Some(DamageReport::from(&damage))));
    [report(None)].into_iter().chain(of_each)
}

fn list() -> GenerationList {
    GenerationList {
        generations: vec![ListedGeneration {
            info: info(),
            pinned: true,
            abandoned: false,
            is_latest: true,
        }],
        resumed_from: Some(id("a")),
        unlisted: vec![id("z")],
    }
}

fn each<T: Samples>(reply: impl Fn(T) -> StoreReply) -> impl Iterator<Item = StoreReply> {
    T::samples().into_iter().map(reply)
}

/// Every reply, with every error that each can hold.
pub(super) fn replies() -> Vec<StoreReply> {
    successes().into_iter().chain(failures()).collect()
}

fn successes() -> Vec<StoreReply> {
    let committed = |certainty| Committed {
        generation: info(),
        certainty,
        rotated_out: vec![id("b"), id("c")],
    };
    let pruned = |certainty| Pruned {
        dropped: vec![id("b")],
        certainty,
    };
    let selected = Selected {
        generation: info(),
        bytes: vec![0, 1, 255],
        damaged: damaged(),
        incompatible: mismatches(),
    };
    let usage = |quota_bytes| {
        StoreReply::Usage(Ok(Usage {
            used_bytes: 1 << 60,
            quota_bytes,
        }))
    };
    let mut replies = vec![
        StoreReply::Selected(Ok(selected)),
        StoreReply::Generations(Ok(list())),
        StoreReply::Generations(Ok(GenerationList::default())),
        StoreReply::Read(Ok(vec![7; 100])),
        StoreReply::Read(Ok(Vec::new())),
        StoreReply::EpochUsed(Ok(true)),
        StoreReply::NextEpoch(Ok(Some(id("e2")))),
        StoreReply::NextEpoch(Ok(None)),
        StoreReply::EpisodeUsed(Ok(false)),
        usage(None),
        usage(Some(u64::MAX)),
    ];
    replies.extend(verified().map(|report| StoreReply::Verified(Ok(report))));
    replies.extend(each(|one| StoreReply::Saved(Ok(committed(one)))));
    replies.extend(each(|one| StoreReply::Imported(Ok(committed(one)))));
    replies.extend(each(|one| StoreReply::Pruned(Ok(pruned(one)))));
    replies.extend(each(|one| StoreReply::Resolved(Ok(one))));
    replies.extend(each(|one| StoreReply::PinnedSet(Ok(one))));
    replies.extend(each(|one| StoreReply::EpochClaimed(Ok(one))));
    replies.extend(each(|one| StoreReply::Resumed(Ok(one))));
    replies
}

fn failures() -> Vec<StoreReply> {
    let mut replies = Vec::new();
    replies.extend(each(|one| StoreReply::Saved(Err(one))));
    replies.extend(each(|one| StoreReply::Imported(Err(one))));
    replies.extend(each(|one| StoreReply::Resolved(Err(one))));
    replies.extend(each(|one| StoreReply::Selected(Err(one))));
    replies.extend(each(|one| StoreReply::Generations(Err(one))));
    replies.extend(each(|one| StoreReply::Read(Err(one))));
    replies.extend(each(|one| StoreReply::Verified(Err(one))));
    replies.extend(each(|one| StoreReply::PinnedSet(Err(one))));
    replies.extend(each(|one| StoreReply::Pruned(Err(one))));
    replies.extend(each(|one| StoreReply::EpochUsed(Err(one))));
    replies.extend(each(|one| StoreReply::NextEpoch(Err(one))));
    replies.extend(each(|one| StoreReply::EpisodeUsed(Err(one))));
    replies.extend(each(|one| StoreReply::EpochClaimed(Err(one))));
    replies.extend(each(|one| StoreReply::Resumed(Err(one))));
    replies.extend(each(|one| StoreReply::Usage(Err(one))));
    replies
}
