//! `wellwritten store export`: a generation as a file of its own.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use futures::executor::block_on;
use serde::Serialize;
use wellwritten_envelope::U64;
use wellwritten_store::{Damage, ReadError, file_name};

use super::{finish, look_at};
use crate::arguments::ExportArguments;
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::file_name::FileName;
use crate::new_file::{NewFile, folder_of};
use crate::publication::publish_all;
use crate::readable_bytes::readable_bytes;
use crate::store_command_error::StoreCommandError;

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// The file that was written; null where none was.
    output: Option<FileName>,
    byte_length: Option<U64>,
}

pub fn run(arguments: &ExportArguments, console: &mut Console) -> ExitStatus {
    let mut report = Report::default();
    let error = export(arguments, console, &mut report).err();
    finish(
        console,
        "store export",
        &arguments.dir,
        (&report, ExitStatus::Sound),
        error.as_ref(),
    )
}

fn export(
    arguments: &ExportArguments,
    console: &mut Console,
    report: &mut Report,
) -> Result<(), StoreCommandError> {
    let target = if arguments.output.is_dir() {
        arguments
            .output
            .join(file_name::generation(&arguments.checkpoint))
    } else {
        arguments.output.clone()
    };
    require_outside(&arguments.dir, &target)?;
    // Before anything long is done, so that a name that is taken is noticed now.
    let mut file = NewFile::create(&target, arguments.force)?;
    let bytes = read(arguments)?;
    file.write_all(&bytes).map_err(|error| file.error(error))?;
    publish_all(vec![file], None)?;
    let byte_length = bytes.len() as u64;
    console.say(&format!(
        "{}: {}, {}",
        arguments.checkpoint,
        target.display(),
        readable_bytes(byte_length)
    ));
    report.output = Some(target.as_path().into());
    report.byte_length = Some(U64(byte_length));
    Ok(())
}

/// Refuses a target beside the store's own files, by whatever path.
fn require_outside(store: &Path, target: &Path) -> Result<(), StoreCommandError> {
    let identity = |folder: &Path| {
        let metadata = fs::metadata(folder).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    match (identity(store), identity(folder_of(target))) {
        (Some(store), Some(folder)) if store == folder => Err(StoreCommandError::OutputInStore {
            path: target.to_owned(),
        }),
        // What is wrong with either is said when it is used.
        _ => Ok(()),
    }
}

/// The generation, checked by every rule.
fn read(arguments: &ExportArguments) -> Result<Vec<u8>, StoreCommandError> {
    let mut reader = look_at(&arguments.dir)?;
    match block_on(reader.read_whole(&arguments.checkpoint)) {
        // The store's owner may have dropped it since; then that is what there is to say.
        Err(ReadError::Damaged {
            damage: Damage::Missing { .. },
            ..
        }) => {
            block_on(reader.refresh())?;
            Ok(block_on(reader.read_whole(&arguments.checkpoint))?)
        }
        read => Ok(read?),
    }
}
