//! `wellwritten store pin`, `wellwritten store unpin`: what rotates out and what does not.

use futures::executor::block_on;
use serde::Serialize;
use wellwritten_envelope::Id;
use wellwritten_native::FileMedium;
use wellwritten_store::OpenReport;

use super::{finish, own, tell_uncertainty, uncertainty};
use crate::arguments::PinArguments;
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::store_command_error::StoreCommandError;

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    opened: Option<OpenReport>,
    /// Those for which it was done, before one failed.
    changed: Vec<Id>,
    /// Why it is not certain that it survives a crash of the machine; null where it is.
    uncertainty: Option<String>,
}

pub fn run(arguments: &PinArguments, pinned: bool, console: &mut Console) -> ExitStatus {
    let mut report = Report::default();
    let error = pin(arguments, pinned, console, &mut report).err();
    tell_uncertainty(report.uncertainty.as_ref(), &arguments.dir, console);
    let command = if pinned { "store pin" } else { "store unpin" };
    finish(
        console,
        command,
        &arguments.dir,
        (&report, ExitStatus::Sound),
        error.as_ref(),
    )
}

fn pin(
    arguments: &PinArguments,
    pinned: bool,
    console: &mut Console,
    report: &mut Report,
) -> Result<(), StoreCommandError> {
    let (mut store, opened) = own(FileMedium::open(&arguments.dir)?, console)?;
    report.opened = Some(opened);
    for checkpoint_id in &arguments.checkpoints {
        let certainty = block_on(store.set_pinned(checkpoint_id, pinned))?;
        report.uncertainty = uncertainty(&certainty);
        report.changed.push(checkpoint_id.clone());
        let done = if pinned { "pinned" } else { "unpinned" };
        console.say(&format!("{checkpoint_id}: {done}"));
    }
    Ok(())
}
