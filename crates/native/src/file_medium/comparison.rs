//! Whether a file holds what was written, a piece at a time.

use std::fs::File;
use std::io::{self, Read as _};

/// How much of a file is looked at at once: what stays in a processor's cache beside what it is compared with.
const PIECE_BYTES: usize = 256 << 10;

/// Whether the file is `parts`, one after the other.
pub(super) fn holds(mut file: &File, parts: &[&[u8]]) -> io::Result<bool> {
    let mut expected = parts.iter().copied().filter(|part| !part.is_empty());
    let mut due: &[u8] = &[];
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let count = match file.read(&mut piece) {
            Ok(0) => return Ok(due.is_empty() && expected.next().is_none()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let mut found = &piece[..count];
        while !found.is_empty() {
            if due.is_empty() {
                let Some(next) = expected.next() else {
                    return Ok(false);
                };
                due = next;
            }
            let common = found.len().min(due.len());
            if found[..common] != due[..common] {
                return Ok(false);
            }
            (found, due) = (&found[common..], &due[common..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_the_very_bytes_are_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let large: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let parts: [&[u8]; 6] = [b"head", b"", b"\0\0\0\0", &large, b"", b"foot"];
        let whole = parts.concat();
        let judge = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            holds(&File::open(&path).unwrap(), &parts).unwrap()
        };
        assert!(judge(&whole));
        for at in [0, 3, 4, 8, PIECE_BYTES - 1, PIECE_BYTES, whole.len() - 1] {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            assert!(!judge(&flipped), "at {at}");
        }
        for length in [0, 4, PIECE_BYTES, whole.len() - 4, whole.len() - 1] {
            assert!(!judge(&whole[..length]), "of {length}");
        }
        assert!(!judge(&[&whole[..], b"x"].concat()));
        fs::write(&path, b"").unwrap();
        assert!(holds(&File::open(&path).unwrap(), &[]).unwrap());
        assert!(holds(&File::open(&path).unwrap(), &[b"", b""]).unwrap());
    }
}
