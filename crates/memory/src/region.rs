//! [`Region`]: a range of a named buffer, as reports give it; [`Place`]: the same, held cheaply.

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
    pub(crate) buffer: BufferId,
    pub(crate) label: Rc<str>,
    pub(crate) range: ByteRange,
}

impl Place {
    pub(crate) fn region(&self) -> Region {
        Region {
            buffer_id: self.buffer,
            label: self.label.to_string(),
            start: self.range.start,
            end: self.range.end,
        }
    }
}
