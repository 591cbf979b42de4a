//! What observers are shown: every committed boundary once, whole, in the world's own bytes; and that nothing they do or
//! leave undone is felt by the session.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;

use futures::executor::block_on;
use futures::future::{join, poll_immediate};
use wellwritten_session::{
    CommittedSnapshot, GateVerdict, PublicationGate, PublishedEvent, QueryError, RationalNs,
    RestoreRequest, SessionEvent, SubscribeError, SubscribeOptions, Subscription, TraceVerdict,
    U64, compare_traces,
};

use crate::rig::{Rig, id};

const SNAPSHOTS: SubscribeOptions = SubscribeOptions {
    snapshots: true,
    task_events: false,
    session_events: false,
};

#[test]
fn every_committed_boundary_is_published_once_in_the_worlds_own_bytes() {
    let rig = Rig::ready();
    let watcher = rig.session.subscribe(SNAPSHOTS).unwrap();
    let first = watcher.try_snapshot().unwrap();
    assert_eq!(
        (first.scope.step, first.sequence, first.world_time),
        (U64(0), U64(1), RationalNs::ZERO)
    );
    assert_eq!(first.publisher_incarnation, id("publisher-e1"));
    assert_eq!((&first.episode_id, first.event_ids.len()), (&id("ep1"), 1));
    for agent in &first.agents {
        assert!(agent.selected_decision.is_none() && agent.applied_controls.is_none());
        assert_eq!(agent.telemetry.as_ref().unwrap().brain_ticks, U64(10));
    }
    assert!(first.media.audio.is_empty(), "nothing moved");
    drop(first);
    for boundary in 1..=20_u64 {
        rig.bench.seen.borrow_mut().clear();
        rig.steps(1);
        let shown = watcher.try_snapshot().unwrap();
        assert_eq!(
            (shown.scope.step, shown.sequence, shown.missed_before()),
            (U64(boundary), U64(boundary + 1), 0)
        );
        assert!(watcher.try_snapshot().is_none(), "once");
        let pixels = &shown.media.views[0].pixels;
        let seen = rig.bench.seen.borrow();
        assert!(seen.len() == 2 && seen.iter().all(|given| given.is_same(pixels)));
        assert!(
            Rc::ptr_eq(
                &rig.session.snapshot().unwrap(),
                &rig.session.snapshot().unwrap()
            ),
            "asking copies nothing"
        );
        for (agent, (name, port)) in shown.agents.iter().zip([("fly-a", "p1"), ("fly-b", "p2")]) {
            assert_eq!(agent.agent_id, id(name));
            assert_eq!(agent.applied_controls.as_ref().unwrap().port_id, id(port));
            assert!(agent.selected_decision.is_some() && agent.telemetry.is_some());
        }
        let (trace, _) = rig.session.trace();
        let behaviour = &trace.last().unwrap().behaviour;
        assert_eq!(shown.event_ids, behaviour.event_ids);
        assert_eq!(behaviour.published_boundary, Some(U64(boundary)));
        let decisions = shown.agents.iter().map(|it| it.selected_decision.as_ref());
        let decided = decisions.map(|it| it.unwrap().digest());
        let recorded = behaviour.agents.iter().map(|it| it.decision_digest);
        assert!(decided.eq(recorded), "of the transition that ended here");
    }
}

#[test]
fn a_stalled_observer_loses_only_its_own_data_and_is_told_how_much() {
    let rig = Rig::ready();
    let stalled = rig.session.subscribe(SNAPSHOTS).unwrap();
    let keen = rig.session.subscribe(SNAPSHOTS).unwrap();
    assert_eq!(keen.try_snapshot().unwrap().scope.step, U64(0));
    let held = stalled.try_snapshot().unwrap();
    rig.steps(1);
    let also_held = stalled.try_snapshot().unwrap();
    assert_eq!(keen.try_snapshot().unwrap().scope.step, U64(1));
    for boundary in 2..=20 {
        rig.steps(1);
        assert!(stalled.try_snapshot().is_none(), "it holds its two");
        let shown = keen.try_snapshot().unwrap();
        assert_eq!(
            (shown.scope.step, shown.missed_before()),
            (U64(boundary), 0)
        );
    }
    assert_eq!((held.scope.step, also_held.scope.step), (U64(0), U64(1)));
    drop(held);
    let latest = stalled.try_snapshot().unwrap();
    // Boundaries 2 to 19 were replaced by the ones after them.
    assert_eq!((latest.scope.step, latest.missed_before()), (U64(20), 18));
    assert!(stalled.try_snapshot().is_none());
    // A session nobody watches does the same.
    let alone = Rig::ready();
    alone.steps(20);
    let diff = compare_traces(&rig.session.trace().0, &alone.session.trace().0);
    assert_eq!((diff.verdict, diff.compared), (TraceVerdict::Equal, 20));
    assert_eq!(
        rig.session.behaviour_digest(),
        alone.session.behaviour_digest()
    );
    let counts = rig.session.status().publication;
    assert_eq!(
        (counts.accepted, counts.refused, counts.faulted),
        (21, 0, 0)
    );
}

#[test]
fn the_event_feed_keeps_the_last_64_and_says_what_it_dropped() {
    let rig = Rig::ready();
    let feed = rig
        .session
        .subscribe(SubscribeOptions {
            snapshots: false,
            task_events: true,
            session_events: false,
        })
        .unwrap();
    assert!(feed.try_events().is_none() && feed.try_snapshot().is_none());
    rig.steps(40);
    let batch = feed.try_events().unwrap();
    assert_eq!((batch.dropped_before, batch.events.len()), (16, 64));
    let (trace, _) = rig.session.trace();
    let issued: Vec<_> = trace
        .iter()
        .flat_map(|record| {
            let step = record.behaviour.acknowledged_boundary;
            let ids = record.behaviour.event_ids.iter();
            ids.map(move |id| (step, id.clone()))
        })
        .collect();
    assert_eq!(issued.len(), 80);
    let told = batch.events.iter().map(|event| match event {
        PublishedEvent::Task { scope, event } => (scope.step, event.id.clone()),
        PublishedEvent::Session { .. } => panic!("nobody asked for those"),
    });
    assert!(told.eq(issued[16..].iter().cloned()));
    rig.steps(1);
    let batch = feed.try_events().unwrap();
    assert_eq!((batch.dropped_before, batch.events.len()), (0, 2));
    assert!(feed.try_events().is_none());
}

#[test]
fn the_feed_tells_what_happens_to_the_session_in_order() {
    let rig = Rig::ready();
    let feed = rig
        .session
        .subscribe(SubscribeOptions {
            snapshots: false,
            task_events: false,
            session_events: true,
        })
        .unwrap();
    rig.bench.events.borrow_mut().clear();
    rig.steps(1);
    rig.save("one");
    rig.fail();
    let told: Vec<SessionEvent> = feed
        .try_events()
        .unwrap()
        .events
        .into_iter()
        .map(|event| match event {
            PublishedEvent::Session { event } => event,
            PublishedEvent::Task { .. } => panic!("nobody asked for those"),
        })
        .collect();
    assert!(told.len() > 5);
    assert_eq!(told, *rig.bench.events.borrow());
}

#[test]
fn a_subscription_that_is_dropped_holds_nothing_and_there_is_a_bound() {
    let rig = Rig::ready();
    let mut all: Vec<Subscription> = (0..Subscription::MAX_SUBSCRIPTIONS)
        .map(|_| rig.session.subscribe(SNAPSHOTS).unwrap())
        .collect();
    assert_eq!(
        rig.session.subscribe(SNAPSHOTS).err(),
        Some(SubscribeError::TooMany { limit: 128 })
    );
    let snapshot = rig.session.snapshot().unwrap();
    // The publisher, this test, and every queue.
    assert_eq!(Rc::strong_count(&snapshot), 130);
    let delivery = all[0].try_snapshot().unwrap();
    all.truncate(1);
    assert_eq!(Rc::strong_count(&snapshot), 3);
    assert_eq!(rig.session.status().publication.subscriptions, 1);
    all.clear();
    assert_eq!(
        Rc::strong_count(&snapshot),
        3,
        "what was taken is the observer's"
    );
    drop(delivery);
    assert_eq!(Rc::strong_count(&snapshot), 2);
    rig.steps(1);
    assert_eq!(Rc::strong_count(&snapshot), 1);
    assert!(rig.session.subscribe(SNAPSHOTS).is_ok());
}

#[test]
fn awaiting_gives_what_polling_gives_and_ends_with_the_session() {
    let rig = Rig::ready();
    let watcher = rig.session.subscribe(SubscribeOptions::default()).unwrap();
    let first = block_on(watcher.next_snapshot()).unwrap();
    assert_eq!(first.scope.step, U64(0));
    assert!(
        block_on(poll_immediate(watcher.next_snapshot())).is_none(),
        "not yet"
    );
    let (stepped, (second, batch)) = block_on(join(
        rig.session.step(),
        join(watcher.next_snapshot(), watcher.next_events()),
    ));
    assert_eq!(stepped.unwrap(), 1);
    assert_eq!(second.as_ref().unwrap().scope.step, U64(1));
    assert_eq!(batch.unwrap().events.len(), 2);
    // Both credits are out: the third comes when one is given back.
    rig.steps(1);
    {
        let mut third = pin!(watcher.next_snapshot());
        assert!(block_on(poll_immediate(third.as_mut())).is_none());
        drop(first);
        assert_eq!(block_on(third).unwrap().scope.step, U64(2));
    }
    rig.steps(1);
    let Rig { session, .. } = rig;
    let queries = session.queries();
    drop(session);
    // What waits can still be taken, then there is nothing more.
    assert_eq!(
        block_on(watcher.next_snapshot()).unwrap().scope.step,
        U64(3)
    );
    assert!(block_on(watcher.next_snapshot()).is_none());
    assert_eq!(block_on(watcher.next_events()).unwrap().events.len(), 4);
    assert!(block_on(watcher.next_events()).is_none());
    assert_eq!(
        queries.snapshot().unwrap_err(),
        QueryError::NothingPublished
    );
}

/// A gate that does as told, and notes what it was shown.
#[derive(Default)]
struct Gate {
    verdict: RefCell<Option<GateVerdict>>,
    asked: Cell<u64>,
}

impl PublicationGate for Gate {
    fn admit(&self, _snapshot: &CommittedSnapshot) -> GateVerdict {
        self.asked.set(self.asked.get() + 1);
        self.verdict.borrow().clone().unwrap_or(GateVerdict::Accept)
    }
}

#[test]
fn a_publication_that_is_refused_or_faults_costs_the_epoch_nothing_and_the_next_boundary_is_tried()
{
    let rig = Rig::ready();
    let watcher = rig.session.subscribe(SNAPSHOTS).unwrap();
    drop(watcher.try_snapshot());
    let gate = Rc::new(Gate::default());
    rig.session.set_publication_gate(Some(gate.clone()));
    rig.steps(1);
    for (verdict, refused, faulted) in [
        (GateVerdict::Refuse, 1, 0),
        (GateVerdict::Fault("the disk is full".to_owned()), 1, 1),
    ] {
        *gate.verdict.borrow_mut() = Some(verdict);
        rig.steps(1);
        let counts = rig.session.status().publication;
        assert_eq!(
            (counts.accepted, counts.refused, counts.faulted),
            (2, refused, faulted)
        );
        assert_eq!(
            rig.session.snapshot().unwrap().scope.step,
            U64(1),
            "what stood stands"
        );
    }
    let fault = rig.session.status().publication.last_fault;
    assert_eq!(fault.as_deref(), Some("the disk is full"));
    *gate.verdict.borrow_mut() = None;
    rig.steps(1);
    let latest = rig.session.snapshot().unwrap();
    assert_eq!((latest.scope.step, latest.sequence), (U64(4), U64(3)));
    assert_eq!(watcher.try_snapshot().unwrap().sequence, U64(3));
    assert_eq!(
        (gate.asked.get(), rig.session.phase().to_string()),
        (4, "Ready(4)".to_owned())
    );
    let published: Vec<_> = rig
        .session
        .trace()
        .0
        .iter()
        .map(|record| record.behaviour.published_boundary)
        .collect();
    assert_eq!(published, [Some(U64(1)), None, None, Some(U64(4))]);
    // Nothing else about the run is another.
    let other = Rig::ready();
    other.steps(4);
    let diff = compare_traces(&other.session.trace().0, &rig.session.trace().0);
    let fields: Vec<_> = diff
        .differences
        .iter()
        .map(|it| it.field.as_str())
        .collect();
    assert_eq!(fields, ["publishedBoundary", "publishedBoundary"]);
}

#[test]
fn a_failed_epoch_shows_nothing_and_a_restored_one_nothing_of_another_timeline() {
    let rig = Rig::ready();
    rig.steps(2);
    rig.save("at-2");
    rig.steps(1);
    let abandoned = rig.session.snapshot().unwrap();
    let watcher = rig.session.subscribe(SNAPSHOTS).unwrap();
    rig.fail();
    assert_eq!(
        rig.session.snapshot().unwrap_err(),
        QueryError::NothingPublished
    );
    assert!(rig.session.descriptor(None).is_ok());
    block_on(rig.session.replace_participants()).unwrap();
    block_on(rig.session.restore(RestoreRequest::default())).unwrap();
    let shown = watcher.try_snapshot().unwrap();
    assert_eq!(
        (shown.scope.epoch.as_str(), shown.scope.step),
        ("e2", U64(2))
    );
    assert_eq!((shown.sequence, shown.missed_before()), (U64(5), 1));
    assert_eq!(
        shown.publisher_incarnation,
        id("publisher-e1"),
        "the same publisher"
    );
    assert_eq!(shown.descriptor_revision, U64(1), "the same participants");
    for agent in &shown.agents {
        let said = (
            &agent.telemetry,
            &agent.selected_decision,
            &agent.applied_controls,
        );
        assert_eq!(said, (&None, &None, &None));
    }
    assert!(shown.event_ids.is_empty() && shown.media.audio.is_empty());
    let old = abandoned.attachments();
    for (_, artifact) in old {
        assert!(shown.attachments().all(|(_, new)| !new.is_same(artifact)));
    }
    rig.session.resume().unwrap();
    rig.steps(1);
    let shown = watcher.try_snapshot().unwrap();
    assert_eq!((shown.scope.step, shown.sequence), (U64(3), U64(6)));
    assert!(shown.agents.iter().all(|agent| agent.telemetry.is_some()));
}

#[test]
fn one_failing_commit_publishes_nothing() {
    let rig = Rig::ready();
    rig.steps(1);
    let watcher = rig.session.subscribe(SNAPSHOTS).unwrap();
    drop(watcher.try_snapshot());
    rig.bench.arm("fly-b.commit", crate::rig::Fault::Break);
    assert!(block_on(rig.session.step()).is_err());
    assert!(watcher.try_snapshot().is_none());
    assert_eq!(rig.session.status().publication.accepted, 2);
}
