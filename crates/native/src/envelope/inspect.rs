//! `wellwritten envelope inspect`: what a file holds, part by part, however damaged it is.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use wellwritten_envelope::{
    EnvelopeLayout, LayoutPart, MAX_STREAMED_HEAD_BYTES, Manifest, PartKind, PartState, Progress,
    ReadAt, describe_source, parse_strict_json, verify,
};

use super::finish;
use super::manifest_summary::summary;
use crate::arguments::InspectArguments;
use crate::command_error::CommandError;
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::file_name::shown;
use crate::input_file::InputFile;
use crate::progress_line::ProgressLine;
use crate::readable_bytes::{grouped, readable_bytes};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// Null where the file could not be read.
    layout: Option<EnvelopeLayout>,
    /// The manifest as the file has it; null where it is no manifest.
    manifest: Option<Value>,
}

pub fn run(arguments: &InspectArguments, console: &mut Console) -> ExitStatus {
    let path = &arguments.file;
    let mut report = Report {
        layout: None,
        manifest: None,
    };
    let error = inspect(path, console, &mut report).err();
    finish(console, "envelope inspect", path, &report, error.as_ref())
}

fn inspect(path: &Path, console: &mut Console, report: &mut Report) -> Result<(), CommandError> {
    let mut input = InputFile::open(path)?;
    let found = look(path, &mut input, console);
    // Layout and manifest were read one after the other, and are of one file only if it stayed as it was.
    let Found {
        layout,
        manifest,
        refusal,
    } = input.unless_changed(found)?;
    let typed = manifest.clone();
    let typed = typed.and_then(|value| serde_json::from_value::<Manifest>(value).ok());
    for line in layout_lines(path, &layout) {
        console.say(&line);
    }
    console.say("");
    for line in manifest_lines(&layout, typed.as_ref()) {
        console.say(&line);
    }
    *report = Report {
        layout: Some(layout),
        manifest: typed.and(manifest),
    };
    refusal.map_or(Ok(()), Err)
}

/// What a file holds.
struct Found {
    layout: EnvelopeLayout,
    manifest: Option<Value>,
    /// The first rule it breaks.
    refusal: Option<CommandError>,
}

fn look(path: &Path, input: &mut InputFile, console: &Console) -> Result<Found, CommandError> {
    let failed = |error| CommandError::from_stream(error, path);
    let layout = {
        let mut line = ProgressLine::new(console, &format!("inspecting {}", shown(path)));
        let mut surveys = false;
        describe_source(input, &mut |progress| {
            let (pass, of_pass) = pass_of(progress);
            if pass == Pass::Survey && !surveys {
                surveys = true;
                line.next(&format!("looking for what is sound in {}", shown(path)));
            }
            line.show(of_pass);
        })
        .map_err(failed)?
    };
    let manifest = read_manifest(input, &layout);
    let refusal = if layout.refusal.is_some() {
        // The layout has the reason in words; this finds it again with its offset and both values.
        let mut line = ProgressLine::new(console, &format!("verifying {}", shown(path)));
        let verified = verify(input, &mut |progress| line.show(progress)).map_err(failed);
        let Err(refusal) = verified else {
            return Err(CommandError::Changed);
        };
        Some(refusal)
    } else {
        None
    };
    Ok(Found {
        layout,
        manifest,
        refusal,
    })
}

/// One of the two passes of [`describe_source`] over a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// As every reader reads it, up to the first broken rule.
    Verification,
    /// Over a damaged file only: what of it is sound.
    Survey,
}

/// The pass that a report of both is about, and how far that one is: a sound file needs only the first, and
/// is done when that is.
fn pass_of(both: Progress) -> (Pass, Progress) {
    let total_bytes = both.total_bytes / 2;
    let (pass, done_bytes) = if both.done_bytes == both.total_bytes {
        (Pass::Verification, total_bytes)
    } else if both.done_bytes <= total_bytes {
        (Pass::Verification, both.done_bytes)
    } else {
        (Pass::Survey, both.done_bytes - total_bytes)
    };
    let progress = Progress {
        done_bytes,
        total_bytes,
    };
    (pass, progress)
}

/// The manifest's JSON, if that part of the file is there and is JSON. Whether it is vouched for is the
/// layout's to say.
fn read_manifest(input: &mut InputFile, layout: &EnvelopeLayout) -> Option<Value> {
    let part = manifest_part(layout)?;
    let (offset, length) = (part.offset.get(), part.byte_length.get());
    let fits = offset.checked_add(length)? <= input.length() && length <= MAX_STREAMED_HEAD_BYTES;
    let mut text = vec![0; usize::try_from(length).ok().filter(|_| fits)?];
    input.read_exact_at(offset, &mut text).ok()?;
    parse_strict_json(&text).ok()
}

fn manifest_part(layout: &EnvelopeLayout) -> Option<&LayoutPart> {
    let mut parts = layout.parts.iter();
    parts.find(|part| part.kind == PartKind::Manifest)
}

/// The file as a whole, then a line a part, then how far it is sound.
fn layout_lines(path: &Path, layout: &EnvelopeLayout) -> Vec<String> {
    let file_bytes = layout.file_bytes.get();
    let version = match layout.version {
        Some(version) => format!("envelope version {version}"),
        None => "no envelope that can be read".to_owned(),
    };
    let length = readable_bytes(file_bytes);
    let mut lines = vec![
        format!("{}: {version}, {length}", shown(path)),
        String::new(),
        format!("{:>14} {:>14}  {:<32} state", "offset", "bytes", "part"),
    ];
    for part in &layout.parts {
        lines.push(format!(
            "{:>14} {:>14}  {:<32} {}",
            part.offset.get(),
            part.byte_length.get(),
            part_name(part),
            state(&part.state),
        ));
    }
    lines.push(String::new());
    lines.push(if layout.refusal.is_none() {
        "sound: every rule of the format holds".to_owned()
    } else {
        format!(
            "not sound; in its first {} of {} bytes nothing is known to be wrong",
            grouped(layout.sound_bytes.get()),
            grouped(file_bytes),
        )
    });
    lines
}

fn part_name(part: &LayoutPart) -> String {
    let kind = match part.kind {
        PartKind::Header => "header",
        PartKind::Manifest => "manifest",
        PartKind::Padding => "padding",
        PartKind::Table => "table",
        PartKind::Payload => "payload",
        PartKind::Footer => "footer",
        PartKind::Trailing => "trailing bytes",
    };
    match &part.name {
        Some(name) => format!("{kind} {name}"),
        None => kind.to_owned(),
    }
}

fn state(state: &PartState) -> String {
    match state {
        PartState::Verified => "verified".to_owned(),
        PartState::Unverified => "unverified: no digest vouches for it".to_owned(),
        PartState::Broken { message, .. } => format!("BROKEN: {message}"),
        PartState::NotReached => "not reached".to_owned(),
    }
}

fn manifest_lines(layout: &EnvelopeLayout, manifest: Option<&Manifest>) -> Vec<String> {
    let verified = manifest_part(layout).is_some_and(|part| part.state == PartState::Verified);
    match manifest {
        Some(manifest) => {
            let doubt = if verified { "" } else { " (not verified)" };
            let mut lines = vec![format!("manifest{doubt}")];
            lines.extend(summary(manifest));
            lines
        }
        None => vec!["manifest: cannot be read".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_file_is_done_at_the_end_of_the_first_pass() {
        let pass = |done_bytes| {
            let (pass, progress) = pass_of(Progress {
                done_bytes,
                total_bytes: 200,
            });
            assert_eq!(progress.total_bytes, 100);
            (pass, progress.done_bytes)
        };
        assert_eq!(pass(0), (Pass::Verification, 0));
        assert_eq!(pass(99), (Pass::Verification, 99));
        assert_eq!(pass(100), (Pass::Verification, 100));
        assert_eq!(pass(101), (Pass::Survey, 1));
        assert_eq!(pass(199), (Pass::Survey, 99));
        assert_eq!(pass(200), (Pass::Verification, 100));
    }
}
