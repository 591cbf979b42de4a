//! Oracle: two compatibility records differ in exactly the fields that were changed, by name and with
//! both values.

mod sample_envelope;

use sample_envelope::{id, manifest};
use wellwritten_envelope::{
    Compatibility, CompatibilityField, Digest, EnvelopeVersion, compare_compatibility,
};

#[test]
fn every_changed_field_is_named_with_both_values() {
    type Change = fn(&mut Compatibility);
    let changes: [(CompatibilityField, &str, Change); 6] = [
        (CompatibilityField::Backend, "backend", |it| {
            it.backend_digest = Digest::blake3(b"x");
        }),
        (CompatibilityField::Content, "content", |it| {
            it.content_digest = Digest::blake3(b"x");
        }),
        (CompatibilityField::Patch, "patch", |it| {
            it.patch_digest = Digest::blake3(b"x");
        }),
        (CompatibilityField::Controller, "controller", |it| {
            it.controller_digest = Digest::blake3(b"x");
        }),
        (CompatibilityField::Parser, "parser", |it| {
            it.parser_digest = Digest::blake3(b"x");
        }),
        (CompatibilityField::StateFormat, "state-format", |it| {
            it.state_format_id = id("f2");
        }),
    ];
    let stored = manifest(EnvelopeVersion::Two).compatibility;
    assert_eq!(compare_compatibility(&stored, &stored), []);
    let mut everything = stored.clone();
    for (field, name, change) in changes {
        let mut running = stored.clone();
        change(&mut running);
        change(&mut everything);
        let differences = compare_compatibility(&stored, &running);
        assert_eq!(differences.len(), 1);
        assert_eq!(differences[0].field, field);
        assert_eq!(serde_json::to_value(field).unwrap(), name);
        let said = differences[0].to_string();
        assert!(
            said.contains(name) && said.contains(&differences[0].stored),
            "{said}"
        );
        assert!(said.contains(&differences[0].running), "{said}");
        assert_ne!(differences[0].stored, differences[0].running);
    }
    assert_eq!(compare_compatibility(&stored, &everything).len(), 6);
}
