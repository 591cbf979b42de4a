//! `wellwritten envelope extract`: payloads and the manifest as files of their own.

use std::fs;
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
use crate::new_file::NewFile;
use crate::progress_line::ProgressLine;
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
    let path = &arguments.file;
    let mut input = InputFile::open(path)?;
    let failed = |error| CommandError::from_stream(error, path);
    let head = read_head(&mut input).map_err(failed)?;
    // Before anything long is done, so that a name that is taken is noticed now.
    let (folder, files) = create_files(arguments, &head)?;
    if head.version == EnvelopeVersion::One {
        // Its footer vouches for the table only together with every payload.
        let mut line = ProgressLine::new(console, &format!("verifying {}", shown(path)));
        let verified = verify(&mut input, &mut |progress| line.show(progress)).map_err(failed)?;
        if verified != head {
            return Err(CommandError::Changed);
        }
    }
    let mut complete = Vec::new();
    for (payload, mut file) in files {
        let byte_length = match payload {
            Some(entry) => {
                let doing = format!("extracting {} from {}", entry.name, shown(path));
                let mut line = ProgressLine::new(console, &doing);
                copy_payload(
                    &mut input,
                    head.version,
                    entry,
                    &mut file,
                    &mut |progress| {
                        line.show(progress);
                    },
                )
                .map_err(|error| CommandError::from_stream(error, file.target()))?;
                entry.byte_length
            }
            None => write_manifest(&head.manifest, &mut file)?,
        };
        complete.push((payload, file, byte_length));
    }
    // Nothing gets its name before everything is verified.
    for (payload, file, byte_length) in complete {
        let target = file.publish()?;
        let payload = payload.map(|entry| entry.name.clone());
        let what = payload.as_ref().map_or("manifest", Id::as_str);
        let length = readable_bytes(byte_length);
        console.say(&format!("{what}: {}, {length}", target.display()));
        report.written.push(Written {
            file: target.as_path().into(),
            payload,
            byte_length: U64(byte_length),
        });
    }
    if let Some(folder) = folder {
        folder.keep();
    }
    Ok(())
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

/// The folder for the output, if it is one, and a new file for each payload that is wanted, and for the
/// manifest, which has none.
fn create_files<'a>(
    arguments: &'a ExtractArguments,
    head: &'a EnvelopeHead,
) -> Result<(Option<OutputFolder<'a>>, Vec<NewPart<'a>>), CommandError> {
    let output = &arguments.output;
    let both = arguments.payload.is_some() && arguments.manifest;
    let into_folder = arguments.all || both || output.is_dir();
    let parts = wanted_parts(arguments, head)?;
    let folder = into_folder
        .then(|| OutputFolder::open(output))
        .transpose()?;
    let create = |part: Option<&'a PayloadEntry>| {
        let name = part.map_or(MANIFEST_NAME, |entry| entry.name.as_str());
        let target = if into_folder {
            &output.join(name)
        } else {
            output
        };
        let file = NewFile::create(target, arguments.force)?;
        Ok::<NewPart<'a>, CommandError>((part, file))
    };
    let files = parts.into_iter().map(create).collect::<Result<_, _>>()?;
    Ok((folder, files))
}

/// A file has one encoding, so this is the manifest byte for byte. Returns its length.
fn write_manifest(manifest: &Manifest, file: &mut NewFile) -> Result<u64, CommandError> {
    let text =
        canonical_json(manifest).expect("a manifest that was read from canonical JSON has some");
    file.write_all(&text).map_err(|error| file.error(error))?;
    Ok(u64::try_from(text.len()).expect("a length in memory fits 64 bits"))
}

/// A folder for the output: one that this command made is removed again if nothing comes of it.
struct OutputFolder<'a> {
    created: Option<&'a Path>,
}

impl<'a> OutputFolder<'a> {
    fn open(path: &'a Path) -> Result<Self, CommandError> {
        let created = match fs::create_dir(path) {
            Ok(()) => Some(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => None,
            Err(source) => {
                return Err(CommandError::Write {
                    path: path.to_owned(),
                    source,
                });
            }
        };
        Ok(Self { created })
    }

    fn keep(mut self) {
        self.created = None;
    }
}

impl Drop for OutputFolder<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.created {
            // Only an empty folder can be removed so: what was written stays.
            let _ = fs::remove_dir(path);
        }
    }
}
