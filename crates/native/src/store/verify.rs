//! `wellwritten store verify`: every byte of every generation.

use futures::executor::block_on;
use serde::Serialize;
use wellwritten_envelope::Id;
use wellwritten_native::FileMedium;
use wellwritten_store::{DamageKind, ReadError, StoreReader, VerifyReport};

use super::{finish, look_at};
use crate::arguments::VerifyStoreArguments;
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::file_name::shown;
use crate::readable_bytes::readable_bytes;
use crate::store_command_error::StoreCommandError;

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    generations: Vec<VerifyReport>,
    /// Those that the store's owner dropped while this looked.
    rotated_out: Vec<Id>,
}

pub fn run(arguments: &VerifyStoreArguments, console: &mut Console) -> ExitStatus {
    let folder = &arguments.dir;
    let mut report = Report::default();
    let error = verify(arguments, console, &mut report).err();
    let mut found = ExitStatus::Sound;
    for damaged in report.generations.iter().filter(|one| !one.verified) {
        let damage = damaged.damage.as_ref();
        let message = damage.map_or("it is damaged", |damage| &damage.message);
        console.complain(&format!(
            "{}: generation {}: {message}",
            shown(folder),
            damaged.checkpoint_id
        ));
        // What cannot be read may be whole.
        found = found.max(match damage.map(|damage| damage.kind) {
            Some(DamageKind::Unreadable) => ExitStatus::Io,
            _ => ExitStatus::NotSound,
        });
    }
    finish(
        console,
        "store verify",
        folder,
        (&report, found),
        error.as_ref(),
    )
}

fn verify(
    arguments: &VerifyStoreArguments,
    console: &mut Console,
    report: &mut Report,
) -> Result<(), StoreCommandError> {
    let mut reader = look_at(&arguments.dir)?;
    let listed = reader.generation_list().generations;
    let wanted: Vec<Id> = if arguments.checkpoints.is_empty() {
        listed
            .into_iter()
            .map(|one| one.info.checkpoint_id)
            .collect()
    } else {
        arguments.checkpoints.clone()
    };
    if wanted.is_empty() {
        console.say("no generations");
    }
    for checkpoint_id in wanted {
        let Some(verdict) = judge(&mut reader, &checkpoint_id)? else {
            console.say(&format!("{checkpoint_id}: rotated out meanwhile"));
            report.rotated_out.push(checkpoint_id);
            continue;
        };
        if verdict.verified {
            let length = readable_bytes(verdict.byte_length.get());
            console.say(&format!("{checkpoint_id}: whole, {length}"));
        }
        report.generations.push(verdict);
    }
    Ok(())
}

/// Whether it is whole; `None` where its file is gone because the store's owner has dropped it since.
fn judge(
    reader: &mut StoreReader<FileMedium>,
    checkpoint_id: &Id,
) -> Result<Option<VerifyReport>, StoreCommandError> {
    let verdict = block_on(reader.verify(checkpoint_id))?;
    let kind = verdict.damage.as_ref().map(|damage| damage.kind);
    if kind != Some(DamageKind::Missing) {
        return Ok(Some(verdict));
    }
    block_on(reader.refresh())?;
    match block_on(reader.verify(checkpoint_id)) {
        Ok(verdict) => Ok(Some(verdict)),
        Err(ReadError::RotatedOut { .. } | ReadError::Unknown { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
