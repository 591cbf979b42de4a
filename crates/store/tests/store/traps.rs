//! Where the traps and hazards that concern the store are tested: which test would fail if we had one. The names are
//! checked, what they test is checked by reading.
//!
//! A and C are the specification's traps "Store / durability" and "Envelope codec", S and K its hazards "Storage" and
//! "Checkpoints", in their order. Names are modules of these tests; `manifest` is `src/store_manifest/tests.rs`,
//! `crash` and `random` are `tests/crash_exploration` and `tests/random_sequences`, `native` and `envelope` the tests of
//! those crates. `-` is another crate's matter alone.
//!
//! | # | trap | what would fail |
//! | -- | --- | --- |
//! | A1 | a known id overwrites a generation | `behaviour::a_known_id_is_refused_before_anything_is_written` |
//! | A2 | a temporary is some id's file | `behaviour::ids_that_look_like_file_names_are_ids` |
//! | A3 | to keep 0 loses all | `behaviour::a_store_keeps_at_least_one_generation`; `pins::pruning_removes_the_files_of_what_it_drops_and_nothing_it_must_not` |
//! | A4 | two writers on one folder | `behaviour::a_second_opener_is_told_who_owns_the_store_and_may_look`; `native::a_lock_that_is_released_in_time_is_waited_for` |
//! | A5 | a failure after the commit point is told as a failed commit | `behaviour::whatever_fails_the_outcome_is_true_and_the_next_commit_works`, `behaviour::while_a_name_is_uncertain_nothing_the_older_manifest_lists_is_deleted` |
//! | A6 | what is left over stays for ever | `behaviour::opening_removes_leftovers_and_says_so_and_touches_nothing_else`, `behaviour::a_medium_that_does_not_remove_fills_only_so_far`; `crash::every_crash_shows_the_last_acknowledged_change_or_the_next` |
//! | A7 | the manifest is believed | `manifest::a_digest_that_fits_does_not_excuse_a_broken_rule`, `manifest::every_flipped_bit_and_every_cut_is_refused`, `manifest::another_spelling_of_the_same_content_is_refused` |
//! | A8 | no way round a damaged newest one, no filter, a mark on an abandoned future | `restore_selection::a_damaged_newest_generation_is_reported_and_the_next_is_taken_only_if_asked_for`, `restore_selection::the_newest_compatible_generation_is_taken_and_a_refusal_names_field_and_both_values`, `restore_selection::an_abandoned_future_is_taken_only_by_name` |
//! | A9 | a folder that is not synced, no reading back, no look at the room | `native::a_folder_is_made_with_what_is_above_it_and_is_the_same_when_it_is_there`; `behaviour::the_commit_order_is_the_one_promised`, `behaviour::a_full_medium_is_named_and_the_generation_before_still_loads` |
//! | A10 | a manifest that grows | `behaviour::the_manifest_does_not_grow_with_the_number_of_commits`, `manifest::retired_ids_are_the_newest_and_no_more_than_the_limit`, `pins::as_many_can_be_pinned_as_may_be_and_no_more` |
//! | C1 | the envelope is copied while it is made, and has no limit | `passes::a_save_hashes_each_payload_byte_twice_and_copies_none`; `envelope::a_long_file_takes_no_more_memory_than_a_short_one` |
//! | C2 | an offset is cut to 32 bits | `envelope::a_manifest_that_is_too_long_is_refused_by_all` |
//! | C3 | padding that nobody checks | `damage::every_flipped_byte_and_every_cut_of_a_small_checkpoint_is_detected`; `envelope::damaged_payloads_padding_and_gaps` |
//! | C4 | references that nobody checks | `requests::a_save_is_the_envelope_that_encoding_makes_with_the_record_of_its_manifest`; `envelope::rows_and_references` |
//! | C5 | six passes and as many copies | `passes::a_save_hashes_each_payload_byte_twice_and_copies_none`, `passes::a_restore_reads_once_and_hashes_twice` |
//! | S1 | a write that is short and does not say so | `behaviour::whatever_fails_the_outcome_is_true_and_the_next_commit_works`, `behaviour::a_full_medium_is_named_and_the_generation_before_still_loads` |
//! | S2 | a reload amid saves leaves half a file, and gigabytes | `crash::every_crash_shows_the_last_acknowledged_change_or_the_next`; `random::random_sequences_show_nothing_the_model_does_not` |
//! | S3 | a dead tab locks others out, and nobody can look | `requests::a_read_only_store_needs_no_lock_sees_what_its_owner_does_and_refuses_every_change`; `behaviour::a_dropped_commit_is_settled_by_the_next` |
//! | S4 | an error loses its name | `wire::every_variant_of_every_type_returns` |
//! | S5 | a payload without its record is seen, or stays | `behaviour::opening_removes_leftovers_and_says_so_and_touches_nothing_else`; `crash::every_single_sync_that_is_left_out_is_noticed` |
//! | K1 | a failed save lists something, or breaks the next | `behaviour::whatever_fails_the_outcome_is_true_and_the_next_commit_works` |
//! | K2 | the newest moves before the new one is durable | `crash::every_crash_shows_the_last_acknowledged_change_or_the_next`, `crash::a_kind_of_sync_that_is_left_out_is_noticed` |
//! | K3 | another composition is noticed after the first live byte changed | - |
//! | K4 | a refusal does not say what did not match | `restore_selection::the_newest_compatible_generation_is_taken_and_a_refusal_names_field_and_both_values`, `restore_selection::verification_finds_what_is_wrong_and_says_which` |
//! | K5 | a flipped byte passes | `damage::every_flipped_byte_and_every_cut_of_a_small_checkpoint_is_detected` |

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Every `.rs` file below `folder`, as one text.
fn sources(folder: &str) -> String {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    text
}

/// The tests that the table names and that are not there.
fn missing(table: &str) -> (usize, Vec<&str>) {
    let places = BTreeMap::from([
        ("manifest", sources("src/store_manifest")),
        ("wire", sources("src/store_wire")),
        ("crash", sources("tests/crash_exploration")),
        ("random", sources("tests/random_sequences")),
        ("native", sources("../native/tests")),
        ("envelope", sources("../envelope/tests")),
    ]);
    let own = sources("tests/store");
    let mut looked = 0;
    let mut missing = Vec::new();
    let rows = table.lines().filter(|line| line.starts_with("//! | "));
    for name in rows.flat_map(|row| row.split('`').skip(1).step_by(2)) {
        let (place, test) = name.split_once("::").unwrap_or(("", name));
        let source = places.get(place).unwrap_or(&own);
        looked += 1;
        if !source.contains(&format!("fn {test}(")) {
            missing.push(name);
        }
    }
    (looked, missing)
}

#[test]
fn every_test_that_the_table_names_is_there() {
    let (looked, missing) = missing(include_str!("traps.rs"));
    assert!(looked > 30, "{looked} names are too few to be all");
    assert_eq!(missing, Vec::<&str>::new());
}

/// Canary: one that is not there is noticed.
#[test]
fn a_test_that_is_gone_is_noticed() {
    let table = "//! | X | a trap | `damage::nobody_looks`; `crash::nor_here` |";
    assert_eq!(
        missing(table),
        (2, vec!["damage::nobody_looks", "crash::nor_here"])
    );
}
