//! [`Remote`]: the coordinator's end of a channel.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};

use async_trait::async_trait;

use super::{CallId, ChannelError, FrameChannel, Inbox, MAX_CALLS_IN_FLIGHT, request_frame};
use crate::{Reply, Request, RouteEnd, RouteEnded, Transport, TransportError};

/// A route to a participant at the other end of a channel.
pub struct Remote {
    channel: Rc<dyn FrameChannel>,
    inbox: Inbox,
    next_call: Cell<u64>,
    calls: RefCell<BTreeMap<CallId, Pending>>,
    end: RouteEnd,
}

/// A call that waits for its reply.
struct Pending {
    method: &'static str,
    reply: Option<Reply>,
    waker: Option<Waker>,
}

/// Takes a call off the list when its caller is done with it, also when the caller was dropped.
struct Waiting<'a> {
    remote: &'a Remote,
    call_id: CallId,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.remote.calls.borrow_mut().remove(&self.call_id);
    }
}

impl Remote {
    /// A route over `channel`, and what has to run for as long as the route is used: it takes replies in, and ends with
    /// the channel.
    pub fn new(channel: Rc<dyn FrameChannel>) -> (Rc<Self>, impl Future<Output = ()> + use<>) {
        let remote = Rc::new(Self {
            channel,
            inbox: Inbox::new(),
            next_call: Cell::new(1),
            calls: RefCell::default(),
            end: RouteEnd::new(),
        });
        let driven = remote.clone();
        (remote, async move { driven.drive().await })
    }

    async fn drive(&self) {
        loop {
            let received = match self.channel.receive().await {
                Ok(frame) => self.take(frame),
                Err(error) => Err(reason_of(error)),
            };
            if let Err(reason) = received {
                return self.end_route(reason);
            }
        }
    }

    /// Gives a frame to whoever waits for it. One that nobody waits for is the reply to a call that was given up.
    fn take(&self, frame: super::ReceivedFrame) -> Result<(), Option<String>> {
        let not_a_reply =
            |error: &dyn std::fmt::Display| Some(format!("it answered what is no reply: {error}"));
        let incoming = self
            .inbox
            .open(frame)
            .map_err(|error| not_a_reply(&error))?;
        let call_id = incoming.call_id();
        if call_id == CallId::NONE {
            return Err(not_a_reply(&"it could not read what it was sent"));
        }
        let Some(method) = self.calls.borrow().get(&call_id).map(|call| call.method) else {
            return Ok(());
        };
        let reply = incoming
            .into_reply(method)
            .map_err(|error| not_a_reply(&error))?;
        if let Some(call) = self.calls.borrow_mut().get_mut(&call_id) {
            call.reply = Some(reply);
            if let Some(waker) = call.waker.take() {
                waker.wake();
            }
        }
        Ok(())
    }

    /// Cuts the route for good.
    fn end_route(&self, reason: Option<String>) {
        self.end.set(reason);
        self.channel.close();
        for call in self.calls.borrow_mut().values_mut() {
            if let Some(waker) = call.waker.take() {
                waker.wake();
            }
        }
    }

    async fn reply(&self, call_id: CallId) -> Result<Reply, TransportError> {
        poll_fn(|context| {
            let mut calls = self.calls.borrow_mut();
            let call = calls.get_mut(&call_id).expect("its caller has not left");
            if let Some(reply) = call.reply.take() {
                return Poll::Ready(Ok(reply));
            }
            if let Some(RouteEnded { reason }) = self.end.get() {
                return Poll::Ready(Err(TransportError::ReplyLost { reason }));
            }
            call.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

fn reason_of(error: ChannelError) -> Option<String> {
    match error {
        ChannelError::Closed { reason } => reason,
        malformed @ ChannelError::Malformed(_) => Some(malformed.to_string()),
    }
}

#[async_trait(?Send)]
impl Transport for Remote {
    async fn call(&self, request: &Request) -> Result<Reply, TransportError> {
        if let Some(RouteEnded { reason }) = self.end.get() {
            return Err(TransportError::RouteGone { reason });
        }
        if self.calls.borrow().len() >= MAX_CALLS_IN_FLIGHT {
            return Err(TransportError::TooManyCalls {
                limit: MAX_CALLS_IN_FLIGHT,
            });
        }
        let call_id = CallId(self.next_call.replace(self.next_call.get() + 1));
        let frame = request_frame(call_id, request)
            .map_err(|error| TransportError::Unsendable { error })?;
        let pending = Pending {
            method: request.call.method(),
            reply: None,
            waker: None,
        };
        self.calls.borrow_mut().insert(call_id, pending);
        let _waiting = Waiting {
            remote: self,
            call_id,
        };
        if let Err(error) = self.channel.send(frame).await {
            let reason = reason_of(error);
            self.end_route(reason.clone());
            return Err(TransportError::ReplyLost { reason });
        }
        self.reply(call_id).await
    }

    fn close(&self) {
        self.end_route(None);
    }

    fn end(&self) -> Option<&RouteEnd> {
        Some(&self.end)
    }
}
