//! [`CallId`]: the name of one dispatch of a request.

use std::fmt;

/// Name of one dispatch on one channel: `call-<n>`, from 1. A request that is sent again has a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

impl CallId {
    /// What a reply to something that was no message is filed under.
    pub const NONE: Self = Self(0);
}

impl fmt::Display for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "call-{}", self.0)
    }
}

super::numbered_id!(CallId, "call-");
