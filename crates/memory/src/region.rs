//! [`Region`]: a range of a named buffer, as reports give it; [`Place`]: the same, held cheaply.

use crate::buffers::BufferKey;
use crate::byte_range::ByteRange;
use crate::identity::BufferId;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use core::fmt;

/// Bytes `start..end` of one buffer, with the name the buffer was reserved under.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
#[cfg_attr(
    feature = "typescript",
    derive(tsify::Tsify),
    tsify(large_number_types_as_bigints)
)]
pub struct Region {
    /// The buffer. It may have been freed since.
    pub buffer_id: BufferId,
    /// Its label.
    pub label: String,
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

impl Region {
    pub(crate) fn new(buffer_id: BufferId, label: &str, range: ByteRange) -> Self {
        Self {
            buffer_id,
            label: label.to_string(),
            start: range.start,
            end: range.end,
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "\"{}\" ({}) bytes [{}, {})",
            self.label, self.buffer_id, self.start, self.end
        )
    }
}

/// What a unit declared that it reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) key: BufferKey,
    pub(crate) label: Rc<str>,
    pub(crate) range: ByteRange,
}

impl Place {
    pub(crate) fn region(&self) -> Region {
        Region::new(self.key.id, &self.label, self.range)
    }
}
