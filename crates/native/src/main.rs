//! `wellwritten`, the command line: what it can do to a file that a session left behind, without a session.
//!
//! # Mental model
//!
//! A command line is read into [`arguments::Arguments`], one command runs, and it answers on a
//! [`console::Console`]: sentences, or with `--json` one object. The process exits with an
//! [`exit_status::ExitStatus`]. Nothing is kept between commands.
//!
//! # Who is responsible for what
//!
//! Every rule of the format is `wellwritten-envelope`'s, read through its streaming interface, so that memory
//! stays flat whatever the length of a file. This crate owns what that one must not know: paths, files,
//! terminals and exit statuses.
//!
//! # Invariants
//!
//! - An input is never written to. An output appears under its name when it is complete, durable and
//!   verified, in one step ([`new_file::NewFile`]), and never over a file that nobody said to replace. Several
//!   appear together or not at all ([`publication::publish_all`]).
//! - What is said of a file holds of it as it was opened: one that is written to meanwhile is `changed`
//!   ([`input_file::InputFile::unless_changed`]).
//! - No file's content or name reaches a terminal as a control character.
//! - Bad input, a full disk and a closed pipe end in an exit status, never in a panic.
//!
//! # What it does not do
//!
//! It repairs nothing: what is damaged is described, and what is sound can be extracted.
//!
//! # Example
//!
//! ```sh
//! wellwritten envelope verify *.flysess || echo "something is damaged"
//! ```

mod arguments;
mod command_error;
mod console;
mod envelope;
mod exit_status;
mod file_name;
mod input_file;
mod new_file;
mod printable;
mod progress_line;
mod publication;
mod readable_bytes;
mod run_error;
mod session;
mod store;
mod store_command_error;
mod trace;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::{Arguments, Subject};
use crate::console::Console;

fn main() -> ExitCode {
    let Arguments { form, subject } = Arguments::parse();
    let mut console = Console::new(form);
    let status = match &subject {
        Subject::Envelope(command) => envelope::run(command, &mut console),
        Subject::Session(command) => session::run(command, &mut console),
        Subject::Store(command) => store::run(command, &mut console),
        Subject::Trace(command) => trace::run(command, &mut console),
    };
    console.finish(status).into()
}
