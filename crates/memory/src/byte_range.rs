//! [`ByteRange`]: half-open ranges of bytes, and the error of asking for an impossible one.

use core::fmt;

/// Bytes `start..end` of a buffer. Only [`ByteRange::new`] makes one, with `start <= end`; a range that is changed
/// to end before it starts holds no byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[non_exhaustive]
pub struct ByteRange {
    /// First byte of the range.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub start: u64,
    /// One past the last byte of the range.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub end: u64,
}

impl ByteRange {
    /// `start..end`, refused where it runs backwards.
    pub fn new(start: u64, end: u64) -> Result<Self, RangeError> {
        if start > end {
            return Err(RangeError::Backwards { start, end });
        }
        Ok(Self { start, end })
    }

    /// `0..size_bytes`.
    #[must_use]
    pub fn whole(size_bytes: u64) -> Self {
        Self {
            start: 0,
            end: size_bytes,
        }
    }

    /// How many bytes the range holds.
    #[must_use]
    pub fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether the range holds no byte.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Whether byte `at` lies in the range.
    #[must_use]
    pub fn contains(self, at: u64) -> bool {
        self.start <= at && at < self.end
    }

    /// The bytes in both ranges; empty (at the later start) where they share none.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        let start = self.start.max(other.start);
        Self {
            start,
            end: self.end.min(other.end).max(start),
        }
    }
}

impl fmt::Display for ByteRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[{}, {})", self.start, self.end)
    }
}

/// Why a byte range cannot be had. Nothing changed; the same request fails again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RangeError {
    /// The range ends before it starts.
    #[error("the range [{start}, {end}) ends before it starts")]
    Backwards {
        /// First byte asked for.
        start: u64,
        /// End asked for.
        end: u64,
    },
    /// The range ends after what it was to be cut from.
    #[error("the range [{start}, {end}) does not fit into {size_bytes} bytes")]
    OutOfBounds {
        /// First byte asked for.
        start: u64,
        /// End asked for.
        end: u64,
        /// How many bytes there are.
        size_bytes: u64,
    },
    /// More was to be trimmed off than there is.
    #[error("{front} bytes in front and {behind} behind cannot be trimmed off {size_bytes} bytes")]
    Overtrimmed {
        /// How many bytes in front.
        front: u64,
        /// How many behind.
        behind: u64,
        /// How many bytes there are.
        size_bytes: u64,
    },
}
