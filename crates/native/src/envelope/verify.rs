//! `wellwritten envelope verify`: every rule, for each of several files.

use std::path::Path;

use serde::Serialize;
use wellwritten_envelope::{EnvelopeHead, EnvelopeVersion, Id, ReadAt, U64, verify};

use crate::arguments::VerifyArguments;
use crate::command_error::{CommandError, ErrorReport};
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::file_name::{FileName, shown};
use crate::input_file::InputFile;
use crate::progress_line::ProgressLine;
use crate::readable_bytes::readable_bytes;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    command: &'static str,
    exit_code: u8,
    files: Vec<Verdict>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    #[serde(flatten)]
    file: FileName,
    /// Null where the file could not be read.
    sound: Option<bool>,
    #[serde(flatten)]
    identity: Option<Identity>,
    error: Option<ErrorReport>,
}

/// What a sound file is.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    version: EnvelopeVersion,
    file_bytes: U64,
    checkpoint_id: Id,
    payload_count: usize,
}

pub fn run(arguments: &VerifyArguments, console: &mut Console) -> ExitStatus {
    let mut worst = ExitStatus::Sound;
    let mut files = Vec::new();
    for path in &arguments.files {
        let verdict = judge(path, console);
        let status = match &verdict {
            Ok(identity) => {
                console.say(&sound_line(path, identity));
                ExitStatus::Sound
            }
            Err(error) => {
                console.complain(&format!("{}: {error}", shown(path)));
                error.exit_status()
            }
        };
        worst = worst.max(status);
        let error = verdict.as_ref().err().map(ErrorReport::from);
        files.push(Verdict {
            file: path.as_path().into(),
            sound: (status != ExitStatus::Io).then_some(status == ExitStatus::Sound),
            identity: verdict.ok(),
            error,
        });
    }
    console.report(&Report {
        command: "envelope verify",
        exit_code: worst.number(),
        files,
    });
    worst
}

fn judge(path: &Path, console: &Console) -> Result<Identity, CommandError> {
    let mut input = InputFile::open(path)?;
    let mut line = ProgressLine::new(console, &format!("verifying {}", shown(path)));
    let verified = verify(&mut input, &mut |progress| line.show(progress))
        .map_err(|error| CommandError::from_stream(error, path));
    let EnvelopeHead {
        version,
        manifest,
        entries,
    } = input.unless_changed(verified)?;
    Ok(Identity {
        version,
        file_bytes: U64(input.length()),
        checkpoint_id: manifest.checkpoint_id,
        payload_count: entries.len(),
    })
}

fn sound_line(path: &Path, identity: &Identity) -> String {
    let payloads = match identity.payload_count {
        1 => "1 payload".to_owned(),
        count => format!("{count} payloads"),
    };
    format!(
        "{}: sound: version {}, checkpoint {}, {payloads}, {}",
        shown(path),
        identity.version,
        identity.checkpoint_id,
        readable_bytes(identity.file_bytes.get()),
    )
}
