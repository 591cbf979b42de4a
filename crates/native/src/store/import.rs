//! `wellwritten store import`: envelopes from elsewhere become generations.

use std::path::Path;

use futures::executor::block_on;
use serde::Serialize;
use wellwritten_envelope::{Id, ReadAt as _, U64};
use wellwritten_native::FileMedium;
use wellwritten_store::{Committed, OpenReport, Store};

use super::{finish, own, tell_uncertainty, uncertainty};
use crate::arguments::ImportArguments;
use crate::command_error::CommandError;
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::file_name::{FileName, shown};
use crate::input_file::InputFile;
use crate::readable_bytes::readable_bytes;
use crate::store_command_error::{StoreCommandError, StoreErrorReport};

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    opened: Option<OpenReport>,
    files: Vec<Verdict>,
}

/// What became of one file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    #[serde(flatten)]
    file: FileName,
    #[serde(flatten)]
    imported: Option<Imported>,
    error: Option<StoreErrorReport>,
}

/// What a file is in the store now.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Imported {
    checkpoint_id: Id,
    epoch: Id,
    boundary: U64,
    byte_length: U64,
    /// Why it is not certain that it survives a crash of the machine; null where it is.
    uncertainty: Option<String>,
}

pub fn run(arguments: &ImportArguments, console: &mut Console) -> ExitStatus {
    let mut report = Report::default();
    let imported = import(arguments, console, &mut report);
    let (worst, error) = match imported {
        Ok(worst) => (worst, None),
        Err(error) => (ExitStatus::Sound, Some(error)),
    };
    finish(
        console,
        "store import",
        &arguments.dir,
        (&report, worst),
        error.as_ref(),
    )
}

/// The highest status of the files.
fn import(
    arguments: &ImportArguments,
    console: &mut Console,
    report: &mut Report,
) -> Result<ExitStatus, StoreCommandError> {
    let folder = &arguments.dir;
    let (mut store, opened) = own(FileMedium::create(folder)?, console)?;
    report.opened = Some(opened);
    let mut worst = ExitStatus::Sound;
    for path in &arguments.files {
        let imported = import_one(&mut store, path);
        match &imported {
            Ok(imported) => {
                console.say(&format!(
                    "{}: generation {}, boundary {} of epoch {}, {}, pinned",
                    shown(path),
                    imported.checkpoint_id,
                    imported.boundary,
                    imported.epoch,
                    readable_bytes(imported.byte_length.get()),
                ));
                tell_uncertainty(imported.uncertainty.as_ref(), folder, console);
            }
            Err(error) => {
                console.complain(&format!("{}: {error}", shown(path)));
                worst = worst.max(error.exit_status());
            }
        }
        report.files.push(Verdict {
            file: path.as_path().into(),
            error: imported.as_ref().err().map(StoreErrorReport::from),
            imported: imported.ok(),
        });
    }
    Ok(worst)
}

fn import_one(store: &mut Store<FileMedium>, path: &Path) -> Result<Imported, StoreCommandError> {
    let bytes = read(path)?;
    let Committed {
        generation,
        certainty,
        ..
    } = block_on(store.import(&bytes))?;
    Ok(Imported {
        checkpoint_id: generation.checkpoint_id,
        epoch: generation.epoch,
        boundary: generation.boundary,
        byte_length: generation.byte_length,
        uncertainty: uncertainty(&certainty),
    })
}

/// All of a file, as it was when it was opened.
fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    let mut input = InputFile::open(path)?;
    let read = read_all(&mut input);
    input.unless_changed(read)
}

fn read_all(input: &mut InputFile) -> Result<Vec<u8>, CommandError> {
    let length = usize::try_from(input.length()).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(length)
        .map_err(|_| CommandError::TooLarge {
            problem: format!("has {length} bytes, more than this machine can hold in memory"),
        })?;
    bytes.resize(length, 0);
    input
        .read_exact_at(0, &mut bytes)
        .map_err(|source| CommandError::Read { source })?;
    Ok(bytes)
}
