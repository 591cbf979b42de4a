//! What the fuzzer's targets check, so that tests can replay what it found. An input is not a file but a recipe for
//! one: a flipped byte of a real file gets no further than the footer's digest, so a recipe says what is changed in an
//! envelope that is written here and now, and which digests are then made to fit.

use std::io::Cursor;

use serde_json::{Value, json};
use wellwritten_envelope::{
    DigestAlgorithm, EnvelopeError, EnvelopeVersion, EventWatermarks, Id, MAGIC, Manifest,
    PartState, StreamError, StrictJsonError, U64, UnknownFields, canonical_json, convert,
    copy_payload, decode, decode_header, describe, describe_source, encode, head_bytes,
    parse_strict_json, read_head, verify, write_from_sources, write_seekable,
};

use crate::sample_envelope::{Forgery, id, manifest, payloads, views};

/// Choices spelled out by an input, one or more bytes each; zeros when it is spent.
struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    fn number(&mut self) -> u64 {
        let mut word = [0; 8];
        let bytes = self.bytes(8);
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    }

    /// Below `limit`; zero where there is nothing below it.
    fn below(&mut self, limit: usize) -> usize {
        (usize::from(self.byte()) << 8 | usize::from(self.byte())) % limit.max(1)
    }

    fn bytes(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// A value at which something might go wrong, or any.
    fn tempting(&mut self) -> u64 {
        const TEMPTING: [u64; 10] = [
            0,
            1,
            7,
            8,
            65,
            1 << 31,
            (1 << 32) - 1,
            1 << 42,
            u64::MAX - 7,
            u64::MAX,
        ];
        let choice = usize::from(self.byte());
        TEMPTING
            .get(choice)
            .copied()
            .unwrap_or_else(|| self.number())
    }
}

/// The file a recipe makes.
pub fn cook(input: &[u8]) -> Vec<u8> {
    let mut choices = Choices(input);
    let how = choices.byte();
    if how & 1 != 0 {
        return choices.0.to_vec();
    }
    let version = match how & 2 {
        0 => EnvelopeVersion::Two,
        _ => EnvelopeVersion::One,
    };
    let mut forgery = Forgery::of(version);
    if how & 4 != 0 {
        let mut text = std::mem::take(&mut forgery.manifest);
        edit(&mut text, &mut choices);
        // Back first: a forgery's offsets move with its manifest.
        forgery = Forgery::of(version).remanifest(text);
        return forgery.write();
    }
    let mut file = forgery.write();
    edit(&mut file, &mut choices);
    if how & 8 == 0 {
        mend_payload_digests(&mut file, version);
    }
    if how & 16 == 0 {
        mend_footer(&mut file, version);
    }
    file
}

fn edit(bytes: &mut Vec<u8>, choices: &mut Choices<'_>) {
    while !choices.0.is_empty() {
        let operation = choices.byte() % 7;
        let at = choices.below(bytes.len() + 1);
        let left = bytes.len() - at;
        match operation {
            0 if left > 0 => bytes[at] = choices.byte(),
            1 if left > 0 => bytes[at] ^= 1 << (choices.byte() % 8),
            2 if left >= 8 => {
                bytes[at..at + 8].copy_from_slice(&choices.tempting().to_le_bytes());
            }
            3 if left >= 4 => {
                bytes[at..at + 4].copy_from_slice(&choices.tempting().to_le_bytes()[..4]);
            }
            4 => {
                let length = choices.below(left + 1);
                bytes.drain(at..at + length);
            }
            5 => {
                let length = usize::from(choices.byte() % 40);
                let inserted = choices.bytes(length).to_vec();
                bytes.splice(at..at, inserted);
            }
            _ => bytes.truncate(at),
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(word.try_into().ok()?))
}

fn table(bytes: &[u8]) -> Option<(usize, usize)> {
    let words = word(bytes, 16)?;
    let (manifest_bytes, count) = (words & 0xffff_ffff, words >> 32);
    let offset = (32 + manifest_bytes).next_multiple_of(8);
    Some((
        usize::try_from(offset).ok()?,
        usize::try_from(count.min(64)).ok()?,
    ))
}

fn mend_payload_digests(file: &mut [u8], version: EnvelopeVersion) -> Option<()> {
    let (offset, count) = table(file)?;
    for entry in (0..count).map(|index| offset + index * 112) {
        let start = usize::try_from(word(file, entry + 64)?).ok()?;
        let length = usize::try_from(word(file, entry + 72)?).ok()?;
        let digest = version
            .digest_algorithm()
            .digest(file.get(start..start.checked_add(length)?)?);
        file.get_mut(entry + 80..entry + 112)?
            .copy_from_slice(digest.as_bytes());
    }
    Some(())
}

fn mend_footer(file: &mut [u8], version: EnvelopeVersion) -> Option<()> {
    let footer = file.len().checked_sub(48)?;
    let length = file.len() as u64;
    let covered = match version {
        EnvelopeVersion::One => footer,
        EnvelopeVersion::Two => {
            let (offset, count) = table(file)?;
            (offset + count * 112).min(footer)
        }
    };
    let digest = version.digest_algorithm().digest(&file[..covered]);
    file[footer..footer + 8].copy_from_slice(&length.to_le_bytes());
    file[footer + 8..footer + 40].copy_from_slice(digest.as_bytes());
    file[footer + 40..].copy_from_slice(b"FLYSESSF");
    Some(())
}

/// Every reader on one file: they agree, and a file that is accepted has this one encoding.
pub fn check_decode(input: &[u8]) {
    let bytes = cook(input);
    let decoded = decode(&bytes);
    match (verify(&mut &bytes[..], &mut |_| {}), &decoded) {
        (Ok(head), Ok(envelope)) => assert_eq!(head.manifest, envelope.manifest),
        (Err(StreamError::Refused(ours)), Err(theirs)) => assert_eq!(&ours, theirs),
        (ours, theirs) => panic!("verify says {ours:?}, decode says {theirs:?}"),
    }
    let head = read_head(&mut &bytes[..]);
    for file_bytes in [bytes.len() as u64, 80, u64::MAX] {
        let _ = head_bytes(&bytes, file_bytes);
        let _ = decode_header(&bytes, file_bytes);
    }
    if let Ok(head) = &head {
        for entry in &head.entries {
            let mut sink = Vec::new();
            let _ = copy_payload(&mut &bytes[..], head.version, entry, &mut sink, &mut |_| {});
        }
    }
    let Ok(envelope) = decoded else { return };
    assert!(head.is_ok());
    let payloads: Vec<(Id, &[u8])> = envelope
        .payloads
        .iter()
        .map(|payload| (payload.name.clone(), payload.bytes))
        .collect();
    assert_eq!(encode(&envelope.manifest, &payloads).unwrap(), bytes);
}

/// A description of one file: it agrees with the reader, and with itself.
pub fn check_describe(input: &[u8]) {
    let bytes = cook(input);
    let layout = describe(&bytes);
    let streamed = describe_source(&mut &bytes[..], &mut |_| {});
    assert_eq!(streamed.unwrap(), layout);
    let refused = decode(&bytes)
        .map(drop)
        .map_err(|error: EnvelopeError| error.to_string());
    let said = layout
        .refusal
        .as_ref()
        .map(|refusal| refusal.message.clone());
    assert_eq!(said, refused.err());
    assert!(layout.sound_bytes <= layout.file_bytes, "{layout:?}");
    assert!(layout.parts.is_sorted_by_key(|part| part.offset));
    let broken = layout
        .parts
        .iter()
        .any(|part| matches!(part.state, PartState::Broken { .. }));
    assert_eq!(broken, layout.refusal.is_some(), "{layout:#?}");
    if layout.refusal.is_none() {
        let sound = layout
            .parts
            .iter()
            .all(|part| part.state == PartState::Verified);
        assert!(
            sound && layout.sound_bytes == layout.file_bytes,
            "{layout:#?}"
        );
    }
    if bytes.starts_with(&MAGIC) && layout.version.is_some() {
        assert!(layout.parts.len() > 1);
    }
}

/// A checkpoint of any shape: what comes back is what went in, whichever way it was written.
pub fn check_round_trip(input: &[u8]) {
    let mut choices = Choices(input);
    let version = match choices.byte() % 2 {
        0 => EnvelopeVersion::Two,
        _ => EnvelopeVersion::One,
    };
    let (manifest, payloads) = any_checkpoint(version, &mut choices);
    let bytes = encode(&manifest, &views(&payloads)).unwrap();
    let envelope = decode(&bytes).unwrap();
    let mut without_rows = envelope.manifest.clone();
    without_rows.payloads.clear();
    assert_eq!(without_rows, manifest);
    assert_eq!(envelope.payloads.len(), payloads.len());
    for (view, (name, content)) in envelope.payloads.iter().zip(&payloads) {
        assert_eq!((&view.name, view.bytes), (name, &content[..]));
    }
    assert_eq!(
        encode(&envelope.manifest, &views(&payloads)).unwrap(),
        bytes
    );

    let mut sources = views(&payloads);
    let mut sink = Vec::new();
    write_from_sources(&manifest, &mut sources, &mut sink, &mut |_| {}).unwrap();
    assert_eq!(sink, bytes);
    let mut sink = Cursor::new(Vec::new());
    write_seekable(&manifest, &mut sources, &mut sink, &mut |_| {}).unwrap();
    assert_eq!(sink.into_inner(), bytes);

    let other = EnvelopeVersion::try_from(3 - version.number()).unwrap();
    let mut there = Cursor::new(Vec::new());
    if convert(&mut &bytes[..], other, &mut there, &mut |_| {}).is_ok() {
        let there = there.into_inner();
        let mut back = Cursor::new(Vec::new());
        convert(&mut &there[..], version, &mut back, &mut |_| {}).unwrap();
        assert_eq!(back.into_inner(), bytes);
    } else {
        let plain = manifest.unknown.0.is_empty()
            && manifest.environment.unknown.0.is_empty()
            && manifest.digest_algorithm.is_none();
        assert!(!plain, "all else has a place in version 2");
    }
}

fn any_checkpoint(
    version: EnvelopeVersion,
    choices: &mut Choices<'_>,
) -> (Manifest, Vec<(Id, Vec<u8>)>) {
    let (mut manifest, mut payloads) = (manifest(version), payloads());
    let shape = choices.byte();
    for (_, content) in &mut payloads {
        let length = usize::from(choices.byte());
        *content = choices.bytes(length).to_vec();
    }
    for helper in 0..choices.byte() % 58 {
        let name = format!(
            "{helper:w<width$}",
            width = 2 + usize::from(choices.byte() % 63)
        );
        manifest.helper_state.push(id(&name));
        let length = usize::from(choices.byte() % 20);
        payloads.push((id(&name), choices.bytes(length).to_vec()));
    }
    let turn = choices.below(payloads.len());
    payloads.rotate_left(turn);
    manifest.source_scope.step = U64(choices.tempting());
    if let Some(agent) = manifest.agents.first_mut() {
        agent.brain_ticks = U64(choices.tempting());
        agent.seed = i32::from_le_bytes(choices.number().to_le_bytes()[..4].try_into().unwrap());
        let length = usize::from(choices.byte());
        agent.model_version = String::from_utf8_lossy(choices.bytes(length)).into_owned();
    }
    if shape & 1 != 0 {
        manifest.coordinator.event_watermarks = EventWatermarks::LastEvent {
            last_event_id: id("evt-1"),
            last_ordinal: U64(choices.tempting()),
            unknown: UnknownFields::none(),
        };
    }
    if shape & 2 != 0 {
        let admission = manifest.coordinator.admission_state.take();
        if shape & 16 != 0 {
            manifest.helper_state.extend(admission);
        } else {
            payloads.retain(|(name, _)| Some(name) != admission.as_ref());
        }
    }
    if version == EnvelopeVersion::One {
        if shape & 32 != 0 {
            manifest.digest_algorithm = Some(DigestAlgorithm::Sha256);
        }
        let value = parse_strict_json(choices.0).unwrap_or_else(|_| json!([shape]));
        if shape & 4 != 0 {
            manifest
                .unknown
                .0
                .insert("addedLater".to_owned(), value.clone());
        }
        if shape & 8 != 0 {
            let unknown = &mut manifest.environment.unknown;
            unknown.0.insert("\u{e9}".to_owned(), value);
        }
    }
    (manifest, payloads)
}

/// What a reader of files says of a manifest of this text, as far as its spelling goes.
#[derive(Debug, PartialEq)]
pub enum Spelling {
    Canonical,
    /// From this offset of the text on it is not what its value is written as.
    DiffersAt(usize),
    NotStrict(StrictJsonError),
}

/// The reader's own answer, out of a file that is nothing but a header and this manifest.
pub fn spelling(text: &[u8]) -> Spelling {
    let length = u32::try_from(text.len()).expect("a short text");
    let mut file = MAGIC.to_vec();
    for word in [2, 32, length, 0, (32 + length).next_multiple_of(8), 0] {
        file.extend_from_slice(&u32::to_le_bytes(word));
    }
    file.extend_from_slice(text);
    match decode_header(&file, 1 << 40) {
        Err(EnvelopeError::ManifestJson { offset, problem }) => {
            assert_eq!(offset, 32 + problem.offset() as u64);
            Spelling::NotStrict(problem)
        }
        Err(EnvelopeError::ManifestNotCanonical { offset }) => {
            Spelling::DiffersAt(usize::try_from(offset - 32).expect("inside the text"))
        }
        _ => Spelling::Canonical,
    }
}

/// The same in two passes: the value is read, written again, and compared byte by byte.
fn slow_spelling(text: &[u8]) -> Spelling {
    let value = match parse_strict_json(text) {
        Ok(value) => value,
        Err(problem) => return Spelling::NotStrict(problem),
    };
    let canonical = serde_json_canonicalizer::to_vec(&value).unwrap();
    if canonical == text {
        return Spelling::Canonical;
    }
    let shorter = canonical.len().min(text.len());
    let differs = (0..shorter).find(|&at| canonical[at] != text[at]);
    Spelling::DiffersAt(differs.unwrap_or(shorter))
}

/// Any text: what a strict reader takes, another reader takes too and means the same; its canonical form is its
/// own canonical form. A reader of files says of it what writing it again says.
pub fn check_canonical(input: &[u8]) {
    assert_eq!(spelling(input), slow_spelling(input));
    let Ok(value) = parse_strict_json(input) else {
        return;
    };
    let read: Result<Value, _> = serde_json::from_slice(input);
    assert!(read.is_ok(), "whatever is strict is JSON");
    let text = canonical_json(&value).unwrap();
    // Not of what the peer read: it rounds some doubles to a neighbour.
    let peer_text = serde_json_canonicalizer::to_vec(&value).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&text),
        String::from_utf8_lossy(&peer_text)
    );
    match parse_strict_json(&text) {
        Ok(again) => {
            assert_eq!(canonical_json(&again).unwrap(), text);
            assert_eq!(spelling(&text), Spelling::Canonical);
        }
        // ECMAScript spells doubles up to 1e21 as integers, and a strict reader takes those up to 2^53-1 only: such a
        // number has a canonical form and no place in a file.
        Err(error) => assert!(
            matches!(error, StrictJsonError::UnsafeInteger { .. }),
            "{error}"
        ),
    }
}
