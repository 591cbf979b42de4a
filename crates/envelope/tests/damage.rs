//! Oracle: an envelope has exactly one encoding, so any file that differs from it in one bit, or is
//! shorter or longer, is refused. Exhaustive over a small envelope of each version.

mod sample_envelope;

use sample_envelope::{BOTH, encoded};
use wellwritten_envelope::{Envelope, EnvelopeError, PartState, decode, describe};

/// What must hold of every file that is not the intact one.
fn is_refused(judged: Result<Envelope<'_>, EnvelopeError>) -> bool {
    judged.is_err_and(|error| !error.to_string().is_empty())
}

#[test]
fn canary_an_intact_envelope_is_not_refused() {
    for version in BOTH {
        assert!(!is_refused(decode(&encoded(version))), "version {version}");
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    for version in BOTH {
        let mut bytes = encoded(version);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(is_refused(decode(&bytes)), "version {version}, bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(decode(&bytes).is_ok(), "every flip was undone");
    }
}

#[test]
fn every_truncation_is_refused() {
    for version in BOTH {
        let bytes = encoded(version);
        for length in 0..bytes.len() {
            assert!(
                is_refused(decode(&bytes[..length])),
                "version {version}, {length} bytes"
            );
        }
    }
}

#[test]
fn every_extension_is_refused() {
    for version in BOTH {
        let intact = encoded(version);
        for appended in 1..=100 {
            for fill in [0, b'F', 0xff] {
                let mut bytes = intact.clone();
                bytes.resize(intact.len() + appended, fill);
                assert!(
                    is_refused(decode(&bytes)),
                    "version {version}, {appended} appended"
                );
            }
        }
        let twice = [intact.clone(), intact.clone()].concat();
        assert!(
            is_refused(decode(&twice)),
            "version {version}, written twice"
        );
        let footer_twice = [&intact[..], &intact[intact.len() - 48..]].concat();
        assert!(
            is_refused(decode(&footer_twice)),
            "version {version}, two footers"
        );
    }
}

#[test]
fn a_description_agrees_with_the_reader_and_finds_the_damage() {
    for version in BOTH {
        let intact = encoded(version);
        let mut files = vec![intact.clone()];
        files.extend((0..intact.len()).map(|length| intact[..length].to_vec()));
        files.extend((0..intact.len()).map(|offset| {
            let mut bytes = intact.clone();
            bytes[offset] ^= 0x41;
            bytes
        }));
        files.push([&intact[..], b"more"].concat());
        for bytes in files {
            let layout = describe(&bytes);
            let error = decode(&bytes).err();
            let refused = layout.refusal.as_ref().map(|refusal| refusal.rule);
            assert_eq!(refused, error.as_ref().map(EnvelopeError::rule));
            let broken = layout
                .parts
                .iter()
                .any(|part| matches!(part.state, PartState::Broken { .. }));
            assert_eq!(broken, error.is_some(), "{layout:#?}");
            assert!(layout.sound_bytes <= layout.file_bytes, "{layout:#?}");
            assert_eq!(
                layout.sound_bytes == layout.file_bytes,
                error.is_none(),
                "{layout:#?}"
            );
        }
    }
}
