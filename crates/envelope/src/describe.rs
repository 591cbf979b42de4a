//! [`describe`]: what a file holds, part by part, however damaged it is.

use serde::{Deserialize, Serialize};

use crate::byte_layout::{
    FOOTER_BYTES, FOOTER_MAGIC, HEADER_BYTES, bytes_at, digest_at, file_length,
};
use crate::decode::check_manifest;
use crate::manifest_rules::read_manifest;
use crate::reader::{
    Entry, Header, check_footer, check_footer_digest, check_no_gap, check_padding, check_payload,
    padding, read_entry, read_manifest_json,
};
use crate::{Digest, EnvelopeError, EnvelopeRule, EnvelopeVersion, Id, U64, decode, sort_few_by};

/// What [`describe`] found. Counters are [`U64`], so they are decimal strings in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct EnvelopeLayout {
    /// Length of the file in bytes.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub file_bytes: U64,
    /// The version, where the header could be read.
    #[cfg_attr(feature = "typescript", tsify(type = "1 | 2 | null"))]
    pub version: Option<EnvelopeVersion>,
    /// The parts in file order, padding included where there is any.
    pub parts: Vec<LayoutPart>,
    /// Why a reader refuses the file: exactly what [`decode`] answers; `None` where it accepts it.
    pub refusal: Option<LayoutRefusal>,
    /// How many bytes from the start belong to parts in which nothing is known to be wrong.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub sound_bytes: U64,
}

/// The rule a file breaks first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct LayoutRefusal {
    /// The rule.
    pub rule: EnvelopeRule,
    /// The rule in words, with offsets and values.
    pub message: String,
}

/// One part of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct LayoutPart {
    /// What it is.
    pub kind: PartKind,
    /// Its name, if it is a payload whose entry could be read.
    #[cfg_attr(feature = "typescript", tsify(type = "string | null"))]
    pub name: Option<Id>,
    /// Where it begins, in bytes.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub offset: U64,
    /// Its length in bytes, as the file claims it.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub byte_length: U64,
    /// The digest the file records for it: of a payload, or the footer's.
    #[cfg_attr(feature = "typescript", tsify(type = "string | null"))]
    pub digest: Option<Digest>,
    /// What is known of it.
    pub state: PartState,
}

/// The kinds of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub enum PartKind {
    /// The first 32 bytes.
    Header,
    /// The manifest's JSON.
    Manifest,
    /// Zero bytes up to a multiple of 8.
    Padding,
    /// The payload table.
    Table,
    /// One payload.
    Payload,
    /// The last 48 bytes.
    Footer,
    /// Bytes after the place where the footer should end.
    Trailing,
}

/// What is known of one part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub enum PartState {
    /// A digest vouches for its bytes, or they can have only one value.
    Verified,
    /// It obeys every rule of its own, and the digest that should vouch for it does not match or is
    /// missing: it may be what was written.
    Unverified,
    /// It breaks a rule.
    Broken {
        /// The rule.
        rule: EnvelopeRule,
        /// The rule in words, with offsets and values.
        message: String,
    },
    /// An earlier part is damaged so that this one was not read, or cannot be found.
    NotReached,
}

impl From<&EnvelopeError> for LayoutRefusal {
    fn from(error: &EnvelopeError) -> Self {
        Self {
            rule: error.rule(),
            message: error.to_string(),
        }
    }
}

impl From<EnvelopeError> for PartState {
    fn from(error: EnvelopeError) -> Self {
        let LayoutRefusal { rule, message } = LayoutRefusal::from(&error);
        Self::Broken { rule, message }
    }
}

/// Describes any bytes at all: it never fails, and its cost is that of [`decode`], twice over for a file
/// that is damaged.
///
/// Where a reader stops at the first broken rule, this goes on: the parts that do not depend on the
/// broken one are still judged, so that a person sees how much of a damaged file is whole.
#[must_use]
pub fn describe(bytes: &[u8]) -> EnvelopeLayout {
    let refusal = decode(bytes).err();
    let mut survey = Survey {
        bytes,
        parts: Vec::new(),
    };
    let version = survey.run();
    let Survey { mut parts, .. } = survey;
    sort_few_by(&mut parts, |left, right| {
        (left.offset, left.byte_length).cmp(&(right.offset, right.byte_length))
    });
    let sound_bytes = parts
        .iter()
        .take_while(|part| matches!(part.state, PartState::Verified | PartState::Unverified))
        .map(|part| part.offset.0 + part.byte_length.0)
        .max();
    EnvelopeLayout {
        file_bytes: U64(file_length(bytes.len())),
        version,
        parts,
        refusal: refusal.as_ref().map(LayoutRefusal::from),
        sound_bytes: U64(sound_bytes.unwrap_or(0)),
    }
}

/// A walk over a file that goes on after a broken rule.
struct Survey<'a> {
    bytes: &'a [u8],
    parts: Vec<LayoutPart>,
}

impl Survey<'_> {
    fn run(&mut self) -> Option<EnvelopeVersion> {
        let file_bytes = file_length(self.bytes.len());
        let header = match Header::read(self.bytes, file_bytes) {
            Ok(header) => header,
            Err(error) => {
                let length = file_bytes.min(HEADER_BYTES.into());
                self.add(PartKind::Header, 0, length, error.into());
                self.add_rest(length);
                return None;
            }
        };
        let entries = self.readable_entries(&header);
        let footer_offset = self.footer_offset(&header, &entries);
        let footer = footer_offset.map_or_else(
            || check_footer(self.bytes, &header, file_bytes - u64::from(FOOTER_BYTES)),
            |offset| check_footer(self.bytes, &header, offset),
        );
        let limit = footer_offset.unwrap_or(file_bytes);
        let vouched = footer_offset.is_some_and(|offset| self.digest_matches(&header, offset));
        let sound = if vouched {
            PartState::Verified
        } else {
            PartState::Unverified
        };

        self.add(PartKind::Header, 0, HEADER_BYTES.into(), sound.clone());
        let manifest = self.judge_manifest(&header, &entries, limit);
        let manifest = manifest.map_or_else(PartState::from, |()| sound.clone());
        let manifest_bytes = u64::from(header.manifest_bytes);
        self.add(
            PartKind::Manifest,
            HEADER_BYTES.into(),
            manifest_bytes,
            manifest,
        );
        self.judge_table(&header, &entries, limit, &sound);
        let parsed: Vec<Entry> = entries
            .iter()
            .map_while(|entry| entry.clone().ok())
            .collect();
        self.judge_payloads(&header, &parsed, limit);
        self.judge_padding(&header, &parsed, limit);
        self.judge_footer(&header, &parsed, footer_offset, footer);
        Some(header.version)
    }

    fn add(&mut self, kind: PartKind, offset: u64, byte_length: u64, state: PartState) {
        self.parts.push(LayoutPart {
            kind,
            name: None,
            offset: U64(offset),
            byte_length: U64(byte_length),
            digest: None,
            state,
        });
    }

    /// Whatever lies behind `offset`, unread.
    fn add_rest(&mut self, offset: u64) {
        let file_bytes = file_length(self.bytes.len());
        if offset < file_bytes {
            self.add(
                PartKind::Trailing,
                offset,
                file_bytes - offset,
                PartState::NotReached,
            );
        }
    }

    /// Entries up to and including the first that breaks a rule of its own. Whether a payload lies inside
    /// the file is judged with the payload, so that a truncated file still tells its layout.
    fn readable_entries(&self, header: &Header) -> Vec<Result<Entry, EnvelopeError>> {
        let mut good = Vec::new();
        let mut entries = Vec::new();
        if header.check_table(file_length(self.bytes.len())).is_err() {
            return entries;
        }
        for _ in 0..header.payload_count {
            let entry = read_entry(self.bytes, header, &good, u64::MAX);
            entries.push(entry.clone());
            match entry {
                Ok(entry) => good.push(entry),
                Err(_) => break,
            }
        }
        entries
    }

    /// Where the footer is: at the end of the file if its magic is there, else where the layout puts it
    /// if its magic is there.
    fn footer_offset(
        &self,
        header: &Header,
        entries: &[Result<Entry, EnvelopeError>],
    ) -> Option<u64> {
        let footer_bytes = u64::from(FOOTER_BYTES);
        let at_end = file_length(self.bytes.len()) - footer_bytes;
        let complete = file_length(entries.len()) == u64::from(header.payload_count);
        let laid_out = match entries.last() {
            Some(Ok(last)) if complete => Some(last.end()),
            None if complete && header.check_table(at_end).is_ok() => Some(header.table_end()),
            _ => None,
        };
        [Some(at_end), laid_out]
            .into_iter()
            .flatten()
            .find(|&offset| {
                bytes_at(self.bytes, offset, footer_bytes)
                    .is_some_and(|footer| footer.ends_with(&FOOTER_MAGIC))
            })
    }

    /// Whether the footer's digest matches, whatever length the footer records.
    fn digest_matches(&self, header: &Header, footer_offset: u64) -> bool {
        bytes_at(self.bytes, footer_offset, FOOTER_BYTES.into()).is_some_and(|footer| {
            let recorded = digest_at(footer, 8);
            check_footer_digest(self.bytes, header, footer_offset, recorded).is_ok()
        })
    }

    /// Rule 3, and rule 7 where the table could be read.
    fn judge_manifest(
        &self,
        header: &Header,
        entries: &[Result<Entry, EnvelopeError>],
        limit: u64,
    ) -> Result<(), EnvelopeError> {
        let value = read_manifest_json(self.bytes, header, limit)?;
        let manifest = read_manifest(value)?;
        let all: Option<Vec<Entry>> = entries.iter().map(|entry| entry.clone().ok()).collect();
        match all.filter(|all| file_length(all.len()) == u64::from(header.payload_count)) {
            Some(all) => check_manifest(&manifest, header, &all),
            None => Ok(()),
        }
    }

    fn judge_table(
        &mut self,
        header: &Header,
        entries: &[Result<Entry, EnvelopeError>],
        limit: u64,
        sound: &PartState,
    ) {
        let offset = header.laid_out_table_offset();
        let byte_length = header.table_end() - offset;
        let broken = header.check_table(limit).err();
        let state = broken
            .or_else(|| entries.iter().find_map(|entry| entry.clone().err()))
            .map_or_else(|| sound.clone(), PartState::from);
        self.add(PartKind::Table, offset, byte_length, state);
    }

    /// Each payload against its own entry: a digest that matches vouches for both.
    fn judge_payloads(&mut self, header: &Header, entries: &[Entry], limit: u64) {
        for entry in entries {
            let state = if entry.end() > limit {
                EnvelopeError::EntryBounds {
                    name: entry.name.clone(),
                    offset: entry.offset,
                    byte_length: entry.byte_length,
                    limit,
                }
                .into()
            } else {
                match check_payload(self.bytes, header, entry) {
                    Ok(_) => PartState::Verified,
                    Err(error) => error.into(),
                }
            };
            self.parts.push(LayoutPart {
                kind: PartKind::Payload,
                name: Some(entry.name.clone()),
                offset: U64(entry.offset),
                byte_length: U64(entry.byte_length),
                digest: Some(entry.digest),
                state,
            });
        }
        let unread = u64::from(header.payload_count) - file_length(entries.len());
        let offset = entries.last().map_or(header.table_end(), Entry::end);
        for _ in 0..unread {
            self.add(PartKind::Payload, offset, 0, PartState::NotReached);
        }
    }

    fn judge_padding(&mut self, header: &Header, entries: &[Entry], limit: u64) {
        for gap in padding(header, entries) {
            if gap.end > limit {
                continue;
            }
            let state = match check_padding(self.bytes, &gap) {
                Ok(()) => PartState::Verified,
                Err(error) => error.into(),
            };
            self.add(PartKind::Padding, gap.start, gap.end - gap.start, state);
        }
    }

    fn judge_footer(
        &mut self,
        header: &Header,
        entries: &[Entry],
        footer_offset: Option<u64>,
        judged: Result<(), EnvelopeError>,
    ) {
        let file_bytes = file_length(self.bytes.len());
        let footer_bytes = u64::from(FOOTER_BYTES);
        let complete = file_length(entries.len()) == u64::from(header.payload_count);
        let offset = footer_offset.unwrap_or_else(|| {
            let end = entries.last().map_or(header.table_end(), Entry::end);
            end.min(file_bytes)
        });
        let judged = judged.and_then(|()| {
            if complete {
                check_no_gap(header, entries, offset)
            } else {
                Ok(())
            }
        });
        let byte_length = footer_bytes.min(file_bytes - offset);
        let digest = footer_offset
            .and_then(|offset| bytes_at(self.bytes, offset, footer_bytes))
            .map(|footer| digest_at(footer, 8));
        self.parts.push(LayoutPart {
            kind: PartKind::Footer,
            name: None,
            offset: U64(offset),
            byte_length: U64(byte_length),
            digest,
            state: judged.map_or_else(PartState::from, |()| PartState::Verified),
        });
        self.add_rest(offset + byte_length);
    }
}
