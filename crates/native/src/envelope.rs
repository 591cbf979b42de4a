//! `wellwritten envelope ...`: a file a command, and what they share.

use std::path::Path;

use serde::Serialize;

use crate::arguments::EnvelopeCommand;
use crate::command_error::{CommandError, ErrorReport};
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::file_name::{FileName, shown};

mod convert;
mod extract;
mod fields_without_place;
mod inspect;
mod manifest_summary;
mod verify;

/// Runs one command to its end.
pub fn run(command: &EnvelopeCommand, console: &mut Console) -> ExitStatus {
    match command {
        EnvelopeCommand::Inspect(arguments) => inspect::run(arguments, console),
        EnvelopeCommand::Verify(arguments) => verify::run(arguments, console),
        EnvelopeCommand::Extract(arguments) => extract::run(arguments, console),
        EnvelopeCommand::Convert(arguments) => convert::run(arguments, console),
    }
}

/// What every answer about one file says, around what the command found.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileReport<'a, F> {
    command: &'static str,
    exit_code: u8,
    #[serde(flatten)]
    file: FileName,
    #[serde(flatten)]
    found: &'a F,
    /// Why the command failed; null where it did not.
    error: Option<ErrorReport>,
}

/// Ends a command about one file: its JSON, or its complaint.
fn finish<F: Serialize>(
    console: &mut Console,
    command: &'static str,
    file: &Path,
    found: &F,
    error: Option<&CommandError>,
) -> ExitStatus {
    let status = error.map_or(ExitStatus::Sound, CommandError::exit_status);
    console.report(&FileReport {
        command,
        exit_code: status.number(),
        file: file.into(),
        found,
        error: error.map(ErrorReport::from),
    });
    if let Some(error) = error {
        console.complain(&format!("{}: {error}", shown(file)));
    }
    status
}
