//! [`ParticipantError`]: what a participant answers when it does not do as asked.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The closed set of reasons, on the wire and in every report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[non_exhaustive]
pub enum ErrorCode {
    /// A schema or range violation, found before anything changed.
    InvalidArgument,
    /// The method or capability does not exist here.
    Unsupported,
    /// A wrong session, worker, role, profile, port, build or asset.
    IdentityMismatch,
    /// The scope names an epoch that was left, or a restore proposes a used one.
    StaleEpoch,
    /// The step is below the worker's boundary.
    StaleStep,
    /// The step is above the worker's boundary.
    FutureStep,
    /// Not legal in this phase.
    InvalidPhase,
    /// An existing operation with another id or body; a reused batch, token or checkpoint id.
    Conflict,
    /// An exact duplicate of an operation that still runs.
    InProgress,
    /// A capacity refusal before anything was asked.
    Busy,
    /// Bytes that are missing, mismatched, misshapen or were never written by work that succeeded.
    BufferInvalid,
    /// A restore was refused before activation.
    IncompatibleState,
    /// The answer is no longer kept and must not be recomputed.
    ResultExpired,
    /// A fault of the runtime or the backend.
    BackendFailure,
    /// A fault of this software.
    Internal,
}

impl ErrorCode {
    /// Every code, in wire order.
    pub const ALL: [Self; 15] = [
        Self::InvalidArgument,
        Self::Unsupported,
        Self::IdentityMismatch,
        Self::StaleEpoch,
        Self::StaleStep,
        Self::FutureStep,
        Self::InvalidPhase,
        Self::Conflict,
        Self::InProgress,
        Self::Busy,
        Self::BufferInvalid,
        Self::IncompatibleState,
        Self::ResultExpired,
        Self::BackendFailure,
        Self::Internal,
    ];

    /// Whether an error of this code says by itself that nothing was changed. Only an expired answer, a fault of the backend
    /// and one of this software come with any certainty.
    #[must_use]
    pub const fn changes_nothing(self) -> bool {
        !matches!(
            self,
            Self::ResultExpired | Self::BackendFailure | Self::Internal
        )
    }

    /// The spelling on the wire: `INVALID_ARGUMENT`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::Unsupported => "UNSUPPORTED",
            Self::IdentityMismatch => "IDENTITY_MISMATCH",
            Self::StaleEpoch => "STALE_EPOCH",
            Self::StaleStep => "STALE_STEP",
            Self::FutureStep => "FUTURE_STEP",
            Self::InvalidPhase => "INVALID_PHASE",
            Self::Conflict => "CONFLICT",
            Self::InProgress => "IN_PROGRESS",
            Self::Busy => "BUSY",
            Self::BufferInvalid => "BUFFER_INVALID",
            Self::IncompatibleState => "INCOMPATIBLE_STATE",
            Self::ResultExpired => "RESULT_EXPIRED",
            Self::BackendFailure => "BACKEND_FAILURE",
            Self::Internal => "INTERNAL",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What is known about the mutation an operation was meant to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub enum MutationCertainty {
    /// Nothing was applied.
    None,
    /// It was applied completely.
    Applied,
    /// Not established; a lost reply is always this.
    Unknown,
}

impl fmt::Display for MutationCertainty {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::None => "none",
            Self::Applied => "applied",
            Self::Unknown => "unknown",
        })
    }
}

/// A participant's refusal or fault.
///
/// `detail` is for a person: for instance the report of a read that was refused because the bytes were never
/// written by work that succeeded. The session carries it to whoever asked, untouched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[error("{code} (mutation {mutation}): {message}")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct ParticipantError {
    /// The reason.
    pub code: ErrorCode,
    /// Whether anything changed.
    pub mutation: MutationCertainty,
    /// A sentence for a person; at most [`ParticipantError::MAX_MESSAGE`] characters.
    pub message: String,
    /// A structured report, carried untouched.
    #[cfg_attr(feature = "typescript", tsify(type = "unknown"))]
    #[serde(deserialize_with = "Option::deserialize")]
    pub detail: Option<serde_json::Value>,
}

impl ParticipantError {
    /// Longest message, in characters; longer ones are cut.
    pub const MAX_MESSAGE: usize = 512;

    /// A refusal: nothing changed.
    #[must_use]
    pub fn refused(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(code, MutationCertainty::None, message)
    }

    /// A fault after which it is not known what changed.
    #[must_use]
    pub fn uncertain(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(code, MutationCertainty::Unknown, message)
    }

    /// An error with an explicit certainty.
    #[must_use]
    pub fn new(code: ErrorCode, mutation: MutationCertainty, message: impl Into<String>) -> Self {
        let mut message: String = message.into();
        if let Some((end, _)) = message.char_indices().nth(Self::MAX_MESSAGE) {
            message.truncate(end);
        }
        Self {
            code,
            mutation,
            message,
            detail: None,
        }
    }

    /// The same error as a reply may carry it. A participant that names a code that says nothing was changed, and says that
    /// something was, has failed: that is what is answered.
    #[must_use]
    pub(crate) fn for_reply(self) -> Self {
        if !self.code.changes_nothing() || self.mutation == MutationCertainty::None {
            return self;
        }
        let message = format!("{}: {}", self.code, self.message);
        Self {
            detail: self.detail,
            ..Self::new(ErrorCode::BackendFailure, self.mutation, message)
        }
    }

    /// The same error with a report attached.
    #[must_use]
    pub fn with_detail(mut self, detail: serde_json::Value) -> Self {
        self.detail = Some(detail);
        self
    }
}
