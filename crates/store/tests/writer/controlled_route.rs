//! A way to a store that a test answers itself.

use std::cell::RefCell;
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
    /// Answers to the requests that are held; `None` until the test gives one.
    held: Vec<Held>,
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
}

impl ControlledRoute {
    pub fn saves(&self) -> Vec<String> {
        self.heard
            .borrow()
            .saves
            .iter()
            .map(Id::to_string)
            .collect()
    }

    pub fn resolves(&self) -> Vec<String> {
        let heard = self.heard.borrow();
        heard.resolves.iter().map(Id::to_string).collect()
    }

    pub fn payload_addresses(&self) -> Vec<*const u8> {
        self.heard.borrow().payload_addresses.clone()
    }

    /// The checkpoint that the store is being asked about, if any.
    pub fn held(&self) -> Option<Id> {
        let heard = self.heard.borrow();
        heard.held.last().map(|held| held.checkpoint_id.clone())
    }

    /// Answers the request that is held.
    pub fn answer(&self, answer: Answer) {
        let mut heard = self.heard.borrow_mut();
        let held = heard.held.last_mut().expect("a request is held");
        held.answer = Some(answer);
        let waker = held.waker.take();
        drop(heard);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub fn commit(&self) {
        let checkpoint_id = self.held().expect("a save is held");
        self.answer(Answer::saved(Ok(committed(&checkpoint_id))));
    }

    fn hear(&self, request: &StoreRequest) -> Id {
        let mut heard = self.heard.borrow_mut();
        let checkpoint_id = match request {
            StoreRequest::Save(SaveRequest { manifest, payloads }) => {
                heard.saves.push(manifest.checkpoint_id.clone());
                let bytes = payloads.iter().map(|(_, bytes)| (**bytes).as_ref());
                heard.payload_addresses.extend(bytes.map(<[u8]>::as_ptr));
                manifest.checkpoint_id.clone()
            }
            StoreRequest::Resolve { checkpoint_id } => {
                heard.resolves.push(checkpoint_id.clone());
                checkpoint_id.clone()
            }
            other => panic!("the writer asks for nothing else: {other:?}"),
        };
        heard.held.push(Held {
            checkpoint_id: checkpoint_id.clone(),
            answer: None,
            waker: None,
        });
        checkpoint_id
    }
}

#[async_trait(?Send)]
impl StoreRoute for ControlledRoute {
    async fn call(&self, request: StoreRequest) -> Result<StoreReply, StoreGone> {
        let _held = Forget(self, self.hear(&request));
        let answer = poll_fn(|context| {
            let mut heard = self.heard.borrow_mut();
            let held = heard.held.last_mut().expect("it is held until answered");
            if held.answer.is_none() {
                held.waker = Some(context.waker().clone());
            }
            held.answer.take().map_or(Poll::Pending, Poll::Ready)
        })
        .await;
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

/// Holds a request no longer, however its call ends.
struct Forget<'route>(&'route ControlledRoute, Id);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.0
            .heard
            .borrow_mut()
            .held
            .retain(|held| held.checkpoint_id != self.1);
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
