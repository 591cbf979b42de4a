//! `wellwritten envelope inspect`: what a file holds, part by part, however damaged it is.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use wellwritten_envelope::{
    EnvelopeLayout, LayoutPart, MAX_STREAMED_HEAD_BYTES, Manifest, PartKind, PartState, ReadAt,
    describe_source, parse_strict_json, verify,
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
    let failed = |error| CommandError::from_stream(error, path);
    let layout = {
        let mut line = ProgressLine::new(console, &format!("inspecting {}", shown(path)));
        describe_source(&mut input, &mut |progress| line.show(progress)).map_err(failed)?
    };
    let manifest = read_manifest(&mut input, &layout);
    let typed = manifest.clone();
    let typed = typed.and_then(|value| serde_json::from_value::<Manifest>(value).ok());
    for line in layout_lines(path, &layout) {
        console.say(&line);
    }
    console.say("");
    for line in manifest_lines(&layout, typed.as_ref()) {
        console.say(&line);
    }
    let sound = layout.refusal.is_none();
    *report = Report {
        layout: Some(layout),
        manifest: typed.and(manifest),
    };
    if sound {
        return Ok(());
    }
    // The layout has the reason in words; this finds it again with its offset and both values.
    let mut line = ProgressLine::new(console, &format!("verifying {}", shown(path)));
    verify(&mut input, &mut |progress| line.show(progress)).map_err(failed)?;
    Err(CommandError::Changed)
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
