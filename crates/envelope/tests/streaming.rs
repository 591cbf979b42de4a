//! Oracle: whatever reads or writes through a source or a sink gives exactly what reading and writing in memory gives,
//! for sound files, for every damage, and for forged tables.

mod sample_envelope;

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};

use sample_envelope::{BOTH, Forgery, encoded, id, manifest, payloads, views};
use serde_json::json;
use wellwritten_envelope::{
    ConvertError, DigestAlgorithm, EncodeError, EnvelopeError, EnvelopeRule, EnvelopeVersion,
    EventWatermarks, Id, Manifest, Progress, ReadAt, SeekSource, StreamError, U64, UnknownFields,
    convert, copy_payload, decode, describe, describe_source, encode, read_head, read_payload,
    verify, write_from_sources, write_seekable,
};

/// Whether two readers agree on a file: both accept it, or both refuse it with the very same error.
fn agree<A, B>(ours: &Result<A, StreamError>, oracle: &Result<B, EnvelopeError>) -> bool {
    match (ours, oracle) {
        (Ok(_), Ok(_)) => true,
        (Err(StreamError::Refused(ours)), Err(oracle)) => ours == oracle,
        _ => false,
    }
}

/// Both readers on one file; answers what the oracle says.
#[track_caller]
fn compare(bytes: &[u8]) -> Result<(), EnvelopeError> {
    let oracle = decode(bytes);
    let streamed = verify(&mut { bytes }, &mut |_| {});
    assert!(agree(&streamed, &oracle), "{streamed:?}\n{oracle:?}");
    if let (Ok(head), Ok(envelope)) = (&streamed, &oracle) {
        assert_eq!(head.manifest, envelope.manifest);
        assert_eq!(head.version, envelope.version);
        assert_eq!(head.entries.len(), envelope.payloads.len());
        for (entry, view) in head.entries.iter().zip(&envelope.payloads) {
            assert_eq!((&entry.name, entry.offset), (&view.name, view.offset));
            assert_eq!(entry.byte_length, view.bytes.len() as u64);
            assert_eq!(entry.digest, view.digest);
        }
    }
    // The head's rules are the same but for the digests it does not make.
    let head = read_head(&mut { bytes });
    let is_left_out = oracle.as_ref().is_err_and(|error| {
        let left_out = [EnvelopeRule::PayloadDigest, EnvelopeRule::FooterDigest];
        left_out.contains(&error.rule())
    });
    assert!(is_left_out || agree(&head, &oracle), "{head:?}\n{oracle:?}");
    oracle.map(drop)
}

/// Both descriptions of one file.
#[track_caller]
fn compare_descriptions(bytes: &[u8]) {
    let mut source = SeekSource::new(Cursor::new(bytes)).unwrap();
    let described = describe_source(&mut source, &mut |_| {});
    assert_eq!(described.unwrap(), describe(bytes));
}

#[test]
fn canary_readers_that_disagree_are_noticed() {
    let good = encoded(EnvelopeVersion::Two);
    let mut other = good.clone();
    other[0] ^= 1;
    let (accepted, refused) = (decode(&good), decode(&other));
    let ours = verify(&mut &good[..], &mut |_| {});
    assert!(agree(&ours, &accepted));
    assert!(!agree(&ours, &refused));
    let ours = verify(&mut &other[..], &mut |_| {});
    assert!(agree(&ours, &refused));
    assert!(!agree(&ours, &accepted));
    other[0] ^= 3;
    assert!(!agree(&ours, &decode(&other)), "another value, same rule");
}

#[test]
fn every_damage_is_refused_alike() {
    for version in BOTH {
        let intact = encoded(version);
        assert!(compare(&intact).is_ok());
        compare_descriptions(&intact);
        for length in (0..intact.len()).step_by(7) {
            assert!(compare(&intact[..length]).is_err());
            compare_descriptions(&intact[..length]);
        }
        let mut bytes = intact.clone();
        for at in 0..bytes.len() {
            bytes[at] ^= 1 << (at % 8);
            assert!(compare(&bytes).is_err(), "byte {at}");
            if at % 5 == 0 {
                compare_descriptions(&bytes);
            }
            bytes[at] ^= 1 << (at % 8);
        }
        for extra in [1, 8, 48, 100_000] {
            bytes.resize(intact.len() + extra, 0);
            assert!(compare(&bytes).is_err());
        }
    }
}

#[test]
fn every_forgery_is_refused_alike() {
    for version in BOTH {
        let good = Forgery::of(version);
        let forge = |change: &dyn Fn(&mut Forgery)| {
            let mut forgery = good.clone();
            change(&mut forgery);
            forgery.write()
        };
        let mut refused = Vec::new();
        let mut check = |bytes: &[u8]| {
            compare_descriptions(bytes);
            refused.push(compare(bytes).unwrap_err().rule());
        };
        check(&forge(&|file| file.version = 3));
        check(&forge(&|file| file.payload_count = Some(65)));
        check(&forge(&|file| file.manifest_bytes = Some(u32::MAX)));
        check(&forge(&|file| file.table_offset = Some(u32::MAX)));
        check(&forge(&|file| file.entries[0].name = b"agent-a".to_vec()));
        check(&forge(&|file| file.entries[0].name = b"W".to_vec()));
        check(&forge(&|file| file.entries[0].name = b"a\0b".to_vec()));
        check(&forge(&|file| file.entries[1].offset -= 8));
        for length in [1 << 40, u64::MAX] {
            check(&forge(&|file| file.entries[1].byte_length = length));
            check(&forge(&|file| file.entries[1].offset = length));
        }
        check(&forge(&|file| file.area[0] ^= 1));
        check(&forge(&|file| file.area[9] = 1));
        check(&forge(&|file| file.area.resize(file.area.len() + 8, 0)));
        for (field, value) in [
            ("episodeId", json!(null)),
            ("payloads", json!([])),
            ("helperState", json!(["nobody"])),
            ("helperState", json!(["world"])),
            ("envelopeVersion", json!(3 - version.number())),
        ] {
            check(
                &good
                    .clone()
                    .edit(|manifest| manifest[field] = value)
                    .write(),
            );
        }
        check(&good.clone().remanifest(b"{} ".to_vec()).write());
        check(&good.clone().remanifest(b"{".to_vec()).write());
        refused.sort();
        refused.dedup();
        assert!(refused.len() >= 16, "only {refused:?}");
    }
}

/// A manifest and payloads of which one is longer than two chunks.
fn large(version: EnvelopeVersion) -> (Manifest, Vec<(Id, Vec<u8>)>) {
    let mut payloads = payloads();
    payloads[0].1 = (0..150_001_u32).map(|at| (at % 251) as u8).collect();
    (manifest(version), payloads)
}

fn sources(payloads: &[(Id, Vec<u8>)]) -> Vec<(Id, CountedSource<'_>)> {
    payloads
        .iter()
        .map(|(name, bytes)| (name.clone(), CountedSource { bytes, read: 0 }))
        .collect()
}

/// Counts how many bytes were read from it.
struct CountedSource<'a> {
    bytes: &'a [u8],
    read: u64,
}

impl ReadAt for CountedSource<'_> {
    fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_exact_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        assert!(buffer.len() <= 64 * 1024, "a chunk at most");
        self.read += buffer.len() as u64;
        self.bytes.read_exact_at(offset, buffer)
    }
}

#[test]
fn writing_from_sources_gives_the_same_bytes() {
    for version in BOTH {
        let (blank, payloads) = large(version);
        let expected = encode(&blank, &views(&payloads)).unwrap();
        let stated = decode(&expected).unwrap().manifest;
        let total: u64 = payloads.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        for (manifest, seekable, passes) in [
            (&blank, false, 2),
            (&stated, false, 1),
            (
                &blank,
                true,
                if version == EnvelopeVersion::Two {
                    1
                } else {
                    2
                },
            ),
            (&stated, true, 1),
        ] {
            let mut sources = sources(&payloads);
            let mut seen = Vec::new();
            let mut progress = |report: Progress| seen.push(report);
            let (length, written) = if seekable {
                // Written behind what is there already.
                let mut sink = Cursor::new(b"before".to_vec());
                sink.seek(SeekFrom::End(0)).unwrap();
                let length =
                    write_seekable(manifest, &mut sources, &mut sink, &mut progress).unwrap();
                assert_eq!(sink.position(), 6 + length, "left at the end");
                (length, sink.into_inner().split_off(6))
            } else {
                let mut sink = Vec::new();
                let length =
                    write_from_sources(manifest, &mut sources, &mut sink, &mut progress).unwrap();
                (length, sink)
            };
            assert!(written == expected, "version {version}, {seekable}");
            assert_eq!(length, expected.len() as u64);
            let read: u64 = sources.iter().map(|(_, source)| source.read).sum();
            assert_eq!(read, passes * total, "version {version}, {seekable}");
            assert!(seen.is_sorted_by_key(|report| report.done_bytes));
            let last = seen.last().unwrap();
            assert_eq!(last.done_bytes, last.total_bytes);
        }
    }
}

/// A sink that has room for so many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that cannot be read from some place on.
struct BadSector<'a>(&'a [u8], u64);

impl ReadAt for BadSector<'_> {
    fn length(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if offset + buffer.len() as u64 > self.1 && offset < self.1 + 8 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.0.read_exact_at(offset, buffer)
    }
}

#[test]
fn what_fails_is_named() {
    let (blank, payloads) = large(EnvelopeVersion::Two);
    let file = encode(&blank, &views(&payloads)).unwrap();
    let error = write_from_sources(
        &blank,
        &mut sources(&payloads),
        &mut Full(90_000),
        &mut |_| {},
    );
    assert!(matches!(error, Err(EncodeError::Sink(_))));

    let mut bad: Vec<(Id, BadSector<'_>)> = payloads
        .iter()
        .map(|(name, bytes)| (name.clone(), BadSector(bytes, 100_000)))
        .collect();
    let error = write_seekable(&blank, &mut bad, &mut Cursor::new(Vec::new()), &mut |_| {});
    assert!(matches!(error, Err(EncodeError::Source { name, .. }) if name == id("world")));

    // Stated digests are compared with what is read.
    let stated = decode(&file).unwrap().manifest;
    let mut changed = payloads.clone();
    changed[0].1[70_000] ^= 1;
    let mut sink = Cursor::new(Vec::new());
    for error in [
        write_from_sources(
            &stated,
            &mut sources(&changed),
            &mut io::sink(),
            &mut |_| {},
        ),
        write_seekable(&stated, &mut sources(&changed), &mut sink, &mut |_| {}),
    ] {
        assert!(
            matches!(error, Err(EncodeError::PayloadChanged { name, .. }) if name == id("world"))
        );
    }
    assert!(decode(sink.get_ref()).is_err(), "half a file is no file");
    let mut fewer = stated.clone();
    fewer.payloads.pop();
    let mut unread = sources(&payloads);
    let error = write_from_sources(&fewer, &mut unread, &mut io::sink(), &mut |_| {});
    assert!(matches!(
        error,
        Err(EncodeError::Manifest(EnvelopeError::RowCount { .. }))
    ));
    assert!(unread.iter().all(|(_, source)| source.read == 0));

    let head = read_head(&mut &file[..]).unwrap();
    let world = head.entry(&id("world")).unwrap();
    let mut bad = BadSector(&file, world.offset + 100);
    assert!(matches!(
        verify(&mut bad, &mut |_| {}),
        Err(StreamError::Source(_))
    ));
    assert!(matches!(
        describe_source(&mut bad, &mut |_| {}),
        Err(StreamError::Source(_))
    ));
    let error = copy_payload(
        &mut &file[..],
        head.version,
        world,
        &mut Full(70_000),
        &mut |_| {},
    );
    assert!(matches!(error, Err(StreamError::Sink(_))));
}

#[test]
fn one_payload_is_verified_and_no_other_read() {
    for version in BOTH {
        let (blank, payloads) = large(version);
        let intact = encode(&blank, &views(&payloads)).unwrap();
        let mut bytes = intact.clone();
        let head = read_head(&mut &bytes[..]).unwrap();
        for (entry, (name, content)) in head.entries.iter().zip(&payloads) {
            // Every other payload is damaged.
            for other in head
                .entries
                .iter()
                .filter(|other| other.name != *name && other.byte_length > 0)
            {
                bytes[usize::try_from(other.offset).unwrap()] ^= 1;
            }
            assert_eq!(
                head,
                read_head(&mut &bytes[..]).unwrap(),
                "and the head does not care"
            );
            let mut source = CountedSource {
                bytes: &bytes,
                read: 0,
            };
            let mut sink = Vec::new();
            copy_payload(&mut source, head.version, entry, &mut sink, &mut |_| {}).unwrap();
            assert_eq!(&sink, content);
            assert_eq!(source.read, entry.byte_length);
            assert_eq!(
                &read_payload(&mut source, head.version, entry).unwrap(),
                content
            );

            bytes.copy_from_slice(&intact);
            if entry.byte_length > 0 {
                bytes[usize::try_from(entry.offset + entry.byte_length - 1).unwrap()] ^= 1;
                let error = read_payload(&mut &bytes[..], head.version, entry);
                assert!(matches!(
                    error,
                    Err(StreamError::Refused(EnvelopeError::PayloadDigest { .. }))
                ));
                bytes.copy_from_slice(&intact);
            }
        }
        let mut forged = head.entries[0].clone();
        for (offset, byte_length) in [(u64::MAX, 1), (0, u64::MAX), (intact.len() as u64, 1)] {
            (forged.offset, forged.byte_length) = (offset, byte_length);
            let error = read_payload(&mut &intact[..], version, &forged);
            assert!(matches!(
                error,
                Err(StreamError::Refused(EnvelopeError::EntryBounds { .. }))
            ));
        }
    }
}

fn converted(bytes: &[u8], to: EnvelopeVersion) -> Result<Vec<u8>, ConvertError> {
    let mut sink = Cursor::new(Vec::new());
    let length = convert(&mut { bytes }, to, &mut sink, &mut |_| {})?;
    assert_eq!(length, sink.get_ref().len() as u64);
    Ok(sink.into_inner())
}

#[test]
fn converting_there_and_back_loses_nothing() {
    for version in BOTH {
        let other = EnvelopeVersion::try_from(3 - version.number()).unwrap();
        let (blank, payloads) = large(version);
        let bytes = encode(&blank, &views(&payloads)).unwrap();
        assert!(
            converted(&bytes, version).unwrap() == bytes,
            "to itself: a copy"
        );
        let there = converted(&bytes, other).unwrap();
        let expected = encode(&large(other).0, &views(&payloads)).unwrap();
        assert!(
            there == expected,
            "what a writer of that version would have written"
        );
        assert!(converted(&there, version).unwrap() == bytes);

        let mut damaged = bytes.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        assert!(matches!(
            converted(&damaged, other),
            Err(ConvertError::Read(StreamError::Refused(_)))
        ));
    }
}

/// What older writers leave out or say otherwise is there in both versions.
#[test]
fn converting_older_shapes_loses_nothing() {
    let of_older = |version| {
        let mut older = manifest(version);
        older.coordinator.event_watermarks = EventWatermarks::LastEvent {
            last_event_id: id("evt-1"),
            last_ordinal: U64(7),
            unknown: UnknownFields::none(),
        };
        let admission = older.coordinator.admission_state.take();
        let mut payloads = payloads();
        payloads.retain(|(name, _)| Some(name) != admission.as_ref());
        encode(&older, &views(&payloads)).unwrap()
    };
    for version in BOTH {
        let other = EnvelopeVersion::try_from(3 - version.number()).unwrap();
        let there = converted(&of_older(version), other).unwrap();
        assert!(there == of_older(other));
        assert!(converted(&there, version).unwrap() == of_older(version));
    }
}

#[test]
fn what_version_two_has_no_place_for_is_refused_not_dropped() {
    for part in ["", "/compatibility", "/agents/0", "/payloads/3"] {
        let bytes = Forgery::of(EnvelopeVersion::One)
            .edit(|manifest| manifest.pointer_mut(part).unwrap()["addedLater"] = json!(1))
            .write();
        let said = converted(&bytes, EnvelopeVersion::Two).unwrap_err();
        assert!(
            matches!(said, ConvertError::WouldLose { .. }),
            "{part}: {said}"
        );
        assert!(said.to_string().contains("addedLater"), "{said}");
        assert_eq!(converted(&bytes, EnvelopeVersion::One).unwrap(), bytes);
    }
    // An unknown field within the older shape of a field is one as well.
    let bytes = Forgery::of(EnvelopeVersion::One)
        .edit(|manifest| {
            manifest["coordinator"]["eventWatermarks"] =
                json!({"lastEventId": "evt-1", "lastOrdinal": "7", "addedLater": 1});
        })
        .write();
    let said = converted(&bytes, EnvelopeVersion::Two).unwrap_err();
    let field = "coordinator.eventWatermarks.addedLater";
    assert!(said.to_string().contains(field), "{said}");

    // What version 1 need not say is something it says: the file that came back would not be the same.
    let bytes = Forgery::of(EnvelopeVersion::One)
        .edit(|manifest| manifest["digestAlgorithm"] = json!("sha256"))
        .write();
    let ConvertError::WouldLose { to, problem } =
        converted(&bytes, EnvelopeVersion::Two).unwrap_err()
    else {
        panic!("refused for another reason");
    };
    let expected = EnvelopeError::Algorithm {
        version: EnvelopeVersion::Two,
        expected: DigestAlgorithm::Blake3,
        found: Some(DigestAlgorithm::Sha256),
    };
    assert_eq!((to, problem), (EnvelopeVersion::Two, expected));
    assert_eq!(converted(&bytes, EnvelopeVersion::One).unwrap(), bytes);
}

#[test]
fn progress_ends_where_it_said_it_would() {
    for version in BOTH {
        let (blank, payloads) = large(version);
        let bytes = encode(&blank, &views(&payloads)).unwrap();
        let mut seen = Vec::new();
        verify(&mut &bytes[..], &mut |report| seen.push(report)).unwrap();
        let passes = if version == EnvelopeVersion::One {
            2
        } else {
            1
        };
        assert!(seen.len() > 3);
        assert!(seen.is_sorted_by_key(|report| report.done_bytes));
        assert!(
            seen.iter()
                .all(|report| report.total_bytes == passes * bytes.len() as u64)
        );
        let last = seen.last().unwrap();
        assert_eq!(last.done_bytes, last.total_bytes);
    }
}

#[test]
fn a_reader_that_seeks_is_read_where_it_is_told() {
    let mut source = SeekSource::new(Cursor::new((0..=255).collect::<Vec<u8>>())).unwrap();
    assert_eq!(source.length(), 256);
    for offset in [0, 8, 16, 8, 248, 0] {
        let mut buffer = [0; 8];
        source.read_exact_at(offset, &mut buffer).unwrap();
        assert_eq!(u64::from(buffer[0]), offset);
    }
    assert!(source.read_exact_at(250, &mut [0; 8]).is_err());
    let mut buffer = [0; 8];
    source.read_exact_at(248, &mut buffer).unwrap();
    assert_eq!(buffer[7], 255, "an error before does not matter");
    let mut rest = source.into_inner();
    rest.seek(SeekFrom::Start(255)).unwrap();
    assert_eq!(rest.read(&mut buffer).unwrap(), 1);
}
