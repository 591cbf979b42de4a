//! `wellwritten store prune`: what is worth least goes.

use futures::executor::block_on;
use serde::Serialize;
use wellwritten_envelope::Id;
use wellwritten_native::FileMedium;
use wellwritten_store::{OpenReport, Pruned};

use super::{finish, own, tell_uncertainty, uncertainty};
use crate::arguments::PruneArguments;
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::store_command_error::StoreCommandError;

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    opened: Option<OpenReport>,
    /// Abandoned ones, then those of the timeline, each oldest first.
    dropped: Vec<Id>,
    kept: Vec<Id>,
    /// Why it is not certain that it survives a crash of the machine; null where it is.
    uncertainty: Option<String>,
}

pub fn run(arguments: &PruneArguments, console: &mut Console) -> ExitStatus {
    let folder = &arguments.dir;
    let mut report = Report::default();
    let error = prune(arguments, console, &mut report).err();
    if error.is_none() {
        for id in &report.dropped {
            console.say(&format!("dropped {id}"));
        }
        console.say(&match report.kept.len() {
            1 => "1 generation stays".to_owned(),
            count => format!("{count} generations stay"),
        });
        tell_uncertainty(report.uncertainty.as_ref(), folder, console);
    }
    finish(
        console,
        "store prune",
        folder,
        (&report, ExitStatus::Sound),
        error.as_ref(),
    )
}

fn prune(
    arguments: &PruneArguments,
    console: &mut Console,
    report: &mut Report,
) -> Result<(), StoreCommandError> {
    let (mut store, opened) = own(FileMedium::open(&arguments.dir)?, console)?;
    report.opened = Some(opened);
    let Pruned { dropped, certainty } = block_on(store.prune(arguments.keep.get()))?;
    report.dropped = dropped;
    report.uncertainty = uncertainty(&certainty);
    let kept = store.generation_list().generations;
    report.kept = kept.into_iter().map(|one| one.info.checkpoint_id).collect();
    Ok(())
}
