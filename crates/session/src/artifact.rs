//! [`Artifact`]: sealed bytes with any number of owners.

use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use wellwritten_envelope::{Digest, U64};

/// Immutable bytes shared by reference: a rendered view, a captured payload.
///
/// Sealing takes the bytes without copying them; a clone is another owner of the same bytes, and the last
/// owner frees them. The digest is computed at most once, when someone first asks. It serializes as
/// `{byteLength, contentType, digest}`: content, never identity, so that a message is the same message
/// after its artifacts were re-imported.
#[derive(Clone)]
pub struct Artifact(Rc<Sealed>);

struct Sealed {
    bytes: Vec<u8>,
    content_type: &'static str,
    digest: OnceCell<Digest>,
}

impl Artifact {
    /// Content type of an RGBA8 view.
    pub const RGBA8: &'static str = "image/x-rgba8";
    /// Content type of a chunk of sound.
    pub const F32LE: &'static str = "audio/x-f32le";
    /// Content type of a participant's or the coordinator's captured state.
    pub const CHECKPOINT_PAYLOAD: &'static str = "application/x-fly-checkpoint-payload";

    /// Seals `bytes`; nothing can change them from here on.
    #[must_use]
    pub fn seal(bytes: Vec<u8>, content_type: &'static str) -> Self {
        Self(Rc::new(Sealed {
            bytes,
            content_type,
            digest: OnceCell::new(),
        }))
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
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
        Rc::ptr_eq(&self.0, &other.0)
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
        let mut fields = serializer.serialize_struct("Artifact", 3)?;
        fields.serialize_field("byteLength", &U64(self.byte_length()))?;
        fields.serialize_field("contentType", self.content_type())?;
        fields.serialize_field("digest", &self.digest())?;
        fields.end()
    }
}
