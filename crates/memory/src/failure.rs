//! [`Failure`]: what went wrong, as a person will read it.

use alloc::string::String;
use core::fmt;

/// What a unit of work, or an allocation, can fail of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[non_exhaustive]
pub enum FailureKind {
    /// The work entered its write scope and never came back: a panic or an early return.
    TornDown,
    /// Nothing has written these bytes since they were allocated.
    NeverWritten,
    /// A shader did not compile.
    Shader,
    /// The device refused the work as invalid.
    Validation,
    /// The device had no memory for it.
    OutOfMemory,
    /// The device failed of its own accord.
    Internal,
    /// The device is gone, and every byte on it.
    DeviceLost,
    /// The work asked for more than the device grants.
    Limit,
    /// Bytes could not be brought from the host.
    HostWrite,
    /// A kernel that runs on the host returned an error.
    HostKernel,
}

impl FailureKind {
    /// The kind in the words of a report.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::TornDown => "torn down",
            Self::NeverWritten => "never written",
            Self::Shader => "shader",
            Self::Validation => "validation",
            Self::OutOfMemory => "out of memory",
            Self::Internal => "internal",
            Self::DeviceLost => "device lost",
            Self::Limit => "limit",
            Self::HostWrite => "host write",
            Self::HostKernel => "host kernel",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.describe())
    }
}

/// One failure: its kind, and a sentence for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What happened, as its source told it.
    pub message: String,
}

impl Failure {
    /// A failure of `kind` that says `message`.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.kind, self.message)
    }
}
