//! [`Tap`]: everything that is said between a session and its participants, and what is done to it on the way.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::task::Waker;

use async_trait::async_trait;
use wellwritten_session::wire::CallId;
use wellwritten_session::{
    Answer, Call, Id, MutationCertainty, Reply, Request, RequestId, RouteEnd, Scope, Transport,
    TransportError, U64,
};

use crate::Tamper;

/// One thing that was said.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are few of them, and they do not live long"
)]
pub enum Said {
    /// The session asked.
    Asked,
    /// The participant answered.
    Answered(Result<Reply, TransportError>),
}

/// One thing that was said, by whom, about what.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The participant asked, or answering.
    pub worker: Id,
    /// Which call of this tap it belongs to.
    pub call: CallId,
    /// What was asked.
    pub request: Request,
    /// What was said.
    pub said: Said,
}

impl Entry {
    /// The method asked for.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        self.request.call.method()
    }

    /// The step it is about.
    #[must_use]
    pub fn step(&self) -> Option<u64> {
        self.request.scope.as_ref().map(|scope| scope.step.0)
    }

    /// The answer, where it is one.
    #[must_use]
    pub fn answer(&self) -> Option<&Answer> {
        match &self.said {
            Said::Answered(Ok(reply)) => reply.outcome.as_ref().ok(),
            _ => None,
        }
    }
}

struct Planned {
    worker: Id,
    method: &'static str,
    step: Option<u64>,
    tamper: Tamper,
}

/// Everything that is said between a session and its participants.
#[derive(Default)]
pub struct Tap {
    entries: RefCell<Vec<Entry>>,
    planned: RefCell<Vec<Planned>>,
    calls: std::cell::Cell<u64>,
    is_deaf: std::cell::Cell<bool>,
    /// Who waits for something to be said.
    waiting: RefCell<Vec<Waker>>,
}

impl Tap {
    /// Plans what happens to the next call of a method to a worker, about `step` where one is named.
    pub fn plan(&self, worker: &Id, method: &'static str, step: Option<u64>, tamper: Tamper) {
        self.planned.borrow_mut().push(Planned {
            worker: worker.clone(),
            method,
            step,
            tamper,
        });
    }

    /// Whether everything that was planned has happened.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.planned.borrow().is_empty()
    }

    /// Remembers nothing from here on; for long runs.
    pub fn listen_no_more(&self) {
        self.is_deaf.set(true);
        self.entries.borrow_mut().clear();
    }

    /// What was said so far.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.borrow().clone()
    }

    /// What was said so far, which is then forgotten.
    #[must_use]
    pub fn drain(&self) -> Vec<Entry> {
        self.entries.take()
    }

    fn note(&self, worker: &Id, call: CallId, request: &Request, said: Said) {
        if self.is_deaf.get() {
            return;
        }
        self.entries.borrow_mut().push(Entry {
            worker: worker.clone(),
            call,
            request: request.clone(),
            said,
        });
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Waits until something was said that makes it so. Whoever waits does not ask again and again: in a browser, the
    /// messages it waits for would never get their turn.
    async fn until(&self, mut is_so: impl FnMut() -> bool) {
        std::future::poll_fn(|context| {
            if is_so() {
                return std::task::Poll::Ready(());
            }
            self.waiting.borrow_mut().push(context.waker().clone());
            std::task::Poll::Pending
        })
        .await;
    }

    fn take(&self, worker: &Id, request: &Request) -> Option<Tamper> {
        let step = request.scope.as_ref().map(|scope| scope.step.0);
        let mut planned = self.planned.borrow_mut();
        let found = planned.iter().position(|planned| {
            planned.worker == *worker
                && planned.method == request.call.method()
                && (planned.step.is_none() || planned.step == step)
        })?;
        Some(planned.remove(found).tamper)
    }

    fn has_answered(&self, worker: &Id, method: &str, step: Option<u64>) -> bool {
        self.entries.borrow().iter().any(|entry| {
            entry.worker == *worker
                && entry.method() == method
                && entry.step() == step
                && matches!(entry.said, Said::Answered(_))
        })
    }

    /// Errors that claim to have changed something under a code that says nothing was changed.
    #[must_use]
    pub fn dishonest_errors(&self) -> Vec<String> {
        let entries = self.entries.borrow();
        let errors = entries.iter().filter_map(|entry| match &entry.said {
            Said::Answered(Ok(reply)) => reply.outcome.as_ref().err(),
            _ => None,
        });
        errors
            .filter(|error| {
                error.code.changes_nothing() && error.mutation != MutationCertainty::None
            })
            .map(ToString::to_string)
            .collect()
    }
}

/// A route on which everything is heard, and some things are tampered with.
pub(crate) struct Tapped {
    pub worker: Id,
    pub route: Rc<dyn Transport>,
    pub tap: Rc<Tap>,
}

impl Tapped {
    async fn pass(&self, request: &Request) -> Result<Reply, TransportError> {
        let Some(tamper) = self.tap.take(&self.worker, request) else {
            return self.route.call(request).await;
        };
        let cut = || {
            Err(TransportError::ReplyLost {
                reason: Some("cut".to_owned()),
            })
        };
        match tamper {
            Tamper::LoseRequest => std::future::pending().await,
            Tamper::CutBeforeRequest => {
                self.route.close();
                return Err(TransportError::RouteGone {
                    reason: Some("cut".to_owned()),
                });
            }
            Tamper::LoseRewards => {
                let mut altered = request.clone();
                if let Call::Commit(commit) = &mut altered.call {
                    commit.rewards.clear();
                }
                return self.route.call(&altered).await;
            }
            _ => {}
        }
        let reply = self.route.call(request).await?;
        match tamper {
            Tamper::LoseReply => std::future::pending().await,
            Tamper::CutBeforeReply => {
                self.route.close();
                cut()
            }
            Tamper::Duplicate => {
                // Gone with everything it came with, as at a caller who has used it up.
                drop(reply);
                self.deliver(request).await
            }
            Tamper::AlterControls => {
                let mut altered = request.clone();
                if let Call::Advance(batch) = &mut altered.call {
                    for port in &mut batch.controls {
                        for button in &mut port.buttons {
                            button.down = !button.down;
                        }
                    }
                }
                self.deliver(&altered).await?;
                Ok(reply)
            }
            Tamper::Rename => {
                let renamed = Request {
                    request_id: RequestId(request.request_id.0 + 1_000_000),
                    ..request.clone()
                };
                self.deliver(&renamed).await?;
                Ok(reply)
            }
            Tamper::HoldUntil(other) => {
                let step = request.scope.as_ref().map(|scope| scope.step.0);
                let method = request.call.method();
                let is_answered = || self.tap.has_answered(&other, method, step);
                self.tap.until(is_answered).await;
                Ok(reply)
            }
            Tamper::ForeignWorker => Ok(Reply {
                worker_id: foreign("nobody"),
                ..reply
            }),
            Tamper::ForeignIncarnation => Ok(Reply {
                incarnation_id: foreign("incarnation-999"),
                ..reply
            }),
            Tamper::ForeignRequest => Ok(Reply {
                request_id: RequestId(reply.request_id.0 + 1),
                ..reply
            }),
            Tamper::ForeignScope => Ok(Reply {
                scope: reply.scope.map(|scope| Scope {
                    step: U64(scope.step.0 + 1),
                    ..scope
                }),
                ..reply
            }),
            Tamper::LoseRequest | Tamper::CutBeforeRequest | Tamper::LoseRewards => cut(),
        }
    }

    /// One more delivery, which is heard like every other.
    async fn deliver(&self, request: &Request) -> Result<Reply, TransportError> {
        self.heard(request, self.route.call(request)).await
    }

    async fn heard(
        &self,
        request: &Request,
        call: impl Future<Output = Result<Reply, TransportError>>,
    ) -> Result<Reply, TransportError> {
        let call_id = CallId(self.tap.calls.get());
        self.tap.calls.set(call_id.0 + 1);
        self.tap.note(&self.worker, call_id, request, Said::Asked);
        let reply = call.await;
        let said = Said::Answered(reply.clone());
        self.tap.note(&self.worker, call_id, request, said);
        reply
    }
}

fn foreign(text: &str) -> Id {
    Id::parse(text).expect("a legal id")
}

#[async_trait(?Send)]
impl Transport for Tapped {
    async fn call(&self, request: &Request) -> Result<Reply, TransportError> {
        self.heard(request, self.pass(request)).await
    }

    fn close(&self) {
        self.route.close();
    }

    fn end(&self) -> Option<&RouteEnd> {
        self.route.end()
    }
}
