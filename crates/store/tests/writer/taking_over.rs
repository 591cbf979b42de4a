//! Oracle: who takes whose place, and whose a slot is that becomes free, at the default capacity and above.

use futures::executor::block_on;
use futures::future::ready;
use wellwritten_store::{SaveKind, SaveOutcome, SaveRefusal, WriterConfig};

use crate::stage::{Stage, capture, id};

use SaveKind::{Durable, Replaceable};

const MIB: u64 = 1 << 20;

fn default_stage() -> Stage {
    let config = WriterConfig::default();
    assert_eq!(config.queue_capacity, 2);
    Stage::new(config.queue_capacity, config.queued_bytes_max)
}

fn taken(stage: &Stage) -> u64 {
    stage.writer.statistics().outstanding
}

#[test]
fn a_waiting_replaceable_save_is_superseded_at_the_default_capacity() {
    let stage = default_stage();
    let (_, first) = stage.save(Replaceable, "a", 10).unwrap();
    let (second, second_held) = stage.save(Replaceable, "b", 20).unwrap();
    let (_, third) = stage.save(Replaceable, "c", 30).unwrap();
    assert_eq!(
        second.try_outcome(),
        Some(SaveOutcome::Superseded {
            checkpoint_id: id("b"),
            boundary: 10,
            by: id("c")
        })
    );
    assert!(second_held.upgrade().is_none(), "released");
    assert!(first.upgrade().is_some() && third.upgrade().is_some());
    assert_eq!(taken(&stage), 2);
    assert_eq!(stage.writer.statistics().held_bytes, 40);
    stage.turn();
    stage.route.commit();
    stage.turn();
    stage.route.commit();
    stage.turn();
    assert_eq!(stage.route.saves(), ["a", "c"], "nothing of b was written");
    assert_eq!(
        stage.told(),
        [
            "queued a",
            "queued b",
            "superseded b by c",
            "queued c",
            "committed a",
            "committed c"
        ]
    );
}

#[test]
fn a_durable_save_is_never_superseded_and_never_supersedes() {
    let stage = default_stage();
    stage.save(Durable, "a", 10).unwrap();
    stage.save(Durable, "b", 10).unwrap();
    let full = SaveRefusal::Full { capacity: 2 };
    assert_eq!(stage.writer.reserve(Replaceable, 10).unwrap_err(), full);
    let stage = default_stage();
    stage.save(Durable, "a", 10).unwrap();
    stage.save(Replaceable, "b", 10).unwrap();
    assert_eq!(stage.writer.reserve(Durable, 10).unwrap_err(), full);
}

#[test]
fn what_is_under_way_is_not_superseded() {
    let stage = Stage::new(1, MIB);
    stage.save(Replaceable, "a", 10).unwrap();
    let full = SaveRefusal::Full { capacity: 1 };
    assert_eq!(stage.writer.reserve(Replaceable, 10).unwrap_err(), full);
}

#[test]
fn a_save_that_starts_during_the_capture_is_saved_and_the_capture_has_a_slot() {
    let stage = default_stage();
    stage.save(Replaceable, "a", 10).unwrap();
    let (bound, _) = stage.save(Replaceable, "b", 10).unwrap();
    stage.turn();
    let slot = stage.writer.reserve(Replaceable, 10).unwrap();
    assert_eq!(taken(&stage), 2, "it stands for the slot of b");
    stage.route.commit();
    stage.turn();
    assert_eq!(stage.route.saves(), ["a", "b"], "b started");
    assert_eq!(taken(&stage), 2, "the slot of a is the reservation's");
    let full = SaveRefusal::Full { capacity: 2 };
    assert_eq!(stage.writer.reserve(Durable, 10).unwrap_err(), full);
    let (request, _) = capture("c", 10);
    let ticket = stage.writer.submit(slot, request).unwrap();
    assert_eq!(bound.try_outcome(), None);
    for _ in 0..2 {
        stage.route.commit();
        stage.turn();
    }
    assert!(bound.try_outcome().unwrap().is_committed());
    assert!(ticket.try_outcome().unwrap().is_committed());
}

#[test]
fn a_save_that_ends_during_the_capture_leaves_it_its_slot() {
    let stage = default_stage();
    stage.save(Replaceable, "a", 10).unwrap();
    stage.save(Replaceable, "b", 10).unwrap();
    stage.turn();
    let slot = stage.writer.reserve(Replaceable, 10).unwrap();
    for _ in 0..2 {
        stage.route.commit();
        stage.turn();
    }
    assert_eq!(taken(&stage), 1);
    let (request, _) = capture("c", 10);
    stage.writer.submit(slot, request).unwrap();
    assert_eq!(taken(&stage), 1);
    assert_eq!(
        stage.told(),
        [
            "queued a",
            "queued b",
            "committed a",
            "committed b",
            "queued c"
        ]
    );
}

#[test]
fn a_reservation_that_is_dropped_leaves_the_save_to_the_next() {
    let stage = default_stage();
    stage.save(Replaceable, "a", 10).unwrap();
    let (bound, _) = stage.save(Replaceable, "b", 10).unwrap();
    let slot = stage.writer.reserve(Replaceable, 10).unwrap();
    let full = SaveRefusal::Full { capacity: 2 };
    assert_eq!(stage.writer.reserve(Replaceable, 10).unwrap_err(), full);
    drop(slot);
    assert_eq!((taken(&stage), bound.try_outcome()), (2, None));
    let slot = stage.writer.reserve(Replaceable, 10).unwrap();
    let (request, _) = capture("d", 10);
    stage.writer.submit(slot, request).unwrap();
    assert!(
        matches!(bound.try_outcome(), Some(SaveOutcome::Superseded { by, .. }) if by == id("d"))
    );
}

/// With a slot of its own by then, the capture still takes the place of the save it was promised.
#[test]
fn a_slot_that_is_left_over_after_superseding_is_free_again() {
    let stage = Stage::new(3, MIB);
    stage.save(Durable, "a", 10).unwrap();
    stage.save(Durable, "b", 10).unwrap();
    let (bound, _) = stage.save(Replaceable, "c", 10).unwrap();
    stage.turn();
    let slot = stage.writer.reserve(Replaceable, 10).unwrap();
    stage.route.commit();
    stage.turn();
    assert_eq!(taken(&stage), 3);
    let (request, _) = capture("d", 10);
    stage.writer.submit(slot, request).unwrap();
    assert!(matches!(
        bound.try_outcome(),
        Some(SaveOutcome::Superseded { .. })
    ));
    assert_eq!(taken(&stage), 2);
    stage.save(Durable, "e", 10).unwrap();
    assert_eq!(
        stage.told()[3..],
        ["committed a", "superseded c by d", "queued d", "queued e"]
    );
}

/// Two captures without slots: the one whose save starts gets the slot, whoever came first.
#[test]
fn the_slot_goes_to_whose_save_starts() {
    let stage = Stage::new(3, MIB);
    stage.save(Durable, "a", 10).unwrap();
    let (first, _) = stage.save(Replaceable, "b", 10).unwrap();
    let (second, _) = stage.save(Replaceable, "c", 10).unwrap();
    stage.turn();
    let over_first = stage.writer.reserve(Replaceable, 10).unwrap();
    let over_second = stage.writer.reserve(Replaceable, 10).unwrap();
    drop(over_first);
    let over_first = stage.writer.reserve(Replaceable, 10).unwrap();
    stage.route.commit();
    stage.turn();
    assert_eq!(taken(&stage), 3);
    let (request, _) = capture("d", 10);
    stage.writer.submit(over_first, request).unwrap();
    assert_eq!(first.try_outcome(), None, "it had started");
    let (request, _) = capture("e", 10);
    stage.writer.submit(over_second, request).unwrap();
    assert!(
        matches!(second.try_outcome(), Some(SaveOutcome::Superseded { by, .. }) if by == id("e"))
    );
    assert_eq!(taken(&stage), 3);
}

#[test]
fn the_bytes_of_the_superseded_one_are_the_captures_to_use() {
    let stage = Stage::new(2, 100);
    stage.save(Durable, "a", 10).unwrap();
    let (bound, _) = stage.save(Replaceable, "b", 80).unwrap();
    let refused = SaveRefusal::OverBudget {
        held_bytes: 10,
        asked_bytes: 91,
        limit_bytes: 100,
    };
    assert_eq!(stage.writer.reserve(Replaceable, 91).unwrap_err(), refused);
    let slot = stage.writer.reserve(Replaceable, 90).unwrap();
    let (request, held) = capture("c", 91);
    assert_eq!(stage.writer.submit(slot, request).unwrap_err(), refused);
    assert!(held.upgrade().is_none());
    assert_eq!(
        (bound.try_outcome(), taken(&stage)),
        (None, 2),
        "nothing happened"
    );
    stage.save(Replaceable, "c", 90).unwrap();
    assert!(matches!(
        bound.try_outcome(),
        Some(SaveOutcome::Superseded { .. })
    ));
    assert_eq!(stage.writer.statistics().held_bytes, 100);
    let closed = block_on(stage.writer.close(ready(())));
    assert_eq!(closed.len(), 2);
}

#[test]
fn payloads_go_to_the_store_as_they_are() {
    let stage = default_stage();
    let (request, _) = capture("a", 1000);
    let address = (*request.payloads[0].1).as_ref().as_ptr();
    let slot = stage.writer.reserve(Durable, 1000).unwrap();
    stage.writer.submit(slot, request).unwrap();
    stage.turn();
    assert_eq!(stage.route.payload_addresses(), [address]);
}
