//! `wellwritten store ls`: what a store holds.

use std::path::Path;

use futures::executor::block_on;
use serde::Serialize;
use wellwritten_envelope::{Id, U64};
use wellwritten_native::FileMedium;
use wellwritten_store::{GenerationList, ListedGeneration, StoreMedium as _, file_name};

use super::{finish, look_at};
use crate::arguments::ListArguments;
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::file_name::shown;
use crate::readable_bytes::{readable_bytes, short_bytes};
use crate::store_command_error::StoreCommandError;

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// Oldest first.
    generations: Vec<Listed>,
    resumed_from: Option<Id>,
    /// Kept aside: they were there when the store had no list of its generations.
    unlisted: Vec<Id>,
    /// Whether there is a list; without one, and without generations, the folder holds no store yet.
    manifest_found: bool,
    used_bytes: U64,
    /// What the file system would let the store have in all, where it says.
    quota_bytes: Option<U64>,
}

/// One generation, in one object.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    checkpoint_id: Id,
    session_id: Id,
    epoch: Id,
    episode_id: Id,
    boundary: U64,
    byte_length: U64,
    envelope_digest: String,
    compatibility_digest: String,
    is_latest: bool,
    pinned: bool,
    abandoned: bool,
}

pub fn run(arguments: &ListArguments, console: &mut Console) -> ExitStatus {
    let folder = &arguments.dir;
    let mut report = Report::default();
    let error = list(folder, &mut report).err();
    if error.is_none() {
        tell(folder, &report, console);
    }
    finish(
        console,
        "store ls",
        folder,
        (&report, ExitStatus::Sound),
        error.as_ref(),
    )
}

fn list(folder: &Path, report: &mut Report) -> Result<(), StoreCommandError> {
    let reader = look_at(folder)?;
    let GenerationList {
        generations,
        resumed_from,
        mut unlisted,
    } = reader.generation_list();
    let files =
        block_on(FileMedium::open(folder)?.list()).map_err(wellwritten_store::StoreError::from)?;
    report.manifest_found = files.iter().any(|file| file.name == file_name::MANIFEST);
    if !report.manifest_found {
        // A list that was there would know which of them are more than leftovers; now all of them may be.
        unlisted = files
            .iter()
            .filter_map(|file| file_name::checkpoint_id_of(&file.name))
            .collect();
        unlisted.sort();
    }
    let usage = block_on(reader.usage()).map_err(wellwritten_store::StoreError::from)?;
    report.generations = generations.into_iter().map(Listed::from).collect();
    report.resumed_from = resumed_from;
    report.unlisted = unlisted;
    report.used_bytes = U64(usage.used_bytes);
    report.quota_bytes = usage.quota_bytes.map(U64);
    Ok(())
}

impl From<ListedGeneration> for Listed {
    fn from(listed: ListedGeneration) -> Self {
        let ListedGeneration {
            info,
            pinned,
            abandoned,
            is_latest,
        } = listed;
        Self {
            checkpoint_id: info.checkpoint_id,
            session_id: info.session_id,
            epoch: info.epoch,
            episode_id: info.episode_id,
            boundary: info.boundary,
            byte_length: info.byte_length,
            envelope_digest: info.envelope_digest.to_string(),
            compatibility_digest: info.compatibility_digest.to_string(),
            is_latest,
            pinned,
            abandoned,
        }
    }
}

/// The answer for a person: a table, oldest first, so that the newest stands where a terminal's eye is.
fn tell(folder: &Path, report: &Report, console: &mut Console) {
    let mut rows = vec![
        [
            "CHECKPOINT",
            "SESSION",
            "EPISODE",
            "EPOCH",
            "BOUNDARY",
            "LENGTH",
            "",
        ]
        .map(str::to_owned),
    ];
    rows.extend(report.generations.iter().map(row));
    if rows.len() == 1 {
        console.say("no generations");
    } else {
        for line in aligned(&rows) {
            console.say(&line);
        }
    }
    let room = report.quota_bytes.map_or_else(String::new, |quota| {
        let left = quota.get().saturating_sub(report.used_bytes.get());
        format!(
            ", room for {}",
            short_bytes(left).unwrap_or_else(|| format!("{left} bytes"))
        )
    });
    console.say(&format!(
        "{} in use{room}",
        readable_bytes(report.used_bytes.get())
    ));
    if report.unlisted.is_empty() {
        return;
    }
    let ids: Vec<_> = report.unlisted.iter().map(Id::as_str).collect();
    let why = if report.manifest_found {
        "were there when the store had no list of its generations, and are kept aside"
    } else {
        "are here, and no list of them (manifest.json): put back a copy of it"
    };
    console.complain(&format!("{}: {} {why}", shown(folder), ids.join(", ")));
}

fn row(listed: &Listed) -> [String; 7] {
    let marks = [
        (listed.is_latest, "latest"),
        (listed.pinned, "pinned"),
        (listed.abandoned, "abandoned"),
    ];
    let marks: Vec<_> = marks
        .into_iter()
        .filter_map(|(is, mark)| is.then_some(mark))
        .collect();
    let length = listed.byte_length.get();
    [
        listed.checkpoint_id.to_string(),
        listed.session_id.to_string(),
        listed.episode_id.to_string(),
        listed.epoch.to_string(),
        listed.boundary.to_string(),
        short_bytes(length).unwrap_or_else(|| format!("{length} bytes")),
        marks.join(", "),
    ]
}

/// The rows with their columns one below the other. Every cell is ASCII: ids, numbers and words.
fn aligned(rows: &[[String; 7]]) -> Vec<String> {
    let widths: [usize; 7] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    let line = |row: &[String; 7]| {
        let cells = row.iter().zip(widths);
        let padded: Vec<_> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
