//! Oracle: the generated TypeScript says of each field what its JSON is: counters, ids and digests are
//! strings, absent fields are optional, and every field of a sample is declared.
#![cfg(feature = "typescript")]

mod sample_envelope;

use sample_envelope::{encoded, manifest};
use serde_json::Value;
use tsify::Tsify;
use wellwritten_envelope::{
    AgentEntry, Compatibility, CompatibilityDifference, CoordinatorEntry, EnvelopeLayout,
    EnvelopeVersion, Manifest, PartState, RationalNs, Scope, describe,
};

/// Whether every field of the sample is declared as a string where it is one.
fn declares(declaration: &str, sample: &Value) -> bool {
    sample.as_object().unwrap().iter().all(|(field, value)| {
        let declared = declaration
            .split(['\n', ';', '{'])
            .find_map(|line| line.trim().strip_prefix(field.as_str()))
            .map(|kind| kind.trim_start_matches(['?', ':', ' ']));
        declared.is_some_and(|kind| {
            !value.is_string() || kind.starts_with("string") || kind.starts_with("DigestAlgorithm")
        })
    })
}

#[test]
fn the_types_of_a_manifest() {
    let sample = serde_json::to_value(manifest(EnvelopeVersion::Two)).unwrap();
    assert!(declares(Manifest::DECL, &sample), "{}", Manifest::DECL);
    assert!(
        declares(AgentEntry::DECL, &sample["agents"][0]),
        "{}",
        AgentEntry::DECL
    );
    assert!(
        declares(CoordinatorEntry::DECL, &sample["coordinator"]),
        "{}",
        CoordinatorEntry::DECL
    );
    assert!(
        declares(Compatibility::DECL, &sample["compatibility"]),
        "{}",
        Compatibility::DECL
    );
    assert!(
        declares(Scope::DECL, &sample["sourceScope"]),
        "{}",
        Scope::DECL
    );
    assert!(
        declares(RationalNs::DECL, &sample["worldTime"]),
        "{}",
        RationalNs::DECL
    );
    assert!(
        AgentEntry::DECL.contains("indexDigest?: string"),
        "{}",
        AgentEntry::DECL
    );
    assert!(
        Manifest::DECL.contains("envelopeVersion: 1 | 2"),
        "{}",
        Manifest::DECL
    );
}

#[test]
fn the_types_of_a_layout() {
    let layout = serde_json::to_value(describe(&encoded(EnvelopeVersion::Two))).unwrap();
    assert!(
        declares(EnvelopeLayout::DECL, &layout),
        "{}",
        EnvelopeLayout::DECL
    );
    assert!(
        PartState::DECL.contains("\"not-reached\""),
        "{}",
        PartState::DECL
    );
    assert!(CompatibilityDifference::DECL.contains("stored: string"));
}

#[test]
fn canary_a_wrong_declaration_is_noticed() {
    let sample = serde_json::json!({"step": "42"});
    assert!(declares("interface Scope {\n    step: string;\n}", &sample));
    assert!(!declares(
        "interface Scope {\n    step: number;\n}",
        &sample
    ));
    assert!(!declares(
        "interface Scope {\n    epoch: string;\n}",
        &sample
    ));
}
