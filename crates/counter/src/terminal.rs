//! [`Terminal`]: when an episode is over.

use serde::{Deserialize, Serialize};

/// When an episode is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Terminal {
    /// Never.
    #[default]
    Never,
    /// When the counter stands at this value after a transition.
    Counter(i64),
    /// After this many transitions.
    After(u32),
}

impl Terminal {
    /// Whether it is over after so many transitions, with the counter there.
    #[must_use]
    pub fn is_over(self, transitions: u64, counter: i64) -> bool {
        match self {
            Self::Never => false,
            Self::Counter(value) => transitions > 0 && counter == value,
            Self::After(count) => transitions > 0 && transitions >= u64::from(count),
        }
    }
}
