//! [`EnvelopeFault`]: the rule of the envelope's format that bytes break, as plain data.

use wellwritten_envelope::{EnvelopeError, EnvelopeRule};

/// Which rule of the format bytes break, and how. Retrying the same bytes fails again.
///
/// Not the [`EnvelopeError`] itself: the store's errors go from the thread or worker that owns it to the one that
/// asks, and of forty variants with their fields only the rule decides anything there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "wire", serde(rename_all = "camelCase", deny_unknown_fields))]
#[error("{message}")]
pub struct EnvelopeFault {
    /// The rule.
    pub rule: EnvelopeRule,
    /// What is wrong, with offsets and both values.
    pub message: String,
}

impl From<EnvelopeError> for EnvelopeFault {
    fn from(error: EnvelopeError) -> Self {
        Self {
            rule: error.rule(),
            message: error.to_string(),
        }
    }
}
