//! [`Artifact`]: sealed bytes with any number of owners.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wellwritten_envelope::{Digest, U64};

use crate::wire::artifact_exchange;

/// Immutable bytes shared by reference: a rendered view, a chunk of audio, a captured payload.
///
/// Sealing takes the bytes without copying them; a clone is another owner of the same bytes, and the last
/// owner frees them. The digest is computed at most once, when someone first asks. It serializes as
/// `{byteLength, contentType, digest}`: content, never identity, so that a message is the same message
/// after its artifacts were re-imported. Only in a message that goes to another program is it a reference to an
/// attachment of that message.
///
/// It may cross threads: a captured state is written down by whoever owns the store, from these very bytes.
#[derive(Clone)]
pub struct Artifact(Arc<Sealed>);

struct Sealed {
    bytes: Vec<u8>,
    content_type: &'static str,
    digest: OnceLock<Digest>,
    /// Given when it first leaves the program.
    outgoing_id: OnceLock<u64>,
    #[cfg(feature = "testing")]
    _live: Live,
}

#[cfg(feature = "testing")]
use live::Live;
#[cfg(feature = "testing")]
pub use live::live_artifacts;

#[cfg(feature = "testing")]
mod live {
    //! Counts the sealed bytes that somebody owns, so that a test sees what stays behind.

    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    thread_local! {
        static OF_THIS_THREAD: Arc<AtomicUsize> = Arc::default();
    }

    /// Counted where it was sealed, wherever its last owner is.
    pub(super) struct Live(Arc<AtomicUsize>);

    impl Live {
        pub(super) fn new() -> Self {
            let count = OF_THIS_THREAD.with(Clone::clone);
            count.fetch_add(1, Ordering::Relaxed);
            Self(count)
        }
    }

    impl Drop for Live {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// How many artifacts that were sealed on this thread somebody owns.
    #[must_use]
    pub fn live_artifacts() -> usize {
        OF_THIS_THREAD.with(|count| count.load(Ordering::Relaxed))
    }
}

/// An artifact that is looked for as long as someone else owns it.
pub(crate) struct WeakArtifact(Weak<Sealed>);

static NEXT_OUTGOING_ID: AtomicU64 = AtomicU64::new(1);

impl Artifact {
    /// Content type of an RGBA8 view.
    pub const RGBA8: &'static str = "image/x-rgba8";
    /// Content type of a chunk of audio: interleaved 32-bit floats, little-endian.
    pub const F32LE: &'static str = "audio/x-f32le";
    /// Content type of a participant's or the coordinator's captured state.
    pub const CHECKPOINT_PAYLOAD: &'static str = "application/x-fly-checkpoint-payload";
    /// Largest artifact that goes to another program, in bytes.
    pub const MAX_BYTES: u64 = 128 << 20;

    /// Seals `bytes`; nothing can change them from here on.
    #[must_use]
    pub fn seal(bytes: Vec<u8>, content_type: &'static str) -> Self {
        Self(Arc::new(Sealed {
            bytes,
            content_type,
            digest: OnceLock::new(),
            outgoing_id: OnceLock::new(),
            #[cfg(feature = "testing")]
            _live: Live::new(),
        }))
    }

    /// The constant of a content type's name; none for a name that is no content type here.
    #[must_use]
    pub fn known_content_type(name: &str) -> Option<&'static str> {
        [Self::RGBA8, Self::F32LE, Self::CHECKPOINT_PAYLOAD]
            .into_iter()
            .find(|known| *known == name)
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// The bytes for good: without a copy where nobody else owns them.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        match Arc::try_unwrap(self.0) {
            Ok(sealed) => sealed.bytes,
            Err(shared) => shared.bytes.clone(),
        }
    }

    /// Length in bytes.
    #[must_use]
    pub fn byte_length(&self) -> u64 {
        self.0.bytes.len() as u64
    }

    /// What the bytes are.
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        self.0.content_type
    }

    /// BLAKE3 of the bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        *self.0.digest.get_or_init(|| Digest::blake3(&self.0.bytes))
    }

    /// Whether both are owners of the very same bytes (not merely of equal ones).
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The digest, where someone has asked for it before.
    pub(crate) fn known_digest(&self) -> Option<Digest> {
        self.0.digest.get().copied()
    }

    /// Its name among all that leave this program: the same for every owner, and never another's.
    pub(crate) fn outgoing_id(&self) -> u64 {
        *self
            .0
            .outgoing_id
            .get_or_init(|| NEXT_OUTGOING_ID.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn downgrade(&self) -> WeakArtifact {
        WeakArtifact(Arc::downgrade(&self.0))
    }
}

impl WeakArtifact {
    pub(crate) fn upgrade(&self) -> Option<Artifact> {
        self.0.upgrade().map(Artifact)
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}

impl AsRef<[u8]> for Artifact {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// Equal content, whoever sealed it: without a look at the bytes where both are the same artifact.
impl PartialEq for Artifact {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other)
            || (self.content_type() == other.content_type() && self.bytes() == other.bytes())
    }
}

impl fmt::Debug for Artifact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "Artifact({}, {} bytes)",
            self.0.content_type,
            self.0.bytes.len()
        )
    }
}

impl Serialize for Artifact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(reference) = artifact_exchange::attach(self) {
            return reference.serialize(serializer);
        }
        let mut fields = serializer.serialize_struct("Artifact", 3)?;
        fields.serialize_field("byteLength", &U64(self.byte_length()))?;
        fields.serialize_field("contentType", self.content_type())?;
        fields.serialize_field("digest", &self.digest())?;
        fields.end()
    }
}

impl<'de> Deserialize<'de> for Artifact {
    /// Only within a message: a reference means nothing without the message's attachments.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let reference = artifact_exchange::ArtifactRef::deserialize(deserializer)?;
        artifact_exchange::resolve(&reference).map_err(serde::de::Error::custom)
    }
}
