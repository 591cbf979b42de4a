//! `wellwritten envelope extract`: payloads and the manifest as files of their own.

use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;
use wellwritten_envelope::{
    EnvelopeHead, EnvelopeVersion, Id, Manifest, PayloadEntry, U64, canonical_json, copy_payload,
    read_head, verify,
};

use super::finish;
use crate::arguments::ExtractArguments;
use crate::command_error::CommandError;
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::file_name::{FileName, shown};
use crate::input_file::InputFile;
use crate::new_file::{NewFile, folder_of};
use crate::progress_line::ProgressLine;
use crate::publication::publish_all;
use crate::readable_bytes::readable_bytes;

/// The manifest's name in a folder of payloads. No id begins with an underscore, so it is no payload's.
const MANIFEST_NAME: &str = "_manifest.json";

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    written: Vec<Written>,
}

/// One file that is there now.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(flatten)]
    file: FileName,
    /// The payload in it; null for the manifest.
    payload: Option<Id>,
    byte_length: U64,
}

/// One file to be: the payload it is for, or `None` for the manifest.
type NewPart<'a> = (Option<&'a PayloadEntry>, NewFile);

pub fn run(arguments: &ExtractArguments, console: &mut Console) -> ExitStatus {
    let mut report = Report::default();
    let error = extract(arguments, console, &mut report).err();
    finish(
        console,
        "envelope extract",
        &arguments.file,
        &report,
        error.as_ref(),
    )
}

fn extract(
    arguments: &ExtractArguments,
    console: &mut Console,
    report: &mut Report,
) -> Result<(), CommandError> {
    let mut input = InputFile::open(&arguments.file)?;
    let written = write_files(arguments, &mut input, console);
    let (new_folder, parts) = input.unless_changed(written)?;
    let mut contents = Vec::new();
    let mut files = Vec::new();
    for part in parts {
        contents.push((part.payload, part.byte_length));
        files.push(part.file);
    }
    // Nothing gets its name before everything is verified.
    let targets = publish_all(files, new_folder)?;
    for (target, (payload, byte_length)) in targets.into_iter().zip(contents) {
        let what = payload.as_ref().map_or("manifest", Id::as_str);
        let length = readable_bytes(byte_length);
        console.say(&format!("{what}: {}, {length}", target.display()));
        report.written.push(Written {
            file: target.as_path().into(),
            payload,
            byte_length: U64(byte_length),
        });
    }
    Ok(())
}

/// A file that is complete and has no name yet.
struct CompletePart {
    /// The payload in it; `None` for the manifest.
    payload: Option<Id>,
    file: NewFile,
    byte_length: u64,
}

/// Everything that is wanted, verified, and the folder that is to be made for it.
fn write_files<'a>(
    arguments: &'a ExtractArguments,
    input: &mut InputFile,
    console: &Console,
) -> Result<(Option<&'a Path>, Vec<CompletePart>), CommandError> {
    let path = &arguments.file;
    let failed = |error| CommandError::from_stream(error, path);
    let head = read_head(input).map_err(failed)?;
    // Before anything long is done, so that a name that is taken is noticed now.
    let (new_folder, files) = create_files(arguments, &head)?;
    if head.version == EnvelopeVersion::One {
        // Its footer vouches for the table only together with every payload.
        let mut line = ProgressLine::new(console, &format!("verifying {}", shown(path)));
        let verified = verify(input, &mut |progress| line.show(progress)).map_err(failed)?;
        if verified != head {
            return Err(CommandError::Changed);
        }
    }
    let mut complete = Vec::new();
    for (entry, mut file) in files {
        let byte_length = match entry {
            Some(entry) => {
                let doing = format!("extracting {} from {}", entry.name, shown(path));
                let mut line = ProgressLine::new(console, &doing);
                let mut show = |progress| line.show(progress);
                copy_payload(input, head.version, entry, &mut file, &mut show)
                    .map_err(|error| CommandError::from_stream(error, file.target()))?;
                entry.byte_length
            }
            None => write_manifest(&head.manifest, &mut file)?,
        };
        complete.push(CompletePart {
            payload: entry.map(|entry| entry.name.clone()),
            file,
            byte_length,
        });
    }
    Ok((new_folder, complete))
}

/// What is to be extracted, in file order: payloads, and `None` for the manifest.
fn wanted_parts<'a>(
    arguments: &ExtractArguments,
    head: &'a EnvelopeHead,
) -> Result<Vec<Option<&'a PayloadEntry>>, CommandError> {
    let mut parts = Vec::new();
    if arguments.all {
        parts.extend(head.entries.iter().map(Some));
    }
    if let Some(name) = &arguments.payload {
        let Some(entry) = head.entry(name) else {
            let entries = head.entries.iter();
            return Err(CommandError::NoSuchPayload {
                name: name.clone(),
                present: entries.map(|entry| entry.name.clone()).collect(),
            });
        };
        parts.push(Some(entry));
    }
    if arguments.manifest {
        parts.push(None);
    }
    Ok(parts)
}

/// The folder that is to be made, if one is, and a new file for each payload that is wanted, and for the
/// manifest, which has none.
///
/// A folder that is not there yet is made last, so that a command that is killed leaves none: until then
/// its files are in progress beside it.
fn create_files<'a, 'b>(
    arguments: &'b ExtractArguments,
    head: &'a EnvelopeHead,
) -> Result<(Option<&'b Path>, Vec<NewPart<'a>>), CommandError> {
    let output = arguments.output.as_path();
    let both = arguments.payload.is_some() && arguments.manifest;
    let exists = output.is_dir();
    let into_folder = arguments.all || both || exists;
    let new_folder = (into_folder && !exists).then_some(output);
    let parts = wanted_parts(arguments, head)?;
    if new_folder.is_some() && output.symlink_metadata().is_ok() {
        return Err(CommandError::Write {
            path: output.to_owned(),
            source: io::ErrorKind::NotADirectory.into(),
        });
    }
    let create = |part: Option<&'a PayloadEntry>| {
        let name = part.map_or(MANIFEST_NAME, |entry| entry.name.as_str());
        let file = match (into_folder, new_folder) {
            (false, _) => NewFile::create(output, arguments.force),
            (true, None) => NewFile::create(&output.join(name), arguments.force),
            (true, Some(new)) => {
                NewFile::create_in(folder_of(new), &new.join(name), arguments.force)
            }
        };
        Ok::<NewPart<'a>, CommandError>((part, file?))
    };
    let files = parts.into_iter().map(create).collect::<Result<_, _>>()?;
    Ok((new_folder, files))
}

/// A file has one encoding, so this is the manifest byte for byte. Returns its length.
fn write_manifest(manifest: &Manifest, file: &mut NewFile) -> Result<u64, CommandError> {
    let text =
        canonical_json(manifest).expect("a manifest that was read from canonical JSON has some");
    file.write_all(&text).map_err(|error| file.error(error))?;
    Ok(u64::try_from(text.len()).expect("a length in memory fits 64 bits"))
}
