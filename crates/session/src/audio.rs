//! What a world sounds like: [`AudioDescriptor`], [`AudioRef`], [`AudioPosition`].

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Id, U64};

use crate::Artifact;

/// How samples lie in a chunk's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AudioFormat {
    /// Little-endian 32-bit floats, the channels of one sample frame next to each other.
    #[default]
    #[serde(rename = "f32le-interleaved")]
    F32leInterleaved,
}

/// One declared stream of sound. It is for listeners only: no agent ever hears it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AudioDescriptor {
    /// Its name.
    pub stream_id: Id,
    /// Sample frames in a second of world time, 8,000 to 192,000.
    pub sample_rate: u32,
    /// Channels, 1 to 8.
    pub channels: u8,
    /// How samples lie in the bytes.
    pub format: AudioFormat,
}

impl AudioDescriptor {
    /// Lowest sample rate, in hertz.
    pub const MIN_SAMPLE_RATE: u32 = 8_000;
    /// Highest sample rate, in hertz.
    pub const MAX_SAMPLE_RATE: u32 = 192_000;
    /// Most channels of one stream.
    pub const MAX_CHANNELS: u8 = 8;
    /// Bytes of one sample of one channel.
    pub const SAMPLE_BYTES: u64 = 4;

    /// Length of a chunk of so many sample frames, in bytes.
    #[must_use]
    pub const fn byte_length(&self, sample_frames: u32) -> u64 {
        sample_frames as u64 * self.channels as u64 * Self::SAMPLE_BYTES
    }
}

/// What one transition sounded like on one stream. A chunk of no frames is a chunk.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AudioRef {
    /// The stream.
    pub stream_id: Id,
    /// Its first sample frame, counted from the episode's beginning.
    pub first_sample: U64,
    /// Sample frames, 0 to 192,000.
    pub sample_frames: u32,
    /// The samples, all finite; [`Artifact::F32LE`].
    pub samples: Artifact,
    /// Whether what came before is not heard right before this.
    pub discontinuity: bool,
}

impl AudioRef {
    /// Most sample frames of one chunk.
    pub const MAX_SAMPLE_FRAMES: u32 = 192_000;
}

/// How far a stream has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AudioPosition {
    /// The stream.
    pub stream_id: Id,
    /// The sample frame that follows the last one, counted from the episode's beginning.
    pub next_sample: U64,
}
