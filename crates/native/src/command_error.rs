//! [`CommandError`]: why a command failed, for a person, for a script and for a program.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use wellwritten_envelope::{
    BrokenRule, EnvelopeError, EnvelopeRule, EnvelopeVersion, Id, StreamError,
};

use crate::exit_status::ExitStatus;

/// Why a command on one file failed. No output file was left behind by it, but for the ones that the
/// command says it wrote.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The file breaks a rule of the format. Reading it again fails the same way.
    #[error("not sound: {0}")]
    NotSound(#[from] EnvelopeError),
    /// The file is sound, and the version asked for has no place for something that it says.
    #[error("cannot be written as version {to} without loss of {}: {problem}", fields.join(", "))]
    WouldLose {
        /// The version asked for.
        to: EnvelopeVersion,
        /// The first rule of that version that the manifest breaks.
        problem: EnvelopeError,
        /// The path of each field that it has no place for.
        fields: Vec<String>,
    },
    /// The file is not what it was when the command began.
    #[error("changed while it was read")]
    Changed,
    /// The file could not be opened.
    #[error("cannot be opened: {source}")]
    Open {
        /// What the system says.
        source: io::Error,
    },
    /// What was named is no file whose bytes can be read in any order.
    #[error("is {found}, and an envelope is read from both of its ends: name a regular file")]
    NotAFile {
        /// What it is.
        found: &'static str,
    },
    /// The file could not be read to its end.
    #[error("cannot be read: {source}")]
    Read {
        /// What the system says.
        source: io::Error,
    },
    /// The file is beyond what this program takes into memory. It may be sound.
    #[error("{problem}")]
    TooLarge {
        /// What is too large, and the limit.
        problem: String,
    },
    /// The file has no payload of that name.
    #[error("has no payload {name}; it has {}", listed(present))]
    NoSuchPayload {
        /// The name asked for.
        name: Id,
        /// The names there are.
        present: Vec<Id>,
    },
    /// The output exists, and the command was not told to replace it.
    #[error("{} exists; --force replaces it", path.display())]
    OutputExists {
        /// The output.
        path: PathBuf,
    },
    /// The output exists and is no regular file, which not even `--force` replaces.
    #[error("{} exists and is {found}, which is never replaced", path.display())]
    OutputNotAFile {
        /// The output.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// The output is spelled as a folder, and what is to be written is a file.
    #[error("{} names a folder, and a file is to be written", path.display())]
    OutputNamesAFolder {
        /// The output.
        path: PathBuf,
    },
    /// In the output's folder no file can be created.
    #[error("{} cannot be written: no file can be created in the folder {}: {source}", path.display(), folder.display())]
    OutputFolder {
        /// The output.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The output could not be written. What was there before is there still.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The output.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fn listed(names: &[Id]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<&str> = names.iter().map(Id::as_str).collect();
    names.join(", ")
}

impl CommandError {
    /// What the process exits with.
    pub const fn exit_status(&self) -> ExitStatus {
        match self {
            Self::NotSound(_) => ExitStatus::NotSound,
            Self::NoSuchPayload { .. } | Self::WouldLose { .. } => ExitStatus::Usage,
            Self::Open { .. }
            | Self::NotAFile { .. }
            | Self::Read { .. }
            | Self::Changed
            | Self::TooLarge { .. }
            | Self::OutputExists { .. }
            | Self::OutputNotAFile { .. }
            | Self::OutputNamesAFolder { .. }
            | Self::OutputFolder { .. }
            | Self::Write { .. } => ExitStatus::Io,
        }
    }

    /// A word for programs; a closed list.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotSound(_) => "not-sound",
            Self::WouldLose { .. } => "would-lose",
            Self::Open { .. } => "open",
            Self::NotAFile { .. } => "not-a-file",
            Self::Read { .. } => "read",
            Self::Changed => "changed",
            Self::TooLarge { .. } => "too-large",
            Self::NoSuchPayload { .. } => "no-such-payload",
            Self::OutputExists { .. } => "output-exists",
            Self::OutputNotAFile { .. } | Self::OutputNamesAFolder { .. } => "output-not-a-file",
            Self::OutputFolder { .. } | Self::Write { .. } => "write",
        }
    }

    /// Whether it says something about the file that was read, which no longer holds if that file has changed.
    pub const fn is_about_the_input(&self) -> bool {
        !matches!(
            self,
            Self::OutputExists { .. }
                | Self::OutputNotAFile { .. }
                | Self::OutputNamesAFolder { .. }
                | Self::OutputFolder { .. }
                | Self::Write { .. }
        )
    }

    /// The error of a streaming operation that wrote nothing, or wrote to `output`.
    pub fn from_stream(error: StreamError, output: &Path) -> Self {
        match error {
            StreamError::Refused(error) => Self::NotSound(error),
            StreamError::Source(source) => Self::Read { source },
            StreamError::Sink(source) => Self::Write {
                path: output.to_owned(),
                source,
            },
            other => Self::TooLarge {
                problem: other.to_string(),
            },
        }
    }
}

/// A [`CommandError`] for a program. Of a file that is not sound it says where, and both values.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorReport {
    code: &'static str,
    message: String,
    #[serde(flatten)]
    broken: Option<BrokenRuleReport>,
    /// Of a file that cannot be converted: the path of each field that would be lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_fields: Option<Vec<String>>,
}

/// A [`BrokenRule`] with its offset as a decimal string, like every number of 64 bits, and without the
/// fields that do not apply.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BrokenRuleReport {
    rule: EnvelopeRule,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<String>,
}

impl From<BrokenRule> for BrokenRuleReport {
    fn from(broken: BrokenRule) -> Self {
        Self {
            rule: broken.rule,
            offset: broken.offset.map(|offset| offset.to_string()),
            field: broken.field,
            payload: broken.payload,
            expected: broken.expected,
            found: broken.found,
        }
    }
}

impl From<&CommandError> for ErrorReport {
    fn from(error: &CommandError) -> Self {
        let broken = match error {
            CommandError::NotSound(problem) | CommandError::WouldLose { problem, .. } => {
                Some(BrokenRule::from(problem).into())
            }
            _ => None,
        };
        Self {
            code: error.code(),
            message: match error {
                // The code says it already.
                CommandError::NotSound(problem) => problem.to_string(),
                _ => error.to_string(),
            },
            broken,
            lost_fields: match error {
                CommandError::WouldLose { fields, .. } => Some(fields.clone()),
                _ => None,
            },
        }
    }
}
