//! The traps of a writer that earlier ones fell into, each with where it is tested.
//!
//! | trap | here |
//! |---|---|
//! | B.1, design 10: a refusal over the budget fences a healthy session | it is a refusal of `submit` that changes nothing: [`a_refusal_over_the_budget_changes_nothing`]; the session's half is tested there |
//! | B.2, design 9: superseding cannot be reached at the default capacity | `taking_over::a_waiting_replaceable_save_is_superseded_at_the_default_capacity` and the races after it |
//! | B.3, design 11: bytes leave the budget before they are written | [`bytes_under_way_are_in_the_budget`] |
//! | B.4, design 12: encoding, hashing and copying on the session's thread | [`the_store_is_handed_the_capture_as_it_is`] |
//! | B.5: a save is told committed before it is told queued | `calling_back::an_observer_that_saves_is_told_in_the_order_in_which_it_happened`, and every random sequence |
//! | B.5: payloads, slot and outcome are held until everybody was told | `calling_back::an_outcome_is_seen_when_it_is_told_and_its_payloads_are_gone` |
//! | B.6: what committed and was rotated out since is taken for what never was | [`what_was_rotated_out_did_commit`] |
//! | B.7: a panic in the store poisons every later save, or leaves the queue stuck | [`a_panic_leaves_the_queue_going`], `lying_stores::every_lie_has_the_outcome_that_is_known` |
//! | B.8: giving up between handing in and waking leaves the save where it is | handing in does not wait, so that nothing can be given up in it: `waiting::a_driver_that_has_nothing_to_do_is_woken_and_not_before`, `waiting::all_waits_dropped_lose_nothing` |
//! | B.8: what was handed in is lost with its ticket | `waiting::all_waits_dropped_lose_nothing` |
//! | B.9: closing waits for a stalled store without an end | `behaviour::closing_is_bounded_and_tells_what_did_not_end` |
//! | B.9: a lost reply and an expired deadline are told with one word | [`outcomes_have_a_word_each`] |
//! | B.9: sums of bytes overflow | [`sums_of_bytes_do_not_overflow`] |
//! | B.9: a payload's name that is too long is found in the writer | names are `Id`s before they get here; what the format refuses otherwise is one failed save: [`what_cannot_be_encoded_is_one_failed_save`] |
//! | found here: a panic after the commit point is told as a failure, and the same state is saved twice | `lying_stores::every_lie_has_the_outcome_that_is_known` |
//! | found here: asking about a save that still waits says that it did not commit | `waiting::resolving_waits_for_the_save_and_then_asks_about_the_same_id` |

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use futures::executor::block_on;
use serde_json::json;
use wellwritten_envelope::U64;
use wellwritten_store::testing::{SampleGeneration, SimulatedMedium};
use wellwritten_store::{
    PayloadBytes, Resolution, SaveKind, SaveOutcome, SaveRefusal, Store, StoreClient, StoreConfig,
    Writer, WriterConfig,
};

use crate::controlled_route::Answer;
use crate::stage::{Stage, capture, id};

const MIB: u64 = 1 << 20;

/// A writer to a real store that keeps one generation.
fn real_writer() -> Rc<Writer> {
    let config = StoreConfig {
        keep_generations: 1,
    };
    let (store, _) = block_on(Store::open(SimulatedMedium::new(), config)).unwrap();
    let client = StoreClient::local(store);
    Writer::new(client, WriterConfig::default(), Rc::new(|_| {})).unwrap()
}

#[test]
fn a_refusal_over_the_budget_changes_nothing() {
    let stage = Stage::new(2, 100);
    stage.save(SaveKind::Durable, "a", 60).unwrap();
    let (before, told) = (stage.writer.statistics(), stage.told());
    let refused = SaveRefusal::OverBudget {
        held_bytes: 60,
        asked_bytes: 41,
        limit_bytes: 100,
    };
    // By the estimate, before anyone is asked; by the size, where the estimate was too low.
    assert_eq!(
        stage.writer.reserve(SaveKind::Durable, 41).unwrap_err(),
        refused
    );
    let slot = stage.writer.reserve(SaveKind::Durable, 40).unwrap();
    let (request, held) = capture("b", 41);
    assert_eq!(stage.writer.submit(slot, request).unwrap_err(), refused);
    assert!(held.upgrade().is_none());
    assert_eq!(stage.told(), told);
    let after = stage.writer.statistics();
    assert_eq!(after.rejected, before.rejected + 2);
    assert_eq!(
        (after.outstanding, after.held_bytes, after.queued),
        (1, 60, 1)
    );
    assert!(stage.writer.ticket(&id("b")).is_none());
    stage.save(SaveKind::Durable, "b", 40).unwrap();
}

/// A capture that can never fit does not keep smaller ones from being tried.
#[test]
fn a_capture_that_was_too_large_is_not_the_last() {
    let stage = Stage::new(2, 100);
    let slot = stage.writer.reserve(SaveKind::Durable, 0).unwrap();
    stage.writer.submit(slot, capture("a", 101).0).unwrap_err();
    assert_eq!(stage.writer.estimate(), 100);
    let slot = stage
        .writer
        .reserve(SaveKind::Durable, stage.writer.estimate())
        .unwrap();
    stage.writer.submit(slot, capture("a", 99).0).unwrap();
    assert_eq!(stage.writer.estimate(), 99);
}

#[test]
fn bytes_under_way_are_in_the_budget() {
    let stage = Stage::new(2, 100);
    stage.save(SaveKind::Durable, "a", 70).unwrap();
    stage.turn();
    assert_eq!(stage.route.saves(), ["a"]);
    assert_eq!(stage.writer.statistics().held_bytes, 70);
    stage.writer.reserve(SaveKind::Durable, 31).unwrap_err();
    stage.route.commit();
    // The store answered, and nobody looked: the bytes are still there.
    stage.writer.reserve(SaveKind::Durable, 31).unwrap_err();
    stage.turn();
    stage.save(SaveKind::Durable, "b", 100).unwrap();
    assert_eq!(stage.writer.statistics().peak_bytes, 100);
}

#[test]
fn the_store_is_handed_the_capture_as_it_is() {
    let stage = Stage::new(2, MIB);
    let first: PayloadBytes = Arc::new(vec![1_u8; 1000]);
    let second: PayloadBytes = Arc::new([2_u8; 10]);
    let addresses = [&first, &second].map(|bytes| (**bytes).as_ref().as_ptr());
    let (mut request, _) = capture("a", 0);
    request.payloads = vec![(id("world"), first), (id("task-ledger"), second)];
    let slot = stage.writer.reserve(SaveKind::Durable, 1010).unwrap();
    stage.writer.submit(slot, request).unwrap();
    assert_eq!(stage.route.payload_addresses(), []);
    stage.turn();
    assert_eq!(stage.route.payload_addresses(), addresses);
}

#[test]
fn what_was_rotated_out_did_commit() {
    let writer = real_writer();
    for name in ["a", "b"] {
        let slot = writer.reserve(SaveKind::Durable, 10).unwrap();
        let request = SampleGeneration::new(name, "e1", 10).to_save();
        let outcome = block_on(writer.submit(slot, request).unwrap().outcome());
        assert!(outcome.is_committed(), "{outcome:?}");
    }
    assert_eq!(
        block_on(writer.resolve(&id("a"))),
        Ok(Resolution::RotatedOut)
    );
    assert_eq!(
        block_on(writer.resolve(&id("z"))),
        Ok(Resolution::NotCommitted)
    );
}

#[test]
fn a_panic_leaves_the_queue_going() {
    let stage = Stage::new(2, MIB);
    let (first, _) = stage.save(SaveKind::Durable, "a", 10).unwrap();
    let (second, _) = stage.save(SaveKind::Durable, "b", 10).unwrap();
    stage.turn();
    stage.route.answer(Answer::Panics);
    stage.turn();
    stage
        .route
        .answer(Answer::resolved(Resolution::NotCommitted));
    stage.turn();
    assert!(matches!(
        first.try_outcome(),
        Some(SaveOutcome::Failed { .. })
    ));
    stage.route.commit();
    stage.turn();
    assert!(second.try_outcome().unwrap().is_committed());
    assert_eq!(stage.writer.statistics().outstanding, 0);
}

#[test]
fn outcomes_have_a_word_each() {
    let checkpoint_id = id("a");
    let boundary = 1;
    let message = String::new();
    let outcomes = [
        SaveOutcome::Committed {
            checkpoint_id: checkpoint_id.clone(),
            epoch: id("e1"),
            boundary,
            byte_length: U64(1),
            uncertainty: None,
            rotated_out: Vec::new(),
        },
        SaveOutcome::Failed {
            checkpoint_id: checkpoint_id.clone(),
            boundary,
            message: message.clone(),
        },
        SaveOutcome::Superseded {
            checkpoint_id: checkpoint_id.clone(),
            boundary,
            by: id("b"),
        },
        SaveOutcome::ReplyLost {
            checkpoint_id: checkpoint_id.clone(),
            boundary,
            message,
        },
        SaveOutcome::DeadlineExpired {
            checkpoint_id,
            boundary,
        },
    ];
    let words: BTreeSet<String> = outcomes
        .iter()
        .map(|outcome| json!(outcome)["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        words.into_iter().collect::<Vec<_>>(),
        [
            "committed",
            "deadlineExpired",
            "failed",
            "replyLost",
            "superseded"
        ]
    );
}

#[test]
fn sums_of_bytes_do_not_overflow() {
    let stage = Stage::new(2, u64::MAX);
    stage.save(SaveKind::Durable, "a", 10).unwrap();
    assert_eq!(
        stage
            .writer
            .reserve(SaveKind::Durable, u64::MAX)
            .unwrap_err(),
        SaveRefusal::OverBudget {
            held_bytes: 10,
            asked_bytes: u64::MAX,
            limit_bytes: u64::MAX
        }
    );
    drop(
        stage
            .writer
            .reserve(SaveKind::Durable, u64::MAX - 10)
            .unwrap(),
    );
}

#[test]
fn what_cannot_be_encoded_is_one_failed_save() {
    let writer = real_writer();
    let mut without_world = SampleGeneration::new("a", "e1", 10).to_save();
    without_world.payloads.remove(0);
    let slot = writer.reserve(SaveKind::Durable, 10).unwrap();
    let outcome = block_on(writer.submit(slot, without_world).unwrap().outcome());
    assert!(
        matches!(&outcome, SaveOutcome::Failed { message, .. } if message.contains("world")),
        "{outcome:?}"
    );
    let slot = writer.reserve(SaveKind::Durable, 10).unwrap();
    let whole = SampleGeneration::new("a", "e1", 10).to_save();
    let outcome = block_on(writer.submit(slot, whole).unwrap().outcome());
    assert!(outcome.is_committed());
}
