//! Oracle: what a person would expect of a bounded queue, said step by step.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;

use futures::executor::block_on;
use futures::future::{pending, ready};
use wellwritten_envelope::Id;
use wellwritten_store::testing::{SampleGeneration, SimulatedMedium};
use wellwritten_store::{
    Committed, Resolution, SaveKind, SaveOutcome, SaveRefusal, Store, StoreClient, StoreConfig,
    Writer, WriterConfig, WriterConfigError, WriterStatistics,
};

use crate::controlled_route::{Answer, ControlledRoute, committed, generation};
use crate::stage::{Stage, capture, id, poll_once, words};

const MIB: u64 = 1 << 20;

#[test]
fn a_save_is_queued_then_committed_and_can_be_read() {
    let medium = SimulatedMedium::new();
    let (store, _) = block_on(Store::open(medium.clone(), StoreConfig::default())).unwrap();
    let client = StoreClient::local(store);
    let told = Rc::new(RefCell::new(Vec::new()));
    let observer = {
        let told = Rc::clone(&told);
        Rc::new(move |event| told.borrow_mut().push(words(&event)))
    };
    let writer = Writer::new(client.clone(), WriterConfig::default(), observer).unwrap();
    let sample = SampleGeneration::new("a", "e1", 10);
    let slot = writer
        .reserve(SaveKind::Durable, writer.estimate())
        .unwrap();
    let ticket = writer.submit(slot, sample.to_save()).unwrap();
    assert_eq!(ticket.try_outcome(), None);
    assert_eq!(*told.borrow(), ["queued a"]);
    let outcome = block_on(ticket.outcome());
    let SaveOutcome::Committed {
        checkpoint_id,
        boundary: 10,
        byte_length,
        uncertainty: None,
        ..
    } = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!(checkpoint_id, id("a"));
    assert_eq!(byte_length.get(), sample.bytes.len() as u64);
    assert_eq!(*told.borrow(), ["queued a", "committed a"]);
    assert_eq!(block_on(client.read(&id("a"))).unwrap(), sample.bytes);
    assert!(matches!(
        block_on(writer.resolve(&id("a"))).unwrap(),
        Resolution::Committed(_)
    ));
    assert_eq!(
        writer.statistics(),
        WriterStatistics {
            queued: 1,
            committed: 1,
            peak_queue: 1,
            peak_bytes: sample.to_save().byte_length(),
            ..WriterStatistics::default()
        }
    );
    assert_eq!(writer.estimate(), sample.to_save().byte_length());
}

#[test]
fn a_full_queue_refuses_before_anyone_is_asked_and_takes_on_again_later() {
    let stage = Stage::new(2, MIB);
    stage.save(SaveKind::Durable, "a", 10).unwrap();
    stage.save(SaveKind::Durable, "b", 10).unwrap();
    for kind in [SaveKind::Durable, SaveKind::Replaceable] {
        assert_eq!(
            stage.writer.reserve(kind, 0).unwrap_err(),
            SaveRefusal::Full { capacity: 2 }
        );
    }
    stage.turn();
    assert_eq!(stage.route.saves(), ["a"]);
    stage.route.commit();
    stage.turn();
    assert_eq!(stage.route.saves(), ["a", "b"]);
    stage.save(SaveKind::Durable, "c", 10).unwrap();
    stage.route.commit();
    stage.turn();
    stage.route.commit();
    stage.turn();
    assert_eq!(
        stage.told(),
        [
            "queued a",
            "queued b",
            "committed a",
            "queued c",
            "committed b",
            "committed c"
        ]
    );
    let statistics = stage.writer.statistics();
    assert_eq!(
        (statistics.queued, statistics.committed, statistics.rejected),
        (3, 3, 2)
    );
    assert_eq!((statistics.outstanding, statistics.held_bytes), (0, 0));
    assert_eq!((statistics.peak_queue, statistics.peak_bytes), (2, 20));
}

#[test]
fn a_slot_that_is_dropped_is_given_back() {
    let stage = Stage::new(1, MIB);
    let slot = stage.writer.reserve(SaveKind::Durable, 0).unwrap();
    assert_eq!(stage.writer.statistics().outstanding, 1);
    assert!(stage.writer.reserve(SaveKind::Durable, 0).is_err());
    drop(slot);
    assert_eq!(stage.writer.statistics().outstanding, 0);
    stage.save(SaveKind::Durable, "a", 1).unwrap();
}

#[test]
fn a_slot_of_another_writer_is_refused_and_stays_with_its_own() {
    let stage = Stage::new(1, MIB);
    let other = Stage::new(1, MIB);
    let slot = other.writer.reserve(SaveKind::Durable, 0).unwrap();
    let (request, held) = capture("a", 10);
    let refused = stage.writer.submit(slot, request).unwrap_err();
    assert_eq!(refused, SaveRefusal::ForeignSlot);
    assert!(held.upgrade().is_none());
    assert_eq!(other.writer.statistics().outstanding, 0);
    stage.save(SaveKind::Durable, "a", 1).unwrap();
}

#[test]
fn an_id_that_is_being_saved_is_refused() {
    let stage = Stage::new(3, MIB);
    let (ticket, _) = stage.save(SaveKind::Durable, "a", 10).unwrap();
    stage.save(SaveKind::Durable, "b", 10).unwrap();
    for name in ["a", "b"] {
        assert_eq!(
            stage.save(SaveKind::Durable, name, 10).unwrap_err(),
            SaveRefusal::AlreadyQueued {
                checkpoint_id: id(name)
            }
        );
        assert_eq!(
            stage.writer.ticket(&id(name)).unwrap().checkpoint_id(),
            &id(name)
        );
    }
    stage.turn();
    stage.route.commit();
    stage.turn();
    assert!(ticket.try_outcome().unwrap().is_committed());
    assert!(stage.writer.ticket(&id("a")).is_none());
    stage.save(SaveKind::Durable, "a", 10).unwrap();
}

#[test]
fn a_configuration_without_room_is_refused() {
    let refused = |queue_capacity, queued_bytes_max| {
        let config = WriterConfig {
            queue_capacity,
            queued_bytes_max,
        };
        let client = StoreClient::new(Rc::new(ControlledRoute::default()));
        Writer::new(client, config, Rc::new(|_| {})).unwrap_err()
    };
    assert_eq!(refused(0, 1), WriterConfigError::NoCapacity);
    assert_eq!(refused(1, 0), WriterConfigError::NoBytes);
}

#[test]
fn what_the_store_says_is_what_became_of_the_save() {
    let stage = Stage::new(2, MIB);
    let outcome_of = |name: &str, answers: &[Answer]| {
        let (ticket, held) = stage.save(SaveKind::Durable, name, 10).unwrap();
        for answer in answers {
            stage.turn();
            stage.route.answer(answer.clone());
        }
        stage.turn();
        assert!(held.upgrade().is_none(), "{name} is released");
        ticket.try_outcome().unwrap()
    };
    let message = |outcome: SaveOutcome| match outcome {
        SaveOutcome::Failed { message, .. } => format!("failed: {message}"),
        SaveOutcome::ReplyLost { message, .. } => format!("reply lost: {message}"),
        other => format!("{other:?}"),
    };
    let gone = message(outcome_of("a", &[Answer::Gone]));
    assert_eq!(gone, "reply lost: the store is gone: the test ended it");
    // It answers about another checkpoint.
    let other = Committed {
        generation: generation(&id("z")),
        ..committed(&id("z"))
    };
    let lies = message(outcome_of("b", &[Answer::saved(Ok(other))]));
    assert_eq!(
        lies,
        "reply lost: the store answered about `z` of epoch `e1` at 10"
    );
    let panicked = [Answer::Panics, Answer::resolved(Resolution::NotCommitted)];
    let panicked = message(outcome_of("c", &panicked));
    assert_eq!(panicked, "failed: the save panicked: the store panics");
    let listed = Resolution::Committed(Box::new(generation(&id("d"))));
    let listed = outcome_of("d", &[Answer::Panics, Answer::resolved(listed)]);
    assert!(
        matches!(&listed, SaveOutcome::Committed { uncertainty: Some(why), .. } if why.contains("panicked")),
        "{listed:?}"
    );
    let twice = message(outcome_of("e", &[Answer::Panics, Answer::Panics]));
    assert!(
        twice.starts_with("reply lost: the save panicked: the store panics"),
        "{twice}"
    );
    assert_eq!(stage.route.saves(), ["a", "b", "c", "d", "e"], "each once");
    assert_eq!(stage.route.resolves(), ["c", "d", "e"]);
    let statistics = stage.writer.statistics();
    assert_eq!(
        (
            statistics.committed,
            statistics.failed,
            statistics.reply_lost
        ),
        (1, 1, 3)
    );
}

#[test]
fn closing_waits_for_what_is_under_way() {
    let stage = Stage::new(2, MIB);
    stage.save(SaveKind::Durable, "a", 10).unwrap();
    stage.save(SaveKind::Durable, "b", 10).unwrap();
    let slot = stage.writer.reserve(SaveKind::Durable, 0).unwrap_err();
    assert_eq!(slot, SaveRefusal::Full { capacity: 2 });
    let mut close = pin!(stage.writer.close(pending()));
    assert!(poll_once(close.as_mut()).is_pending());
    stage.route.commit();
    assert!(poll_once(close.as_mut()).is_pending());
    stage.route.answer(Answer::Gone);
    let outcomes = block_on(close);
    let names: Vec<&Id> = outcomes.iter().map(SaveOutcome::checkpoint_id).collect();
    assert_eq!(names, [&id("a"), &id("b")]);
    assert!(outcomes[0].is_committed());
    assert!(matches!(outcomes[1], SaveOutcome::ReplyLost { .. }));
    assert_eq!(
        stage.told(),
        ["queued a", "queued b", "committed a", "reply lost b"]
    );
    block_on(stage.writer.drive());
}

#[test]
fn closing_is_bounded_and_tells_what_did_not_end() {
    let stage = Stage::new(3, MIB);
    let (first, first_held) = stage.save(SaveKind::Durable, "a", 10).unwrap();
    let (second, second_held) = stage.save(SaveKind::Replaceable, "b", 10).unwrap();
    let slot = stage.writer.reserve(SaveKind::Durable, 10).unwrap();
    let outcomes = block_on(stage.writer.close(ready(())));
    assert!(
        matches!(&outcomes[0], SaveOutcome::ReplyLost { .. }),
        "the store heard of it"
    );
    assert!(
        matches!(&outcomes[1], SaveOutcome::Failed { .. }),
        "it never did"
    );
    assert_eq!(outcomes.len(), 2);
    assert_eq!(first.try_outcome().as_ref(), Some(&outcomes[0]));
    assert_eq!(second.try_outcome().as_ref(), Some(&outcomes[1]));
    assert!(first_held.upgrade().is_none() && second_held.upgrade().is_none());
    let (request, held) = capture("c", 10);
    assert_eq!(
        stage.writer.submit(slot, request).unwrap_err(),
        SaveRefusal::Closed
    );
    assert!(held.upgrade().is_none());
    assert_eq!(
        stage.writer.reserve(SaveKind::Durable, 0).unwrap_err(),
        SaveRefusal::Closed
    );
    assert!(block_on(stage.writer.close(pending())).is_empty(), "again");
    block_on(stage.writer.drive());
    assert_eq!(
        stage.told(),
        ["queued a", "queued b", "reply lost a", "failed b"]
    );
    assert_eq!(stage.writer.statistics().outstanding, 0);
}
