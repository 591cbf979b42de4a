//! What goes over the sockets in one transition, seen from outside the session.

use std::cell::RefCell;
use std::rc::Rc;

use async_trait::async_trait;
use wellwritten_session::wire::{CallId, reply_frame, request_frame};
use wellwritten_session::{
    Id, ParticipantError, ParticipantFactory, Reply, Request, RouteEnd, Transport, TransportError,
};

/// One question and its answer.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    /// Which participant, by the order in which they were made.
    pub peer: usize,
    /// Bytes of the request on the socket.
    pub asked: usize,
    /// Bytes of the reply.
    pub answered: usize,
}

/// Everything that was asked, and what overlapped.
#[derive(Default)]
pub struct Log {
    /// Round trips that overlapped are one round.
    pub rounds: Vec<Vec<RoundTrip>>,
    /// The requests themselves, and whom they went to.
    pub requests: Vec<(usize, Request)>,
    outstanding: usize,
}

impl Log {
    fn asked(&mut self, peer: usize, request: &Request) -> (usize, usize) {
        let frame = request_frame(CallId(1), request).expect("it can be sent");
        if self.outstanding == 0 {
            self.rounds.push(Vec::new());
        }
        self.outstanding += 1;
        self.requests.push((peer, request.clone()));
        let round = self.rounds.len() - 1;
        self.rounds[round].push(RoundTrip {
            peer,
            asked: frame.encode().len(),
            answered: 0,
        });
        (round, self.rounds[round].len() - 1)
    }

    fn answered(&mut self, (round, place): (usize, usize), reply: &Reply) {
        let frame = reply_frame(CallId(1), reply).expect("it can be sent");
        self.outstanding -= 1;
        self.rounds[round][place].answered = frame.encode().len();
    }
}

/// A factory whose participants' routes are written down.
pub struct Recorded {
    pub factory: Rc<dyn ParticipantFactory>,
    pub log: Rc<RefCell<Log>>,
    pub made: RefCell<usize>,
}

impl Recorded {
    fn route(&self, inner: Rc<dyn Transport>) -> Rc<dyn Transport> {
        let peer = self.made.replace_with(|made| *made + 1);
        Rc::new(RecordedRoute {
            inner,
            peer,
            log: self.log.clone(),
        })
    }
}

#[async_trait(?Send)]
impl ParticipantFactory for Recorded {
    async fn make_environment(
        &self,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        let made = self.factory.make_environment(incarnation_id).await?;
        Ok(self.route(made))
    }

    async fn make_agent(
        &self,
        agent_id: &Id,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        let made = self.factory.make_agent(agent_id, incarnation_id).await?;
        Ok(self.route(made))
    }
}

struct RecordedRoute {
    inner: Rc<dyn Transport>,
    peer: usize,
    log: Rc<RefCell<Log>>,
}

#[async_trait(?Send)]
impl Transport for RecordedRoute {
    async fn call(&self, request: &Request) -> Result<Reply, TransportError> {
        let place = self.log.borrow_mut().asked(self.peer, request);
        let reply = self.inner.call(request).await?;
        self.log.borrow_mut().answered(place, &reply);
        Ok(reply)
    }

    fn close(&self) {
        self.inner.close();
    }

    fn end(&self) -> Option<&RouteEnd> {
        self.inner.end()
    }
}
