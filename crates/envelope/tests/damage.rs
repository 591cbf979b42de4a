//! Oracle: an envelope has exactly one encoding, so any file that differs from it in one bit, or is
//! shorter or longer, is refused. Exhaustive over a small envelope of each version.

mod sample_envelope;

use sample_envelope::{BOTH, encoded};
use wellwritten_envelope::{
    Envelope, EnvelopeError, EnvelopeVersion, PartKind, PartState, decode, describe,
};

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
            assert!(
                error.is_some() || layout.sound_bytes == layout.file_bytes,
                "{layout:#?}"
            );
        }
    }
}

#[test]
fn a_description_names_the_damaged_payload_and_clears_the_others() {
    for version in BOTH {
        let intact = encoded(version);
        let payloads = describe(&intact)
            .parts
            .into_iter()
            .filter(|part| part.name.is_some());
        let mut damaged = 0;
        for payload in payloads.filter(|part| part.byte_length.0 > 0) {
            let mut bytes = intact.clone();
            bytes[usize::try_from(payload.offset.0).unwrap()] ^= 0x10;
            let layout = describe(&bytes);
            assert_eq!(layout.parts.len(), describe(&intact).parts.len());
            for part in &layout.parts {
                let broken = matches!(part.state, PartState::Broken { .. });
                let footer_covers_it = version == EnvelopeVersion::One;
                let expected = part.name.is_some() && part.name == payload.name
                    || part.kind == PartKind::Footer && footer_covers_it;
                assert_eq!(broken, expected, "{part:?}");
            }
            assert_eq!(layout.sound_bytes, payload.offset);
            damaged += 1;
        }
        assert_eq!(damaged, 5, "every payload that has bytes was damaged once");
    }
}

#[test]
fn a_description_of_a_truncated_file_keeps_what_is_whole() {
    let intact = encoded(EnvelopeVersion::Two);
    let whole = describe(&intact);
    let last = whole
        .parts
        .iter()
        .rfind(|part| part.kind == PartKind::Payload)
        .unwrap();
    let cut = usize::try_from(last.offset.0).unwrap() + 3;
    let layout = describe(&intact[..cut]);
    assert!(
        layout
            .parts
            .iter()
            .any(|part| part.kind == PartKind::Payload)
    );
    for part in &layout.parts {
        match part.kind {
            PartKind::Header | PartKind::Manifest | PartKind::Table => {
                assert_eq!(
                    part.state,
                    PartState::Unverified,
                    "no footer vouches for {part:?}"
                );
            }
            PartKind::Payload if part.name != last.name => {
                assert!(whole.parts.contains(part), "its own digest vouches for it");
            }
            PartKind::Padding => assert!(whole.parts.contains(part)),
            _ => assert!(matches!(part.state, PartState::Broken { .. }), "{part:?}"),
        }
    }
    assert_eq!(layout.sound_bytes, last.offset);
}

#[test]
fn a_description_of_an_extended_file_ends_where_the_envelope_does() {
    for version in BOTH {
        let intact = encoded(version);
        let layout = describe(&[&intact[..], b"and more"].concat());
        let trailing = layout.parts.last().unwrap();
        assert_eq!(trailing.kind, PartKind::Trailing);
        assert_eq!(trailing.offset.0, intact.len() as u64);
        assert_eq!(
            layout.sound_bytes.0,
            intact.len() as u64 - 48,
            "up to the footer"
        );
        let verified = layout
            .parts
            .iter()
            .filter(|part| part.state == PartState::Verified);
        assert_eq!(
            verified.count(),
            describe(&intact).parts.len() - 1,
            "all but the footer"
        );
    }
}
