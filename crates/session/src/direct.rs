//! [`Direct`]: a participant in the same program.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use async_trait::async_trait;
use wellwritten_envelope::Id;

use crate::{Agent, Environment, ParticipantRuntime, Reply, Request, Transport, TransportError};

/// The in-memory transport: a call runs the participant within the caller's own turn, no bytes are copied.
pub struct Direct {
    runtime: ParticipantRuntime,
    closed: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

impl Direct {
    /// A route to a world that lives as `incarnation_id`.
    #[must_use]
    pub fn environment(
        session_id: Id,
        incarnation_id: Id,
        environment: Box<dyn Environment>,
    ) -> Rc<Self> {
        Self::new(ParticipantRuntime::environment(
            session_id,
            incarnation_id,
            environment,
        ))
    }

    /// A route to an agent that lives as `incarnation_id`.
    #[must_use]
    pub fn agent(session_id: Id, incarnation_id: Id, agent: Box<dyn Agent>) -> Rc<Self> {
        Self::new(ParticipantRuntime::agent(session_id, incarnation_id, agent))
    }

    /// A route to a runtime.
    #[must_use]
    pub fn new(runtime: ParticipantRuntime) -> Rc<Self> {
        Rc::new(Self {
            runtime,
            closed: Cell::new(false),
            waiting: RefCell::new(Vec::new()),
        })
    }

    /// Kills the participant: what it was doing is abandoned, and nobody reaches it again.
    pub fn kill(&self) {
        self.closed.set(true);
        let waiting = self.waiting.take();
        waiting.into_iter().for_each(Waker::wake);
    }
}

#[async_trait(?Send)]
impl Transport for Direct {
    async fn call(&self, request: &Request) -> Result<Reply, TransportError> {
        if self.closed.get() {
            return Err(TransportError::RouteGone { reason: None });
        }
        let mut handling = pin!(self.runtime.handle(request));
        poll_fn(|context| {
            // Looked at before every turn of the participant, so that a killed one does nothing more.
            if self.closed.get() {
                return Poll::Ready(Err(TransportError::ReplyLost { reason: None }));
            }
            let turn = handling.as_mut().poll(context);
            if self.closed.get() {
                return Poll::Ready(Err(TransportError::ReplyLost { reason: None }));
            }
            if turn.is_pending() {
                let mut waiting = self.waiting.borrow_mut();
                waiting.retain(|waker| !waker.will_wake(context.waker()));
                waiting.push(context.waker().clone());
            }
            turn.map(Ok)
        })
        .await
    }

    fn close(&self) {
        self.kill();
    }
}
