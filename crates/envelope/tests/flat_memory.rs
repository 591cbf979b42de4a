//! Oracle: an allocator that counts. Whatever a file is, or claims to be, reading it takes next to no memory; a sound
//! file takes as much when it is forty times as long.

mod counting_allocator;
mod sample_envelope;

use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;

use counting_allocator::{CountingAllocator, peak_of};
use sample_envelope::{BOTH, Forgery, id, manifest};
use wellwritten_envelope::{
    EnvelopeRule, EnvelopeVersion, Id, MAX_MANIFEST_BYTES, ReadAt, StreamError, copy_payload,
    decode, decode_header, describe, describe_source, head_bytes, read_head, verify,
    write_from_sources, write_seekable,
};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// A chunk, the head, the parsed manifest and an error's text.
const NEXT_TO_NOTHING: usize = 256 * 1024;

#[test]
fn canary_the_allocator_counts() {
    let ((), peak) = peak_of(|| drop(vec![1_u8; 1 << 20]));
    assert!(peak >= 1 << 20);
    let (kept, peak) = peak_of(|| vec![1_u8; 1 << 20]);
    assert!(peak >= 1 << 20);
    let (_, peak) = peak_of(|| 1 + 1);
    assert!(peak < 64, "what was there before does not count");
    drop(kept);
}

/// A file that is mostly zeros: its beginning, its end, and a length that nobody has stored.
struct Sparse {
    length: u64,
    beginning: Vec<u8>,
    end: Vec<u8>,
}

impl ReadAt for Sparse {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_exact_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        buffer.fill(0);
        let end_offset = self.length - self.end.len() as u64;
        for (start, part) in [(0, &self.beginning), (end_offset, &self.end)] {
            let (from, to) = (offset.max(start), offset + buffer.len() as u64);
            let to = to.min(start + part.len() as u64);
            if from < to {
                let within = |range: Range<u64>, base: u64| {
                    let place = |at: u64| usize::try_from(at - base).unwrap();
                    place(range.start)..place(range.end)
                };
                buffer[within(from..to, offset)].copy_from_slice(&part[within(from..to, start)]);
            }
        }
        Ok(())
    }
}

/// A forged file made as long as `length`, with a footer that admits it.
fn stretched(forgery: &Forgery, length: u64) -> Sparse {
    let file = forgery.write();
    let (beginning, end) = file.split_at(file.len() - 48);
    let mut end = end.to_vec();
    end[..8].copy_from_slice(&length.to_le_bytes());
    Sparse {
        length,
        beginning: beginning.to_vec(),
        end,
    }
}

#[test]
fn forged_lengths_allocate_next_to_nothing() {
    let mut refused = 0;
    for version in BOTH {
        let good = Forgery::of(version);
        let mut forgeries = vec![good.clone(); 7];
        forgeries[0].entries[0].byte_length = u64::MAX;
        forgeries[1].entries[0].byte_length = 1 << 42;
        forgeries[2].entries[1].offset = u64::MAX - 7;
        forgeries[3].payload_count = Some(65);
        forgeries[4].payload_count = Some(u32::MAX);
        forgeries[5].manifest_bytes = Some(u32::MAX);
        forgeries[6].manifest_bytes = Some(u32::MAX - 39);
        forgeries[6].table_offset = Some(u32::MAX - 7);
        for forgery in forgeries {
            let bytes = forgery.write();
            let ((), peak) = peak_of(|| {
                assert!(decode(&bytes).is_err());
                assert!(describe(&bytes).refusal.is_some());
                for file_bytes in [bytes.len() as u64, 1 << 44, u64::MAX] {
                    let _ = head_bytes(&bytes, file_bytes);
                    let _ = decode_header(&bytes, file_bytes);
                }
                assert!(verify(&mut &bytes[..], &mut |_| {}).is_err());
                assert!(read_head(&mut &bytes[..]).is_err());
                assert!(describe_source(&mut &bytes[..], &mut |_| {}).is_ok());
            });
            assert!(peak < NEXT_TO_NOTHING, "{peak} bytes");
            refused += 1;
        }
    }
    assert_eq!(refused, 14);
}

#[test]
fn absurd_files_allocate_next_to_nothing() {
    const TERABYTES: u64 = 5 << 40;
    for version in BOTH {
        let mut long_manifest = Forgery::of(version);
        // In version 2 its digest is made first, for which all of it is read.
        long_manifest.manifest_bytes = Some((64 << 20) - 32);
        long_manifest.table_offset = Some(64 << 20);
        let mut file = stretched(&long_manifest, TERABYTES);
        let (error, peak) = peak_of(|| read_head(&mut file).unwrap_err());
        let expected = match version {
            EnvelopeVersion::One => EnvelopeRule::ManifestBounds,
            EnvelopeVersion::Two => EnvelopeRule::FooterDigest,
        };
        let StreamError::Refused(error) = error else {
            panic!("{error}");
        };
        assert_eq!(error.rule(), expected, "{error}");
        assert!(peak < NEXT_TO_NOTHING, "{peak} bytes");

        // Payloads of terabytes, all of them inside the file: the head is read and says so.
        let mut long_payload = Forgery::of(version);
        let last = long_payload.entries.len() - 1;
        long_payload.entries[last].byte_length = TERABYTES - long_payload.entries[last].offset - 48;
        let length = long_payload.entries[last].byte_length.to_string();
        let grown = length.len();
        long_payload =
            long_payload.edit(|manifest| manifest["payloads"][last]["byteLength"] = length.into());
        let moved = long_payload.entries[last].offset + long_payload.entries[last].byte_length + 48
            - TERABYTES;
        assert!(moved < 64, "{grown}");
        let mut file = stretched(&long_payload, TERABYTES + moved);
        let (head, peak) = peak_of(|| read_head(&mut file).unwrap());
        assert!(head.entries[last].byte_length > TERABYTES / 2);
        assert!(peak < NEXT_TO_NOTHING, "{peak} bytes");
        // The others can be had without it.
        let (copied, peak) = peak_of(|| {
            let sink = &mut io::sink();
            copy_payload(&mut file, head.version, &head.entries[0], sink, &mut |_| {})
        });
        assert!(copied.is_ok() && peak < NEXT_TO_NOTHING, "{peak} bytes");
    }
    // In version 2 nothing else is read before its footer is judged.
    let mut long_manifest = Forgery::of(EnvelopeVersion::Two);
    long_manifest.manifest_bytes = Some((64 << 20) - 32);
    long_manifest.table_offset = Some(64 << 20);
    let mut file = stretched(&long_manifest, TERABYTES);
    let (said, peak) = peak_of(|| {
        let verified = verify(&mut file, &mut |_| {}).unwrap_err().to_string();
        let described = describe_source(&mut file, &mut |_| {}).unwrap();
        (verified, described.refusal.unwrap())
    });
    assert_eq!(said.1.rule, EnvelopeRule::FooterDigest);
    assert_eq!(said.0, said.1.message);
    assert!(peak < NEXT_TO_NOTHING, "{peak} bytes");
    let mut other = stretched(&Forgery::of(EnvelopeVersion::Two), TERABYTES);
    let (error, peak) = peak_of(|| verify(&mut other, &mut |_| {}).unwrap_err());
    assert!(
        matches!(&error, StreamError::Refused(error) if error.rule() == EnvelopeRule::FooterGap),
        "{error}"
    );
    assert!(peak < NEXT_TO_NOTHING, "{peak} bytes");
}

/// The values of a manifest take a hundred times its text in memory, so both have a limit.
#[test]
fn a_manifest_of_many_values_takes_no_more_than_the_limits_allow() {
    type Read<'a> = &'a dyn Fn() -> String;
    const MOST: usize = 448 << 20;
    let unit = ",{\"\":0}";
    let mut text = Forgery::of(EnvelopeVersion::One).manifest;
    text.pop();
    text.extend(b",\"zz\":[0");
    text.extend(
        unit.repeat((MAX_MANIFEST_BYTES as usize - text.len() - 2) / unit.len())
            .bytes(),
    );
    text.extend(b"]}");
    let file = Forgery::of(EnvelopeVersion::One).remanifest(text).write();
    let readers: [Read<'_>; 2] = [
        &|| verify(&mut &file[..], &mut |_| {}).unwrap_err().to_string(),
        &|| describe(&file).refusal.unwrap().message,
    ];
    for read in readers {
        let (said, peak) = peak_of(read);
        assert!(said.contains("1000000 that are read"), "{said}");
        assert!(peak < MOST, "{peak} bytes");
    }
}

/// A payload that is computed, not stored.
#[derive(Clone)]
struct Computed(u64);

impl ReadAt for Computed {
    fn length(&self) -> u64 {
        self.0
    }

    fn read_exact_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        for (at, byte) in (offset..).zip(buffer) {
            *byte = at.to_le_bytes()[0];
        }
        Ok(())
    }
}

/// A sink that keeps nothing but its position.
struct Nowhere(u64);

impl Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Nowhere {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Start(offset) => self.0 = offset,
            SeekFrom::Current(0) => {}
            _ => return Err(io::ErrorKind::Unsupported.into()),
        }
        Ok(self.0)
    }
}

#[test]
fn a_long_file_takes_no_more_memory_than_a_short_one() {
    for version in BOTH {
        let manifest = manifest(version);
        let peaks = [256 * 1024, 10 * 1024 * 1024].map(|length| {
            let mut payloads: Vec<(Id, Computed)> = sample_envelope::payloads()
                .into_iter()
                .map(|(name, bytes)| (name, Computed(bytes.len() as u64)))
                .collect();
            assert_eq!(payloads[0].0, id("world"));
            payloads[0].1 = Computed(length);
            let (_, seekable) = peak_of(|| {
                let mut sink = Nowhere(0);
                write_seekable(&manifest, &mut payloads, &mut sink, &mut |_| {}).unwrap()
            });
            let (_, in_order) = peak_of(|| {
                let mut sink = Nowhere(0);
                write_from_sources(&manifest, &mut payloads, &mut sink, &mut |_| {}).unwrap()
            });
            let mut file = Vec::new();
            write_from_sources(&manifest, &mut payloads, &mut file, &mut |_| {}).unwrap();
            let (_, verified) = peak_of(|| verify(&mut &file[..], &mut |_| {}).unwrap());
            let (_, decoded) = peak_of(|| decode(&file).unwrap());
            [seekable, in_order, verified, decoded]
        });
        for (short, long) in peaks[0].iter().zip(peaks[1]) {
            // A longer number in the manifest, in a few copies of it.
            assert!(short.abs_diff(long) < 1024, "{peaks:?}");
            assert!(long < NEXT_TO_NOTHING, "{peaks:?}");
        }
    }
}
