//! Oracle: a forged file, whose digests all fit, is refused by the first rule it breaks and by no other.
//! The files come from a naive writer of the tests, which recomputes the layout for itself.

mod sample_envelope;

use sample_envelope::{BOTH, Forgery, encoded, id, manifest, payloads, views};
use serde_json::{Value, json};
use wellwritten_envelope::{
    Digest, EnvelopeError, EnvelopeRule, EnvelopeVersion, Id, decode, describe, encode,
    write_envelope,
};

/// Decodes a file that must be refused and checks the rule; the text must say more than the rule.
#[track_caller]
fn refused(bytes: &[u8], rule: EnvelopeRule) -> String {
    let error = decode(bytes).expect_err("a forged file was accepted");
    assert_eq!(error.rule(), rule, "{error}");
    assert_eq!(describe(bytes).refusal.unwrap().message, error.to_string());
    error.to_string()
}

#[test]
fn canary_the_naive_writer_and_the_writer_agree() {
    for version in BOTH {
        assert_eq!(
            Forgery::of(version).write(),
            encoded(version),
            "version {version}"
        );
        let bytes = encoded(version);
        assert_eq!(bytes.capacity(), bytes.len(), "the buffer is sized exactly");
        let mut sink = Vec::new();
        let (manifest, payloads) = (manifest(version), payloads());
        let length = write_envelope(&manifest, &views(&payloads), &mut sink).unwrap();
        assert_eq!(sink, encoded(version));
        assert_eq!(length, sink.len() as u64);
    }
}

#[test]
fn other_files() {
    let mut text =
        b"{\"this\": \"is some other file, long enough to hold a header and a footer, yes\"}  "
            .to_vec();
    assert_eq!(
        refused(&text, EnvelopeRule::Magic),
        "not an envelope: the first 8 bytes must be FLYSESS1, found \"{\\\"this\\\":\""
    );
    text.truncate(79);
    assert_eq!(
        refused(&text, EnvelopeRule::Length),
        "not a whole envelope: the file is 79 bytes, and a header and a footer alone are 80"
    );
    refused(&[], EnvelopeRule::Length);
}

#[test]
fn header_words() {
    for version in BOTH {
        let good = Forgery::of(version);
        let forge = |change: fn(&mut Forgery)| {
            let mut forgery = good.clone();
            change(&mut forgery);
            forgery.write()
        };
        for wrong in [0, 3, 256, u32::MAX] {
            let mut forgery = good.clone();
            forgery.version = wrong;
            refused(&forgery.write(), EnvelopeRule::Version);
        }
        refused(
            &forge(|file| file.header_bytes = 33),
            EnvelopeRule::HeaderBytes,
        );
        refused(&forge(|file| file.reserved = 1), EnvelopeRule::ReservedWord);
        refused(
            &forge(|file| file.payload_count = Some(65)),
            EnvelopeRule::PayloadCount,
        );
        refused(
            &forge(|file| file.payload_count = Some(u32::MAX)),
            EnvelopeRule::PayloadCount,
        );
        refused(
            &forge(|file| file.manifest_bytes = Some(u32::MAX)),
            EnvelopeRule::ManifestBounds,
        );
        let other_version = EnvelopeVersion::try_from(3 - version.number()).unwrap();
        let mut disguised = good.clone();
        disguised.version = other_version.number();
        refused(&disguised.write(), EnvelopeRule::FooterDigest);
    }
}

#[test]
fn lengths_of_the_manifest_and_place_of_the_table() {
    let good = Forgery::of(EnvelopeVersion::One);
    let length = u32::try_from(good.manifest.len()).unwrap();
    let mut short = good.clone();
    short.manifest_bytes = Some(length - 1);
    refused(&short.write(), EnvelopeRule::ManifestJson);
    let mut empty = good.clone();
    empty.manifest_bytes = Some(0);
    refused(&empty.write(), EnvelopeRule::ManifestJson);
    let mut long = good.clone();
    long.manifest_bytes = Some(length + 1);
    refused(&long.write(), EnvelopeRule::ManifestJson);

    for version in BOTH {
        let good = Forgery::of(version);
        let table = u32::try_from(good.laid_out_table()).unwrap();
        for wrong in [0, 32, table - 8, table + 8, u32::MAX] {
            let mut moved = good.clone();
            moved.table_offset = Some(wrong);
            refused(&moved.write(), EnvelopeRule::TableOffset);
        }
        let mut beyond = good;
        beyond.payload_count = Some(64);
        refused(&beyond.write(), EnvelopeRule::TableBounds);
    }
}

#[test]
fn the_footer() {
    for version in BOTH {
        let good = encoded(version);
        let footer = good.len() - 48;
        for recorded in [
            0,
            80,
            good.len() as u64 - 1,
            good.len() as u64 + 1,
            u64::MAX,
        ] {
            let mut bytes = good.clone();
            bytes[footer..footer + 8].copy_from_slice(&recorded.to_le_bytes());
            let text = refused(&bytes, EnvelopeRule::FileBytes);
            assert!(text.contains(&recorded.to_string()), "{text}");
        }
        let mut bytes = good.clone();
        bytes[footer + 8] ^= 1;
        refused(&bytes, EnvelopeRule::FooterDigest);
        refused(&good[..good.len() - 1], EnvelopeRule::FooterMagic);
    }
}

#[test]
fn spellings_of_the_manifest() {
    for version in BOTH {
        let good = Forgery::of(version);
        let text = String::from_utf8(good.manifest.clone()).unwrap();
        let spell = |text: &str| good.clone().remanifest(text.as_bytes().to_vec()).write();
        refused(
            &spell(&format!("{text}\n")),
            EnvelopeRule::ManifestCanonical,
        );
        refused(&spell(&format!(" {text}")), EnvelopeRule::ManifestCanonical);
        refused(&spell(&format!("{text}{{}}")), EnvelopeRule::ManifestJson);
        let twice = text.replacen('{', "{\"checkpointId\":\"c2\",", 1);
        let said = refused(&spell(&twice), EnvelopeRule::ManifestJson);
        assert!(
            said.contains("checkpointId") && said.contains("twice"),
            "{said}"
        );
        let seed = text.replace("-184946063", "-1.84946063e8");
        refused(&spell(&seed), EnvelopeRule::ManifestCanonical);
        let beyond = text.replace("-184946063", "9007199254740992");
        refused(&spell(&beyond), EnvelopeRule::ManifestJson);
        let mut raw = good.manifest.clone();
        raw[20] = 0xff;
        refused(
            &good.clone().remanifest(raw).write(),
            EnvelopeRule::ManifestJson,
        );
        let deep = "[".repeat(200_000);
        refused(&spell(&deep), EnvelopeRule::ManifestJson);
    }
}

#[test]
fn names_in_the_table() {
    for version in BOTH {
        let good = Forgery::of(version);
        let named = |name: &[u8]| {
            let mut forgery = good.clone();
            forgery.entries[0].name = name.to_vec();
            forgery.write()
        };
        for wrong in ["", "World", "-world", "wor ld", "../world", "wörld"] {
            refused(&named(wrong.as_bytes()), EnvelopeRule::EntryName);
        }
        refused(&named(b"\xff\xfe"), EnvelopeRule::EntryName);
        refused(&named(b"world\0x"), EnvelopeRule::EntryName);
        refused(&named(b"\0world"), EnvelopeRule::EntryName);
        let said = refused(&named(b"agent-a"), EnvelopeRule::EntryUnique);
        assert!(said.contains("agent-a"), "{said}");
        refused(&named(b"moon"), EnvelopeRule::PayloadRows);
    }
}

#[test]
fn a_name_of_64_characters_has_no_terminator() {
    for version in BOTH {
        let long = "w".repeat(64);
        let mut manifest = manifest(version);
        manifest.environment.payload = id(&long);
        let mut payloads = payloads();
        payloads[0].0 = id(&long);
        let bytes = encode(&manifest, &views(&payloads)).unwrap();
        assert_eq!(bytes, Forgery::with(&manifest, &payloads).write());
        let envelope = decode(&bytes).unwrap();
        assert_eq!(envelope.payload(&id(&long)), Some(payloads[0].1.as_slice()));
    }
}

#[test]
fn places_of_payloads() {
    for version in BOTH {
        let good = Forgery::of(version);
        let forge = |index: usize, offset: u64, byte_length: u64| {
            let mut forgery = good.clone();
            forgery.entries[index].offset = offset;
            forgery.entries[index].byte_length = byte_length;
            forgery.write()
        };
        let (first, second) = (good.entries[0].offset, good.entries[1].offset);
        for wrong in [
            0,
            first,
            second - 8,
            second - 1,
            second + 1,
            second + 8,
            u64::MAX,
        ] {
            refused(&forge(1, wrong, 8), EnvelopeRule::EntryOffset);
        }
        for wrong in [1000, u64::from(u32::MAX), u64::MAX - first, u64::MAX] {
            refused(&forge(0, first, wrong), EnvelopeRule::EntryBounds);
        }
        // The last payload reaching into the footer.
        let last = good.entries.len() - 1;
        let (offset, length) = (good.entries[last].offset, good.entries[last].byte_length);
        refused(&forge(last, offset, length + 1), EnvelopeRule::EntryBounds);
        refused(
            &forge(last, offset, length - 1),
            EnvelopeRule::PayloadDigest,
        );
    }
}

#[test]
fn damaged_payloads_padding_and_gaps() {
    for version in BOTH {
        let good = Forgery::of(version);
        let mut damaged = good.clone();
        damaged.area[0] ^= 1;
        let said = refused(&damaged.write(), EnvelopeRule::PayloadDigest);
        assert!(said.contains("world"), "{said}");

        // The first payload is 9 bytes: byte 9 of the area is padding.
        let mut padded = good.clone();
        padded.area[9] = 1;
        let said = refused(&padded.write(), EnvelopeRule::Padding);
        assert!(
            said.contains(&(good.entries[0].offset + 9).to_string()),
            "{said}"
        );

        for extra in [1, 8, 48] {
            let mut gap = good.clone();
            gap.area.resize(gap.area.len() + extra, 0);
            refused(&gap.write(), EnvelopeRule::FooterGap);
        }
    }
}

#[test]
fn padding_between_manifest_and_table() {
    for version in BOTH {
        let mut good = Forgery::of(version);
        while good.manifest.len().is_multiple_of(8) {
            good = good.edit(|manifest| {
                let longer = format!("{}1", manifest["episodeId"].as_str().unwrap());
                manifest["episodeId"] = longer.into();
            });
        }
        let mut bytes = good.write();
        assert!(decode(&bytes).is_ok());
        bytes[32 + good.manifest.len()] = 7;
        let footer = bytes.len() - 48;
        let covered = match version {
            EnvelopeVersion::One => footer,
            EnvelopeVersion::Two => good.laid_out_table() + 112 * good.entries.len(),
        };
        let digest = version.digest_algorithm().digest(&bytes[..covered]);
        bytes[footer + 8..footer + 40].copy_from_slice(digest.as_bytes());
        refused(&bytes, EnvelopeRule::Padding);
    }
}

/// Removes a field anywhere in a JSON value by its pointer.
fn remove(value: &mut Value, pointer: &str) {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    let parent = value.pointer_mut(parent).unwrap();
    parent.as_object_mut().unwrap().remove(field).unwrap();
}

/// Pointers of every field of every object in a JSON value.
fn fields(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                found.push(format!("{at}/{key}"));
                fields(member, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                fields(item, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn every_field_is_required_and_has_its_type() {
    let mut checked = 0;
    for version in BOTH {
        let good = Forgery::of(version);
        let value: Value = serde_json::from_slice(&good.manifest).unwrap();
        let mut pointers = Vec::new();
        fields(&value, "", &mut pointers);
        for pointer in &pointers {
            let optional = pointer.ends_with("/indexDigest");
            let missing = good.clone().edit(|value| remove(value, pointer)).write();
            let rule = match pointer.as_str() {
                "/digestAlgorithm" => EnvelopeRule::DigestAlgorithm,
                _ => EnvelopeRule::ManifestField,
            };
            if optional {
                assert!(decode(&missing).is_ok(), "{pointer} may be absent");
            } else {
                refused(&missing, rule);
            }
            // It may be null; then the payload that it named is not referred to.
            let may_be_null = pointer.ends_with("/admissionState");
            for wrong in [
                json!(null),
                json!(1.5),
                json!({}),
                json!([["x"]]),
                json!("\u{1}"),
            ] {
                if *pointer == "/agents/0/modelVersion" || *pointer == "/agents/0/plasticityVersion"
                {
                    continue;
                }
                let rule = if wrong.is_null() && may_be_null {
                    EnvelopeRule::PayloadReference
                } else {
                    EnvelopeRule::ManifestField
                };
                let file = good
                    .clone()
                    .edit(|value| *value.pointer_mut(pointer).unwrap() = wrong);
                let said = refused(&file.write(), rule);
                let field = pointer.rsplit('/').next().unwrap();
                let parent = pointer.rsplit('/').nth(1).unwrap();
                assert!(
                    rule == EnvelopeRule::PayloadReference
                        || said.contains(field)
                        || said.contains(parent),
                    "{pointer}: {said}"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 200, "only {checked} wrong values were tried");
}

#[test]
fn what_the_version_says() {
    for version in BOTH {
        let good = Forgery::of(version);
        let edit = |change: fn(&mut Value)| good.clone().edit(change).write();
        refused(
            &edit(|value| value["envelopeVersion"] = json!(3)),
            EnvelopeRule::ManifestField,
        );
        let other = 3 - version.number();
        let swapped = good
            .clone()
            .edit(|value| value["envelopeVersion"] = json!(other));
        refused(&swapped.write(), EnvelopeRule::ManifestVersion);
        let other = EnvelopeVersion::try_from(other).unwrap().digest_algorithm();
        let swapped = good
            .clone()
            .edit(|value| value["digestAlgorithm"] = json!(other.name()));
        let said = refused(&swapped.write(), EnvelopeRule::DigestAlgorithm);
        assert!(said.contains("sha256") && said.contains("blake3"), "{said}");
        let unheard = edit(|value| value["digestAlgorithm"] = json!("md5"));
        refused(&unheard, EnvelopeRule::ManifestField);
    }
}

#[test]
fn rows_and_references() {
    for version in BOTH {
        let good = Forgery::of(version);
        let edit = |change: fn(&mut Value)| good.clone().edit(change).write();
        let rows = EnvelopeRule::PayloadRows;
        refused(&edit(|value| value["payloads"] = json!([])), rows);
        refused(
            &edit(|value| value["payloads"].as_array_mut().unwrap().swap(0, 1)),
            rows,
        );
        let said = refused(
            &edit(|value| value["payloads"][1]["byteLength"] = json!("9")),
            rows,
        );
        assert!(
            said.contains("payloads[1].byteLength says 9, the table says 8"),
            "{said}"
        );
        let zero = "0".repeat(64);
        let wrong = good
            .clone()
            .edit(|value| value["payloads"][0]["digest"] = json!(zero));
        refused(&wrong.write(), rows);

        let references = EnvelopeRule::PayloadReference;
        for pointer in [
            "/environment/payload",
            "/agents/0/payload",
            "/coordinator/taskLedger",
            "/coordinator/priorInspection",
            "/coordinator/executorState/0/payload",
            "/coordinator/admissionState",
        ] {
            for name in ["nowhere", "world", "agent-a"] {
                let file = good
                    .clone()
                    .edit(|value| *value.pointer_mut(pointer).unwrap() = json!(name));
                if file.manifest != good.manifest {
                    refused(&file.write(), references);
                }
            }
        }
        refused(
            &edit(|value| value["helperState"] = json!(["nowhere"])),
            references,
        );
        refused(
            &edit(|value| value["helperState"] = json!(["world"])),
            references,
        );
        refused(&edit(|value| value["agents"] = json!([])), references);
    }
}

#[test]
fn no_payloads_at_all_is_refused_by_reference_not_by_panic() {
    let mut empty = Forgery::of(EnvelopeVersion::Two);
    empty.entries.clear();
    empty.area.clear();
    let bytes = empty.edit(|value| value["payloads"] = json!([])).write();
    refused(&bytes, EnvelopeRule::PayloadReference);
}

#[test]
fn the_writer_refuses_what_a_reader_would() {
    let (good, payloads) = (manifest(EnvelopeVersion::Two), payloads());
    let views = views(&payloads);
    assert!(encode(&good, &views).is_ok());
    assert!(encode(&good, &views[1..]).is_err(), "a payload is missing");
    let mut extra = views.clone();
    extra.push((id("extra"), b"x"));
    assert!(encode(&good, &extra).is_err(), "a payload nobody refers to");
    extra.last_mut().unwrap().0 = id("world");
    assert!(encode(&good, &extra).is_err(), "a payload twice");
    let many: Vec<(Id, &[u8])> = (0..65)
        .map(|index| (id(&format!("n{index}")), &b""[..]))
        .collect();
    assert!(encode(&good, &many).is_err(), "65 payloads");
    let mut sha = good.clone();
    sha.digest_algorithm = None;
    assert!(encode(&sha, &views).is_err(), "no digest function");
    let mut null = good.clone();
    null.coordinator.admission_state = None;
    assert!(
        encode(&null, &views).is_err(),
        "a payload that nothing refers to any more"
    );
    let mut rows = decode(&encoded(EnvelopeVersion::Two)).unwrap().manifest;
    assert!(encode(&rows, &views).is_ok());
    rows.payloads[2].digest = Digest::blake3(b"other");
    assert!(
        encode(&rows, &views).is_err(),
        "rows that do not describe the payloads"
    );
}

/// No name is reserved: what counts is that each payload is referred to once, by whichever field.
#[test]
fn a_helper_may_bear_the_name_that_a_null_admission_state_leaves_free() {
    let admission = id("coordinator-admission");
    for version in BOTH {
        let payloads = payloads();
        let views = views(&payloads);
        let mut freed = manifest(version);
        freed.coordinator.admission_state = None;
        freed.helper_state.push(admission.clone());
        let bytes = encode(&freed, &views).unwrap();
        let read = decode(&bytes).unwrap();
        assert_eq!(read.manifest.helper_state, freed.helper_state);
        assert_eq!(read.payload(&admission), Some(views[5].1));
        assert_eq!(encode(&read.manifest, &views).unwrap(), bytes);

        let unnamed =
            Forgery::of(version).edit(|value| value["coordinator"]["admissionState"] = json!(null));
        let EnvelopeError::Unreferenced { name } = decode(&unnamed.write()).unwrap_err() else {
            panic!("in the table, and nothing refers to it");
        };
        assert_eq!(name, admission);

        let twice = Forgery::of(version)
            .edit(|value| value["helperState"] = json!(["coordinator-admission"]));
        let EnvelopeError::ReferenceRepeated { first, second, .. } =
            decode(&twice.write()).unwrap_err()
        else {
            panic!("two fields refer to it");
        };
        assert_eq!(
            (first.as_str(), second.as_str()),
            ("coordinator.admissionState", "helperState[0]")
        );

        let absent = Forgery::with(&freed, &payloads[..5]);
        let EnvelopeError::ReferenceMissing { field, .. } = decode(&absent.write()).unwrap_err()
        else {
            panic!("not in the table");
        };
        assert_eq!(field, "helperState[0]");
    }
}
