//! [`ScenarioFailure`]: what was expected of a session, and what was found.

use std::fmt::Debug;

use wellwritten_counter::CounterError;
use wellwritten_session::{ErrorCode, ParticipantError, SessionError, TransportError};

/// What was expected of a session, and what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}; found {found}")]
pub struct ScenarioFailure {
    /// What should have been.
    pub expected: String,
    /// What was.
    pub found: String,
}

/// How a scenario ended.
pub type Verdict = Result<(), ScenarioFailure>;

impl ScenarioFailure {
    pub(crate) fn new(expected: impl Into<String>, found: impl Debug) -> Self {
        Self {
            expected: expected.into(),
            found: format!("{found:?}"),
        }
    }
}

impl From<SessionError> for ScenarioFailure {
    fn from(error: SessionError) -> Self {
        Self {
            expected: "the session to do as asked".to_owned(),
            found: error.to_string(),
        }
    }
}

impl From<ParticipantError> for ScenarioFailure {
    fn from(error: ParticipantError) -> Self {
        Self {
            expected: "the participant to do as asked".to_owned(),
            found: error.to_string(),
        }
    }
}

impl From<TransportError> for ScenarioFailure {
    fn from(error: TransportError) -> Self {
        Self {
            expected: "a reply".to_owned(),
            found: error.to_string(),
        }
    }
}

impl From<CounterError> for ScenarioFailure {
    fn from(error: CounterError) -> Self {
        Self {
            expected: "a composition that can be".to_owned(),
            found: error.to_string(),
        }
    }
}

/// Both are the same.
pub(crate) fn same<T: PartialEq + Debug>(what: &str, found: &T, expected: &T) -> Verdict {
    if found == expected {
        return Ok(());
    }
    Err(ScenarioFailure::new(format!("{what} {expected:?}"), found))
}

/// It is so.
pub(crate) fn holds(what: &str, is_so: bool, found: impl Debug) -> Verdict {
    if is_so {
        return Ok(());
    }
    Err(ScenarioFailure::new(what, found))
}

/// The session said no, in this way.
pub(crate) fn refused<T: Debug>(
    what: &str,
    outcome: Result<T, SessionError>,
    code: ErrorCode,
) -> Result<SessionError, ScenarioFailure> {
    match outcome {
        Err(error) if error.code() == code => Ok(error),
        Err(error) => Err(ScenarioFailure::new(
            format!("{what} to be answered {code}"),
            error.to_string(),
        )),
        Ok(done) => Err(ScenarioFailure::new(
            format!("{what} to be answered {code}"),
            done,
        )),
    }
}
