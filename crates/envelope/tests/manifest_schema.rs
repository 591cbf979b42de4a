//! Oracle: the committed schema is the one the types give. What it accepts is held against the reader in
//! `tests/manifest_corpus.rs` and, by an independent validator, in `web/test/manifest-schema.test.ts`.

mod generated_file;

use generated_file::{is_stale, keep_up_to_date};
use wellwritten_envelope::manifest_schema;

const FILE: &str = "web/src/generated/manifest.schema.json";

#[test]
fn the_committed_schema_is_what_the_types_say() {
    let text = serde_json::to_string_pretty(&manifest_schema()).unwrap() + "\n";
    assert!(text.len() > 5_000, "{} bytes of schema", text.len());
    keep_up_to_date(&[(FILE.to_owned(), text)]);
}

#[test]
fn canary_another_schema_is_noticed() {
    let mut schema = manifest_schema();
    let most = &mut schema["$defs"]["ManifestVersion2"]["properties"]["payloads"]["maxItems"];
    assert_eq!(*most, 64);
    *most = 65.into();
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    assert!(is_stale(FILE, &text));
}
