//! `wellwritten envelope convert`: the same checkpoint in the other version.

use serde::Serialize;
use wellwritten_envelope::{
    ConvertError, EncodeError, EnvelopeHead, EnvelopeVersion, ReadAt, U64, convert, read_head,
};

use super::fields_without_place::fields_without_place;
use super::finish;
use crate::arguments::ConvertArguments;
use crate::command_error::CommandError;
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::file_name::{FileName, shown};
use crate::input_file::InputFile;
use crate::new_file::NewFile;
use crate::progress_line::ProgressLine;
use crate::publication::publish_all;
use crate::readable_bytes::readable_bytes;

/// What the command did; everything null where it did nothing.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    output: Option<FileName>,
    from_version: Option<EnvelopeVersion>,
    to_version: Option<EnvelopeVersion>,
    file_bytes: Option<U64>,
}

pub fn run(arguments: &ConvertArguments, console: &mut Console) -> ExitStatus {
    let mut report = Report::default();
    let error = write(arguments, console, &mut report).err();
    finish(
        console,
        "envelope convert",
        &arguments.file,
        &report,
        error.as_ref(),
    )
}

fn write(
    arguments: &ConvertArguments,
    console: &mut Console,
    report: &mut Report,
) -> Result<(), CommandError> {
    let (path, to) = (&arguments.file, arguments.to.into());
    let mut input = InputFile::open(path)?;
    let converted = write_new_file(arguments, &mut input, console);
    // Before the new file has its name: it may be half of one file and half of another.
    let (head, file, file_bytes) = input.unless_changed(converted)?;
    let output = arguments.output.as_path();
    publish_all(vec![file], None)?;

    console.say(&format!(
        "{}: version {}, {}",
        shown(path),
        head.version,
        readable_bytes(input.length()),
    ));
    console.say(&format!(
        "{}: version {to}, {}",
        output.display(),
        readable_bytes(file_bytes),
    ));
    if head.version == to {
        console.say("The file has that version already: this is a copy, byte for byte.");
    }
    *report = Report {
        output: Some(output.into()),
        from_version: Some(head.version),
        to_version: Some(to),
        file_bytes: Some(U64(file_bytes)),
    };
    Ok(())
}

/// The new file, which has no name yet, its length, and what the old one says.
fn write_new_file(
    arguments: &ConvertArguments,
    input: &mut InputFile,
    console: &Console,
) -> Result<(EnvelopeHead, NewFile, u64), CommandError> {
    let (path, output) = (&arguments.file, &arguments.output);
    let mut file = NewFile::create(output, arguments.force)?;
    let head = read_head(input).map_err(|error| CommandError::from_stream(error, path))?;
    let mut line = ProgressLine::new(console, &format!("verifying {}", shown(path)));
    let mut last_bytes = 0;
    let to = arguments.to.into();
    let converted = convert(input, to, &mut file, &mut |progress| {
        if progress.done_bytes < last_bytes {
            line.next(&format!("writing {}", output.display()));
        }
        last_bytes = progress.done_bytes;
        line.show(progress);
    });
    let file_bytes = converted.map_err(|error| command_error(error, &head, &file))?;
    Ok((head, file, file_bytes))
}

fn command_error(error: ConvertError, head: &EnvelopeHead, output: &NewFile) -> CommandError {
    match error {
        ConvertError::Read(error) => CommandError::from_stream(error, output.target()),
        ConvertError::WouldLose { to, problem } => CommandError::WouldLose {
            to,
            problem,
            fields: fields_without_place(&head.manifest),
        },
        ConvertError::Write(EncodeError::Sink(source)) => output.error(source),
        ConvertError::Write(EncodeError::Source { error, .. }) => {
            CommandError::Read { source: error }
        }
        // It was verified a moment ago, so nothing else can be wrong with it.
        _ => CommandError::Changed,
    }
}
