//! Oracle: the file itself. Where a broken rule says an offset, the bytes at that offset are those it is about.

mod sample_envelope;

use sample_envelope::{BOTH, Forgery};
use wellwritten_envelope::{BrokenRule, Digest, EnvelopeRule, decode};

fn broken(bytes: &[u8]) -> BrokenRule {
    BrokenRule::from(&decode(bytes).unwrap_err())
}

/// The bytes at the offset that the rule names.
fn there<const N: usize>(bytes: &[u8], broken: &BrokenRule) -> [u8; N] {
    let at = broken.offset.expect("an offset");
    let at = usize::try_from(at).unwrap();
    bytes[at..at + N].try_into().unwrap()
}

#[test]
fn an_offset_leads_to_what_is_wrong() {
    for version in BOTH {
        let good = Forgery::of(version);
        let file = good.write();
        let text = |value: &Option<String>| value.clone().expect("a value");

        let mut longer = file.clone();
        let footer = longer.len() - 48;
        longer[footer] ^= 1;
        let said = broken(&longer);
        assert_eq!(said.rule, EnvelopeRule::FileBytes);
        let recorded = u64::from_le_bytes(there(&longer, &said));
        assert_eq!(text(&said.expected), recorded.to_string());

        let mut damaged = file.clone();
        damaged[40] ^= 1;
        let said = broken(&damaged);
        assert_eq!(said.rule, EnvelopeRule::FooterDigest);
        let recorded = Digest::from_bytes(there(&damaged, &said));
        assert_eq!(text(&said.expected), recorded.to_string());

        let mut many = good.clone();
        many.payload_count = Some(60);
        let many = many.write();
        let said = broken(&many);
        assert_eq!(said.rule, EnvelopeRule::TableBounds);
        assert_eq!(u32::from_le_bytes(there(&many, &said)), 60);

        let mut moved = good.clone();
        moved.entries[2].offset += 8;
        let moved = moved.write();
        let said = broken(&moved);
        assert_eq!(said.rule, EnvelopeRule::EntryOffset);
        let found = u64::from_le_bytes(there(&moved, &said));
        assert_eq!(text(&said.found), found.to_string());

        let mut twice = good.clone();
        twice.entries[3].name = twice.entries[1].name.clone();
        let twice = twice.write();
        let said = broken(&twice);
        assert_eq!(said.rule, EnvelopeRule::EntryUnique);
        assert_eq!(&there::<8>(&twice, &said), b"agent-a\0");
        assert_eq!(text(&said.payload), "agent-a");
        let first = decode(&file).unwrap();
        assert!(said.offset > Some(first.payloads[0].offset - 6 * 112 + 112));
    }
}
