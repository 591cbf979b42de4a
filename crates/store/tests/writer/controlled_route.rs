//! A way to a store that a test answers itself.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use async_trait::async_trait;
use wellwritten_envelope::{Digest, Id, U64};
use wellwritten_store::{
    Certainty, CommitError, Committed, GenerationInfo, Resolution, SaveRequest, StoreGone,
    StoreReply, StoreRequest, StoreRoute,
};

/// What the store does with one request.
#[derive(Clone, Debug)]
pub enum Answer {
    Reply(Box<StoreReply>),
    Gone,
    Panics,
}

impl Answer {
    pub fn saved(result: Result<Committed, CommitError>) -> Self {
        Self::Reply(Box::new(StoreReply::Saved(result)))
    }

    pub fn resolved(resolution: Resolution) -> Self {
        Self::Reply(Box::new(StoreReply::Resolved(Ok(resolution))))
    }
}

#[derive(Default)]
struct Heard {
    /// The checkpoints of all requests to save, in the order in which they came.
    saves: Vec<Id>,
    /// The same of those to resolve.
    resolves: Vec<Id>,
    /// The addresses of the payloads' bytes.
    payload_addresses: Vec<*const u8>,
    /// The requests that have no answer yet, by the order in which they came.
    held: BTreeMap<usize, Held>,
    next: usize,
}

struct Held {
    checkpoint_id: Id,
    answer: Option<Answer>,
    waker: Option<Waker>,
}

/// Holds every request until the test answers it.
#[derive(Default)]
pub struct ControlledRoute {
    heard: RefCell<Heard>,
    /// Whether nobody is woken by an answer: a fault that a test must notice.
    pub wakes_nobody: Cell<bool>,
}

impl ControlledRoute {
    pub fn saves(&self) -> Vec<String> {
        let heard = self.heard.borrow();
        heard.saves.iter().map(Id::to_string).collect()
    }

    pub fn resolves(&self) -> Vec<String> {
        let heard = self.heard.borrow();
        heard.resolves.iter().map(Id::to_string).collect()
    }

    pub fn payload_addresses(&self) -> Vec<*const u8> {
        self.heard.borrow().payload_addresses.clone()
    }

    /// The checkpoint of the oldest request that the test has not answered.
    pub fn held(&self) -> Option<Id> {
        let heard = self.heard.borrow();
        let mut unanswered = heard.held.values().filter(|held| held.answer.is_none());
        unanswered.next().map(|held| held.checkpoint_id.clone())
    }

    /// Answers that request.
    pub fn answer(&self, answer: Answer) {
        let mut heard = self.heard.borrow_mut();
        let mut unanswered = heard.held.values_mut().filter(|held| held.answer.is_none());
        let held = unanswered.next().expect("a request is held");
        held.answer = Some(answer);
        let waker = held.waker.take();
        drop(heard);
        if let Some(waker) = waker.filter(|_| !self.wakes_nobody.get()) {
            waker.wake();
        }
    }

    pub fn commit(&self) {
        let checkpoint_id = self.held().expect("a save is held");
        self.answer(Answer::saved(Ok(committed(&checkpoint_id))));
    }

    fn hear(&self, request: &StoreRequest) -> usize {
        let heard = &mut *self.heard.borrow_mut();
        let checkpoint_id = match request {
            StoreRequest::Save(SaveRequest { manifest, payloads }) => {
                heard.saves.push(manifest.checkpoint_id.clone());
                let bytes = payloads.iter().map(|(_, bytes)| (**bytes).as_ref());
                heard.payload_addresses.extend(bytes.map(<[u8]>::as_ptr));
                &manifest.checkpoint_id
            }
            StoreRequest::Resolve { checkpoint_id } => {
                heard.resolves.push(checkpoint_id.clone());
                checkpoint_id
            }
            other => panic!("the writer asks for nothing else: {other:?}"),
        };
        let held = Held {
            checkpoint_id: checkpoint_id.clone(),
            answer: None,
            waker: None,
        };
        let number = heard.next;
        heard.next += 1;
        heard.held.insert(number, held);
        number
    }
}

#[async_trait(?Send)]
impl StoreRoute for ControlledRoute {
    async fn call(&self, request: StoreRequest) -> Result<StoreReply, StoreGone> {
        let held = Holding(self, self.hear(&request));
        let answer = poll_fn(|context| {
            let mut heard = self.heard.borrow_mut();
            let held = heard.held.get_mut(&held.1).expect("it is held");
            if held.answer.is_none() {
                held.waker = Some(context.waker().clone());
            }
            held.answer.take().map_or(Poll::Pending, Poll::Ready)
        })
        .await;
        drop(held);
        match answer {
            Answer::Reply(reply) => Ok(*reply),
            Answer::Gone => Err(StoreGone {
                reason: "the test ended it".to_owned(),
            }),
            // Without a message on the terminal for each.
            Answer::Panics => std::panic::resume_unwind(Box::new("the store panics")),
        }
    }
}

/// A request that is held; no longer, once its call ended or was dropped.
struct Holding<'route>(&'route ControlledRoute, usize);

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        self.0.heard.borrow_mut().held.remove(&self.1);
    }
}

/// A store's acknowledgment of a checkpoint of [`Stage`](crate::stage::Stage).
pub fn committed(checkpoint_id: &Id) -> Committed {
    Committed {
        generation: generation(checkpoint_id),
        certainty: Certainty::Durable,
        rotated_out: Vec::new(),
    }
}

pub fn generation(checkpoint_id: &Id) -> GenerationInfo {
    let name = |text: &str| text.parse().expect("an id");
    GenerationInfo {
        checkpoint_id: checkpoint_id.clone(),
        file: format!("{checkpoint_id}.flysess"),
        session_id: name("demo"),
        epoch: name("e1"),
        episode_id: name("episode-1"),
        boundary: U64(10),
        compatibility_digest: Digest::blake3(b"compatibility"),
        envelope_digest: Digest::blake3(b"envelope"),
        byte_length: U64(1000),
    }
}
