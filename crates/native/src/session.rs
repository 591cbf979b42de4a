//! `wellwritten session ...`: sessions, run to their end.

use crate::arguments::SessionCommand;
use crate::console::Console;
use crate::exit_status::ExitStatus;

mod counter_launch;
mod interruption;
mod participant;
mod run;
mod run_report;
mod run_store;
mod save_log;
mod shown_progress;
mod stepping;
mod trace_file;

/// Runs one command to its end.
pub fn run(command: &SessionCommand, console: &mut Console) -> ExitStatus {
    match command {
        SessionCommand::Run(arguments) => run::run(arguments, console),
        SessionCommand::Participant(arguments) => participant::run(arguments, console),
    }
}
