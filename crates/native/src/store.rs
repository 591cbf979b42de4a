//! `wellwritten store ...`: a folder of checkpoints a command, and what they share.

use std::path::Path;

use futures::executor::block_on;
use serde::Serialize;
use wellwritten_native::FileMedium;
use wellwritten_store::{Certainty, OpenReport, Store, StoreConfig, StoreReader};

use crate::arguments::StoreCommand;
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::file_name::{FileName, shown};
use crate::readable_bytes::readable_bytes;
use crate::store_command_error::{StoreCommandError, StoreErrorReport};

mod export;
mod import;
mod list;
mod pin;
mod prune;
mod verify;

/// Runs one command to its end.
pub fn run(command: &StoreCommand, console: &mut Console) -> ExitStatus {
    match command {
        StoreCommand::Ls(arguments) => list::run(arguments, console),
        StoreCommand::Verify(arguments) => verify::run(arguments, console),
        StoreCommand::Export(arguments) => export::run(arguments, console),
        StoreCommand::Import(arguments) => import::run(arguments, console),
        StoreCommand::Prune(arguments) => prune::run(arguments, console),
        StoreCommand::Pin(arguments) => pin::run(arguments, true, console),
        StoreCommand::Unpin(arguments) => pin::run(arguments, false, console),
    }
}

/// What every answer about one store says, around what the command found.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StoreReport<'a, F> {
    command: &'static str,
    exit_code: u8,
    /// The store's folder.
    #[serde(flatten)]
    file: FileName,
    #[serde(flatten)]
    found: &'a F,
    /// Why the command failed; null where it did not.
    error: Option<StoreErrorReport>,
}

/// Ends a command about one store: its JSON, or its complaint. `found_status` is what it found where it did not fail.
fn finish<F: Serialize>(
    console: &mut Console,
    command: &'static str,
    folder: &Path,
    (found, found_status): (&F, ExitStatus),
    error: Option<&StoreCommandError>,
) -> ExitStatus {
    let status = error
        .map_or(ExitStatus::Sound, StoreCommandError::exit_status)
        .max(found_status);
    console.report(&StoreReport {
        command,
        exit_code: status.number(),
        file: folder.into(),
        found,
        error: error.map(StoreErrorReport::from),
    });
    if let Some(error) = error {
        console.complain(&format!("{}: {error}", shown(folder)));
    }
    status
}

/// A view of the store in a folder, which must be there, whoever owns it.
fn look_at(folder: &Path) -> Result<StoreReader<FileMedium>, StoreCommandError> {
    let medium = FileMedium::open(folder)?;
    Ok(block_on(StoreReader::open(medium))?)
}

/// Opens the store on a folder to write to it, and says what was cleaned up.
fn own(
    medium: FileMedium,
    console: &mut Console,
) -> Result<(Store<FileMedium>, OpenReport), StoreCommandError> {
    let (store, report) = block_on(Store::open(medium, StoreConfig::default()))?;
    tell_opening(&report, console);
    Ok((store, report))
}

/// What opening a store found and removed, for a person.
pub fn tell_opening(report: &OpenReport, console: &mut Console) {
    for leftover in &report.removed {
        let length = readable_bytes(leftover.byte_length.get());
        console.say(&format!("removed a leftover, {}: {length}", leftover.file));
    }
    for kept in &report.kept {
        console.complain(&format!("kept {}: {}", kept.file, kept.message));
    }
    for missing in &report.missing {
        console.complain(&format!("the file of generation {missing} is gone"));
    }
}

/// Why it is not certain that a change survives a crash of the machine.
fn uncertainty(certainty: &Certainty) -> Option<String> {
    match certainty {
        Certainty::Durable => None,
        Certainty::NameUncertain { cause } => Some(cause.to_string()),
    }
}

/// Says it, where it is not certain.
fn tell_uncertainty(uncertainty: Option<&String>, folder: &Path, console: &Console) {
    if let Some(cause) = uncertainty {
        console.complain(&format!(
            "{}: done, but it is not certain that it survives a crash of the machine: {cause}",
            shown(folder)
        ));
    }
}
