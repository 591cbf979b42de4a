//! How many bytes this thread has hashed: only tests count, those of other crates with the feature `testing`.

use std::cell::Cell;

thread_local! {
    static HASHED: Cell<usize> = const { Cell::new(0) };
}

pub(crate) fn count(bytes: usize) {
    HASHED.set(HASHED.get() + bytes);
}

/// How many bytes this thread has hashed so far, under either function.
#[cfg(feature = "testing")]
#[must_use]
pub fn hashed_bytes() -> usize {
    HASHED.get()
}

#[cfg(test)]
mod tests {
    //! Oracle: the specification's count. Version 2 hashes each payload byte once and the head once; version 1 hashes
    //! each payload byte once more for the footer. Decoding in memory lends the caller's own bytes.

    use std::io::{self, Cursor};

    use serde_json::{Value, json};

    use super::HASHED;
    use crate::{
        Digest, EnvelopeVersion, Id, Manifest, copy_payload, decode, describe, encode,
        encode_parts, read_head, verify, write_from_sources, write_seekable,
    };

    /// How many bytes `work` hashes.
    fn hashed_by<R>(work: impl FnOnce() -> R) -> (R, usize) {
        let before = HASHED.get();
        let result = work();
        (result, HASHED.get() - before)
    }

    #[test]
    fn canary_a_second_pass_is_counted() {
        let bytes = [7; 1000];
        assert_eq!(hashed_by(|| Digest::blake3(&bytes)).1, 1000);
        let twice = hashed_by(|| (Digest::blake3(&bytes), Digest::sha256(&bytes)));
        assert_eq!(twice.1, 2000);
    }

    fn sample(version: EnvelopeVersion) -> (Manifest, Vec<(Id, Vec<u8>)>) {
        let digest = Digest::blake3(b"").to_string();
        let mut value = json!({
            "envelopeVersion": version, "checkpointId": "c1", "episodeId": "ep1",
            "sourceScope": {"sessionId": "s", "epoch": "e1", "step": "1"},
            "worldTime": {"numerator": "1", "denominator": "1"}, "schedulerId": "lockstep-v1",
            "compositionDigest": digest, "portMap": [], "agents": [], "payloads": [],
            "compatibility": {
                "backendDigest": digest, "contentDigest": digest, "patchDigest": digest,
                "controllerDigest": digest, "parserDigest": digest, "stateFormatId": "f1",
            },
            "environment": {"workerId": "arena", "payload": "a"},
            "coordinator": {
                "taskLedger": "b", "priorInspection": "c", "executorState": [],
                "admissionState": "d",
                "eventWatermarks": {"lastSourceStep": "0", "issued": "0"},
            },
            "helperState": [],
        });
        if version == EnvelopeVersion::Two {
            value["digestAlgorithm"] = Value::from("blake3");
        }
        let lengths = [("a", 200_001), ("b", 65_536), ("c", 0), ("d", 13)];
        let payloads = lengths.map(|(name, length)| (Id::parse(name).unwrap(), vec![9; length]));
        (serde_json::from_value(value).unwrap(), payloads.into())
    }

    #[test]
    fn each_payload_byte_is_hashed_as_often_as_its_version_says() {
        for (version, passes) in [(EnvelopeVersion::One, 2), (EnvelopeVersion::Two, 1)] {
            let (manifest, payloads) = sample(version);
            let total: usize = payloads.iter().map(|(_, bytes)| bytes.len()).sum();
            let views: Vec<(Id, &[u8])> = payloads
                .iter()
                .map(|(name, bytes)| (name.clone(), &bytes[..]))
                .collect();
            let (file, hashed) = hashed_by(|| encode(&manifest, &views).unwrap());
            let (parts, hashed_in_parts) = hashed_by(|| encode_parts(&manifest, &views).unwrap());
            assert_eq!(hashed_in_parts, hashed);
            assert_eq!(parts.in_order().concat(), file);
            assert_eq!(parts.byte_length(), file.len() as u64);
            assert!(
                parts
                    .in_order()
                    .iter()
                    .any(|part| part.as_ptr() == views[0].1.as_ptr())
            );
            let whole = hashed_by(|| Digest::blake3_of_parts(&parts.in_order()));
            assert_eq!(whole, (Digest::blake3(&file), file.len()));
            let envelope = decode(&file).unwrap();
            let head = usize::try_from(envelope.payloads[0].offset).unwrap();
            let padding = match version {
                // The footer's digest covers it: a payload of 200,001 bytes is followed by 7.
                EnvelopeVersion::One => 7,
                EnvelopeVersion::Two => 0,
            };
            let expected = head + passes * total + padding;
            assert_eq!(hashed, expected, "encode, version {version}");
            assert_eq!(hashed_by(|| decode(&file).unwrap()).1, expected);
            assert_eq!(hashed_by(|| describe(&file)).1, expected);
            let (read, hashed) = hashed_by(|| verify(&mut &file[..], &mut |_| {}).unwrap());
            assert_eq!(hashed, expected);
            let mut sources = views.clone();
            let mut sink = Cursor::new(Vec::new());
            let seekable = hashed_by(|| {
                write_seekable(&manifest, &mut sources, &mut sink, &mut |_| {}).unwrap()
            });
            let stated = hashed_by(|| {
                write_from_sources(
                    &envelope.manifest,
                    &mut sources,
                    &mut io::sink(),
                    &mut |_| {},
                )
                .unwrap()
            });
            assert_eq!(stated.1, expected, "digests were stated");
            // In version 1 the head, with the payloads' digests, comes before them.
            assert_eq!(seekable.1, expected + (passes - 1) * total);

            let alone = hashed_by(|| {
                let file = &mut &file[..];
                copy_payload(
                    file,
                    version,
                    &read.entries[0],
                    &mut io::sink(),
                    &mut |_| {},
                )
            });
            assert_eq!(alone.1, 200_001);
            let listed = hashed_by(|| read_head(&mut &file[..]).unwrap()).1;
            assert_eq!(listed, (2 - passes) * head);
        }
    }

    #[test]
    fn decoding_lends_the_callers_own_bytes() {
        let (manifest, payloads) = sample(EnvelopeVersion::Two);
        let views: Vec<(Id, &[u8])> = payloads
            .iter()
            .map(|(name, bytes)| (name.clone(), &bytes[..]))
            .collect();
        let file = encode(&manifest, &views).unwrap();
        let envelope = decode(&file).unwrap();
        assert_eq!(envelope.payloads.len(), 4);
        for payload in &envelope.payloads {
            let offset = usize::try_from(payload.offset).unwrap();
            assert_eq!(payload.bytes.as_ptr(), file[offset..].as_ptr());
        }
    }
}
