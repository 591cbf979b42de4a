//! `wellwritten trace ...`: what sessions did, beside one another.

use crate::arguments::TraceCommand;
use crate::console::Console;
use crate::exit_status::ExitStatus;

mod compare;
mod compare_error;
mod epoch_names;
mod trace_input;

/// Runs one command to its end.
pub fn run(command: &TraceCommand, console: &mut Console) -> ExitStatus {
    match command {
        TraceCommand::Compare(arguments) => compare::run(arguments, console),
    }
}
