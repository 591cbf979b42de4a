//! Oracle: what is written is what a reader accepts, or it is refused. Sources whose bytes or whose length change while
//! they are read, at every moment at which they can.

mod sample_envelope;

use std::cell::Cell;
use std::io::{self, Cursor};

use sample_envelope::{BOTH, id, manifest, payloads, views};
use wellwritten_envelope::{
    ConvertError, EncodeError, EnvelopeVersion, Id, Manifest, ReadAt, convert, decode, encode,
    read_head, write_from_sources, write_seekable,
};

/// A file of which one byte is another from some moment on.
struct Rewritten<'a> {
    bytes: &'a [u8],
    at: u64,
    now: &'a Cell<bool>,
}

impl ReadAt for Rewritten<'_> {
    fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_exact_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.bytes.read_exact_at(offset, buffer)?;
        let place = self.at.checked_sub(offset).map(usize::try_from);
        if self.now.get()
            && let Some(Ok(place)) = place
            && let Some(byte) = buffer.get_mut(place)
        {
            *byte ^= 0x10;
        }
        Ok(())
    }
}

/// Converts a file of which a byte changes once it was verified.
fn convert_rewritten(
    bytes: &[u8],
    at: u64,
    to: EnvelopeVersion,
    changes: bool,
) -> Result<Vec<u8>, ConvertError> {
    let is_rewritten = Cell::new(false);
    let mut source = Rewritten {
        bytes,
        at,
        now: &is_rewritten,
    };
    let mut sink = Cursor::new(Vec::new());
    convert(&mut source, to, &mut sink, &mut |progress| {
        if progress.done_bytes == progress.total_bytes {
            is_rewritten.set(changes);
        }
    })?;
    Ok(sink.into_inner())
}

#[test]
fn bytes_that_nobody_verified_get_no_digest() {
    for version in BOTH {
        let mut payloads = payloads();
        payloads[0].1 = (0..150_001_u32).map(|at| (at % 251) as u8).collect();
        let bytes = encode(&manifest(version), &views(&payloads)).unwrap();
        let head = read_head(&mut &bytes[..]).unwrap();
        for to in BOTH {
            let mut refused = 0;
            for entry in head.entries.iter().filter(|entry| entry.byte_length > 0) {
                for at in [entry.offset, entry.offset + entry.byte_length - 1] {
                    let error = convert_rewritten(&bytes, at, to, true).unwrap_err();
                    assert!(
                        matches!(
                            &error,
                            ConvertError::Write(EncodeError::PayloadChanged { name, .. })
                                if *name == entry.name
                        ),
                        "{version} to {to}: {error}"
                    );
                    refused += 1;
                }
            }
            assert_eq!(refused, 10);
            let unchanged = convert_rewritten(&bytes, 40, to, false).unwrap();
            assert!(decode(&unchanged).is_ok());
        }
    }
}

#[test]
fn canary_the_byte_is_rewritten() {
    let is_rewritten = Cell::new(false);
    let mut source = Rewritten {
        bytes: &[1, 2, 3],
        at: 1,
        now: &is_rewritten,
    };
    let mut read = [0; 2];
    source.read_exact_at(1, &mut read).unwrap();
    assert_eq!(read, [2, 3]);
    is_rewritten.set(true);
    source.read_exact_at(1, &mut read).unwrap();
    assert_eq!(read, [0x12, 3]);
}

/// A source of zeros that has another length from some question on. It can be read beyond either.
#[derive(Clone)]
struct Resized {
    lengths: [u64; 2],
    asked: Cell<u32>,
    changes_after: u32,
}

impl Resized {
    fn steady(length: u64) -> Self {
        Self {
            lengths: [length; 2],
            asked: Cell::new(0),
            changes_after: 0,
        }
    }
}

impl ReadAt for Resized {
    fn length(&self) -> u64 {
        self.asked.set(self.asked.get() + 1);
        self.lengths[usize::from(self.asked.get() > self.changes_after)]
    }

    fn read_exact_at(&mut self, _offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        buffer.fill(0);
        Ok(())
    }
}

#[test]
fn a_source_whose_length_changes_gives_a_sound_file_or_none() {
    for version in BOTH {
        let blank = manifest(version);
        let resized = |lengths: [u64; 2], changes_after| -> Vec<(Id, Resized)> {
            let mut sources: Vec<(Id, Resized)> = payloads()
                .into_iter()
                .map(|(name, bytes)| (name, Resized::steady(bytes.len() as u64)))
                .collect();
            sources[0].1 = Resized {
                lengths,
                asked: Cell::new(0),
                changes_after,
            };
            sources
        };
        let (mut refused, mut sound) = (0, 0);
        for (before, after) in [(10, 20), (20, 10), (0, 70_000), (70_000, 0)] {
            let mut file = Vec::new();
            let mut steady = resized([before; 2], 0);
            write_from_sources(&blank, &mut steady, &mut file, &mut |_| {}).unwrap();
            let stated = decode(&file).unwrap().manifest;
            for changes_after in 1..8 {
                let mut judge = |written: Result<u64, EncodeError>, file: &[u8]| match written {
                    Ok(length) => {
                        sound += 1;
                        assert_eq!(length, file.len() as u64);
                        assert!(decode(file).is_ok(), "{before}, {after}, {changes_after}");
                    }
                    Err(EncodeError::LengthChanged {
                        name,
                        expected,
                        found,
                    }) => {
                        refused += 1;
                        assert_eq!((name, expected, found), (id("world"), before, after));
                    }
                    Err(error) => panic!("{error}"),
                };
                for manifest in [&blank, &stated] {
                    let mut write = |manifest: &Manifest| {
                        let mut sources = resized([before, after], changes_after);
                        let mut file = Vec::new();
                        let written =
                            write_from_sources(manifest, &mut sources, &mut file, &mut |_| {});
                        judge(written, &file);
                        let mut sources = resized([before, after], changes_after);
                        let mut file = Cursor::new(Vec::new());
                        let written =
                            write_seekable(manifest, &mut sources, &mut file, &mut |_| {});
                        judge(written, file.get_ref());
                    };
                    write(manifest);
                }
            }
        }
        assert!(refused >= 32 && sound >= 32, "{refused}, {sound}");
    }
}
