//! A writer whose store a test plays, and everything it told.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, LazyLock, Weak};
use std::task::{Context, Poll, Waker};

use wellwritten_envelope::{Id, Manifest};
use wellwritten_store::testing::SampleGeneration;
use wellwritten_store::{
    PayloadBytes, SaveKind, SaveOutcome, SaveRefusal, SaveRequest, SaveTicket, StoreClient, Writer,
    WriterConfig, WriterEvent,
};

use crate::controlled_route::ControlledRoute;

pub fn id(text: &str) -> Id {
    text.parse().expect("an id")
}

/// A capture named `name` with one payload of `length` bytes, and a way to see whether anyone still holds it.
pub fn capture(name: &str, length: usize) -> (SaveRequest, Weak<Vec<u8>>) {
    static SAMPLE: LazyLock<Manifest> =
        LazyLock::new(|| SampleGeneration::new("sample", "e1", 10).manifest);
    let bytes = Arc::new(vec![7_u8; length]);
    let held = Arc::downgrade(&bytes);
    let bytes: PayloadBytes = bytes;
    let request = SaveRequest {
        manifest: Manifest {
            checkpoint_id: id(name),
            ..SAMPLE.clone()
        },
        payloads: vec![(id("world"), bytes)],
    };
    (request, held)
}

/// An event in a few words: `queued a`, `committed a`, `superseded a by b`.
pub fn words(event: &WriterEvent) -> String {
    match event {
        WriterEvent::Queued { checkpoint_id, .. } => format!("queued {checkpoint_id}"),
        WriterEvent::Ended(outcome) => {
            let name = outcome.checkpoint_id();
            match outcome {
                SaveOutcome::Committed { .. } => format!("committed {name}"),
                SaveOutcome::Failed { .. } => format!("failed {name}"),
                SaveOutcome::Superseded { by, .. } => format!("superseded {name} by {by}"),
                SaveOutcome::ReplyLost { .. } => format!("reply lost {name}"),
                other => format!("unexpected {other:?}"),
            }
        }
    }
}

/// Polls once, as whoever waits does.
pub fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

pub struct Stage {
    pub writer: Rc<Writer>,
    pub route: Rc<ControlledRoute>,
    pub told: Rc<RefCell<Vec<String>>>,
}

impl Stage {
    pub fn new(queue_capacity: usize, queued_bytes_max: u64) -> Self {
        let route = Rc::new(ControlledRoute::default());
        let told = Rc::new(RefCell::new(Vec::new()));
        let writer = Writer::new(
            StoreClient::new(Rc::<ControlledRoute>::clone(&route)),
            WriterConfig {
                queue_capacity,
                queued_bytes_max,
            },
            Rc::new({
                let told = Rc::clone(&told);
                move |event| told.borrow_mut().push(words(&event))
            }),
        );
        Self {
            writer: writer.expect("it is a configuration"),
            route,
            told,
        }
    }

    /// Reserves and hands in at once.
    pub fn save(
        &self,
        kind: SaveKind,
        name: &str,
        length: usize,
    ) -> Result<(SaveTicket, Weak<Vec<u8>>), SaveRefusal> {
        let slot = self.writer.reserve(kind, length as u64)?;
        let (request, held) = capture(name, length);
        Ok((self.writer.submit(slot, request)?, held))
    }

    /// One turn of whoever waits.
    pub fn turn(&self) {
        assert!(poll_once(self.writer.drive()).is_pending());
    }

    pub fn told(&self) -> Vec<String> {
        self.told.borrow().clone()
    }
}
