//! [`describe`]: what a file holds, part by part, however damaged it is.

use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use crate::byte_layout::{FOOTER_BYTES, FOOTER_MAGIC, HEADER_BYTES, digest_at};
use crate::decode::{Depth, check_manifest, read_envelope};
use crate::file_bytes::{FileBytes, Halt, InMemory};
use crate::manifest_rules::read_manifest;
use crate::reader::{
    Header, check_footer_digest, check_no_gap, check_padding, check_payload, padding, read_entry,
    read_footer, read_manifest_json,
};
use crate::{
    Digest, EnvelopeError, EnvelopeRule, EnvelopeVersion, Id, PayloadEntry, U64, sort_few_by,
};

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

impl From<&EnvelopeError> for PartState {
    fn from(error: &EnvelopeError) -> Self {
        let LayoutRefusal { rule, message } = LayoutRefusal::from(error);
        Self::Broken { rule, message }
    }
}

impl From<EnvelopeError> for PartState {
    fn from(error: EnvelopeError) -> Self {
        Self::from(&error)
    }
}

/// Describes any bytes at all: it never fails, and its cost is that of [`crate::decode`], twice over for a file
/// that is damaged.
///
/// Where a reader stops at the first broken rule, this goes on: the parts that do not depend on the
/// broken one are still judged, so that a person sees how much of a damaged file is whole.
#[must_use]
pub fn describe(bytes: &[u8]) -> EnvelopeLayout {
    let described: Result<_, Halt<Infallible>> = describe_file(&mut InMemory(bytes));
    match described {
        Ok(layout) => layout,
        Err(_) => unreachable!("bytes in memory can be read, and a survey judges what is refused"),
    }
}

/// [`describe`] for any file.
pub(crate) fn describe_file<F: FileBytes>(file: &mut F) -> Result<EnvelopeLayout, Halt<F::Fault>> {
    let refusal = Halt::judged(read_envelope(file, Depth::Whole))?.err();
    let file_bytes = file.length();
    let mut survey = Survey {
        file,
        file_bytes,
        intact: refusal.is_none(),
        parts: Vec::new(),
    };
    let version = survey.run()?;
    let mut parts = survey.parts;
    sort_few_by(&mut parts, |left, right| {
        (left.offset, left.byte_length).cmp(&(right.offset, right.byte_length))
    });
    let sound_bytes = parts
        .iter()
        .take_while(|part| matches!(part.state, PartState::Verified | PartState::Unverified))
        .map(|part| part.offset.0 + part.byte_length.0)
        .max();
    Ok(EnvelopeLayout {
        file_bytes: U64(file_bytes),
        version,
        parts,
        refusal: refusal.as_ref().map(LayoutRefusal::from),
        sound_bytes: U64(sound_bytes.unwrap_or(0)),
    })
}

/// A walk over a file that goes on after a broken rule.
struct Survey<'a, F> {
    file: &'a mut F,
    file_bytes: u64,
    /// A reader accepted the file: every digest was found to match already.
    intact: bool,
    parts: Vec<LayoutPart>,
}

/// Entries up to the first that breaks a rule of its own, and that rule.
#[derive(Default)]
struct Entries {
    readable: Vec<PayloadEntry>,
    broken: Option<EnvelopeError>,
}

impl Entries {
    /// All that the header says there are.
    fn complete(&self, header: &Header) -> Option<&[PayloadEntry]> {
        let complete =
            self.broken.is_none() && self.readable.len() == header.payload_count as usize;
        complete.then_some(&self.readable)
    }
}

impl<F: FileBytes> Survey<'_, F> {
    fn run(&mut self) -> Result<Option<EnvelopeVersion>, Halt<F::Fault>> {
        let file_bytes = self.file_bytes;
        let prefix = self.file.prefix(HEADER_BYTES.into())?;
        let header = match Header::read(prefix, file_bytes) {
            Ok(header) => header,
            Err(error) => {
                let length = file_bytes.min(HEADER_BYTES.into());
                self.add(PartKind::Header, 0, length, error.into());
                self.add_rest(length);
                return Ok(None);
            }
        };
        let entries = self.readable_entries(&header)?;
        let footer_offset = self.footer_offset(&header, &entries)?;
        let limit = footer_offset.unwrap_or(file_bytes);
        let vouched = match footer_offset {
            Some(offset) => self.judge_digest(&header, offset)?,
            None => None,
        };
        let sound = match vouched {
            Some(Ok(())) => PartState::Verified,
            _ => PartState::Unverified,
        };
        let footer = self.judge_footer_words(footer_offset, vouched)?;

        self.add(PartKind::Header, 0, HEADER_BYTES.into(), sound.clone());
        let manifest = self.judge_manifest(&header, &entries, limit)?;
        let manifest = manifest.map_or_else(PartState::from, |()| sound.clone());
        let manifest_bytes = u64::from(header.manifest_bytes);
        self.add(
            PartKind::Manifest,
            HEADER_BYTES.into(),
            manifest_bytes,
            manifest,
        );
        self.judge_table(&header, &entries, limit, &sound);
        let readable = &entries.readable;
        self.judge_payloads(&header, readable, limit)?;
        self.judge_padding(&header, readable, limit)?;
        self.judge_footer(&header, readable, footer_offset, footer)?;
        Ok(Some(header.version))
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
        if offset < self.file_bytes {
            self.add(
                PartKind::Trailing,
                offset,
                self.file_bytes - offset,
                PartState::NotReached,
            );
        }
    }

    /// Whether a payload lies inside the file is judged with the payload, so that a truncated file still tells its
    /// layout.
    fn readable_entries(&mut self, header: &Header) -> Result<Entries, Halt<F::Fault>> {
        let mut entries = Entries::default();
        let length = header.check_manifest_bounds(self.file_bytes);
        if length
            .and_then(|()| header.check_table(self.file_bytes))
            .is_err()
        {
            return Ok(entries);
        }
        let prefix = self.file.prefix(header.table_end())?;
        for _ in 0..header.payload_count {
            match read_entry(prefix, header, &entries.readable, u64::MAX) {
                Ok(entry) => entries.readable.push(entry),
                Err(error) => {
                    entries.broken = Some(error);
                    break;
                }
            }
        }
        Ok(entries)
    }

    /// Where the footer is: at the end of the file if its magic is there, else where the layout puts it
    /// if its magic is there.
    fn footer_offset(
        &mut self,
        header: &Header,
        entries: &Entries,
    ) -> Result<Option<u64>, Halt<F::Fault>> {
        let at_end = self.file_bytes - u64::from(FOOTER_BYTES);
        let laid_out = match entries.complete(header) {
            Some([.., last]) => Some(last.end()),
            Some([]) if header.check_table(at_end).is_ok() => Some(header.table_end()),
            _ => None,
        };
        for offset in [Some(at_end), laid_out].into_iter().flatten() {
            let footer = self.footer_at(offset)?;
            if footer.is_some_and(|footer| footer.ends_with(&FOOTER_MAGIC)) {
                return Ok(Some(offset));
            }
        }
        Ok(None)
    }

    fn footer_at(
        &mut self,
        offset: u64,
    ) -> Result<Option<[u8; FOOTER_BYTES as usize]>, Halt<F::Fault>> {
        self.file.array(offset)
    }

    /// Whether the footer's digest matches, whatever length the footer records.
    fn judge_digest(
        &mut self,
        header: &Header,
        offset: u64,
    ) -> Result<Option<Result<(), EnvelopeError>>, Halt<F::Fault>> {
        if self.intact {
            return Ok(Some(Ok(())));
        }
        let Some(footer) = self.footer_at(offset)? else {
            return Ok(None);
        };
        let recorded = digest_at(&footer, 8);
        let judged = check_footer_digest(self.file, header, offset, recorded);
        Ok(Some(Halt::judged(judged)?))
    }

    /// Rule 2, given what is known of the digest.
    fn judge_footer_words(
        &mut self,
        footer_offset: Option<u64>,
        digest: Option<Result<(), EnvelopeError>>,
    ) -> Result<Result<(), EnvelopeError>, Halt<F::Fault>> {
        let offset = footer_offset.unwrap_or(self.file_bytes - u64::from(FOOTER_BYTES));
        let words = Halt::judged(read_footer(self.file, offset))?;
        Ok(words.and_then(|_| digest.unwrap_or(Ok(()))))
    }

    /// Rule 3, and rule 7 where the table could be read.
    fn judge_manifest(
        &mut self,
        header: &Header,
        entries: &Entries,
        limit: u64,
    ) -> Result<Result<(), EnvelopeError>, Halt<F::Fault>> {
        if self.intact {
            return Ok(Ok(()));
        }
        if let Err(error) = header.check_manifest_bounds(limit) {
            return Ok(Err(error));
        }
        let prefix = self.file.prefix(header.manifest_end())?;
        let read = read_manifest_json(prefix, header, limit).and_then(read_manifest);
        Ok(read.and_then(|manifest| match entries.complete(header) {
            Some(all) => check_manifest(&manifest, header, all),
            None => Ok(()),
        }))
    }

    fn judge_table(&mut self, header: &Header, entries: &Entries, limit: u64, sound: &PartState) {
        let offset = header.laid_out_table_offset();
        let byte_length = header.table_end() - offset;
        let table = header.check_table(limit).err();
        let broken = table.as_ref().or(entries.broken.as_ref());
        let state = match broken {
            Some(error) => error.into(),
            None if entries.complete(header).is_none() => PartState::NotReached,
            None => sound.clone(),
        };
        self.add(PartKind::Table, offset, byte_length, state);
    }

    /// Each payload against its own entry: a digest that matches vouches for both.
    fn judge_payloads(
        &mut self,
        header: &Header,
        entries: &[PayloadEntry],
        limit: u64,
    ) -> Result<(), Halt<F::Fault>> {
        for entry in entries {
            let judged = if entry.end() > limit {
                Err(EnvelopeError::EntryBounds {
                    name: entry.name.clone(),
                    offset: entry.offset,
                    byte_length: entry.byte_length,
                    limit,
                })
            } else if self.intact {
                Ok(())
            } else {
                Halt::judged(check_payload(self.file, header, entry))?
            };
            self.parts.push(LayoutPart {
                kind: PartKind::Payload,
                name: Some(entry.name.clone()),
                offset: U64(entry.offset),
                byte_length: U64(entry.byte_length),
                digest: Some(entry.digest),
                state: judged.map_or_else(PartState::from, |()| PartState::Verified),
            });
        }
        let offset = entries.last().map_or(header.table_end(), PayloadEntry::end);
        for _ in entries.len()..header.payload_count as usize {
            self.add(PartKind::Payload, offset, 0, PartState::NotReached);
        }
        Ok(())
    }

    fn judge_padding(
        &mut self,
        header: &Header,
        entries: &[PayloadEntry],
        limit: u64,
    ) -> Result<(), Halt<F::Fault>> {
        for gap in padding(header, entries) {
            if gap.end > limit {
                continue;
            }
            let judged = Halt::judged(check_padding(self.file, &gap))?;
            let state = judged.map_or_else(PartState::from, |()| PartState::Verified);
            self.add(PartKind::Padding, gap.start, gap.end - gap.start, state);
        }
        Ok(())
    }

    fn judge_footer(
        &mut self,
        header: &Header,
        entries: &[PayloadEntry],
        footer_offset: Option<u64>,
        judged: Result<(), EnvelopeError>,
    ) -> Result<(), Halt<F::Fault>> {
        let complete = entries.len() == header.payload_count as usize;
        let offset = footer_offset.unwrap_or_else(|| {
            let end = entries.last().map_or(header.table_end(), PayloadEntry::end);
            end.min(self.file_bytes)
        });
        let judged = judged.and_then(|()| {
            if complete {
                check_no_gap(header, entries, offset)
            } else {
                Ok(())
            }
        });
        let byte_length = u64::from(FOOTER_BYTES).min(self.file_bytes - offset);
        let digest = match footer_offset {
            Some(offset) => self.footer_at(offset)?,
            None => None,
        };
        self.parts.push(LayoutPart {
            kind: PartKind::Footer,
            name: None,
            offset: U64(offset),
            byte_length: U64(byte_length),
            digest: digest.map(|footer| digest_at(&footer, 8)),
            state: judged.map_or_else(PartState::from, |()| PartState::Verified),
        });
        self.add_rest(offset + byte_length);
        Ok(())
    }
}
