//! Participants on the coordinator's own thread.

use std::cell::Cell;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::Poll;

use async_trait::async_trait;
use wellwritten_session::wire::{ServeEnd, serve};
use wellwritten_session::{Direct, Reply, Request, Transport, TransportError};

use crate::life::{Body, Life, Tasks, route};
use crate::obituary::{Ending, Obituary};
use crate::{Incarnation, LaunchError, Made, Participant, UnixChannel};

/// Makes a participant; one that panics is an ending like any other.
pub(crate) fn make(
    incarnation: &Incarnation,
    making: impl FnOnce(&Incarnation) -> Made,
) -> Result<Participant, LaunchError> {
    let made = catch_unwind(AssertUnwindSafe(|| making(incarnation)));
    match made {
        Ok(made) => Ok(made?),
        Err(panic) => Err(LaunchError::EndedInBoot {
            participant: incarnation.participant_id.clone(),
            ending: Ending::of_panic(&*panic).sentence(),
        }),
    }
}

/// The ending of what served.
pub(crate) fn ending_of(end: &ServeEnd) -> Ending {
    Ending::new(match end {
        ServeEnd::Stopped => "stopped as it was told to".to_owned(),
        ServeEnd::Closed(error) => format!("stopped: {error}"),
    })
}

/// Starts a participant that is reached without a copy.
pub(crate) fn start_direct(
    incarnation: Incarnation,
    making: impl FnOnce(&Incarnation) -> Made,
) -> Result<Life, LaunchError> {
    let participant = make(&incarnation, making)?;
    let obituary = Obituary::new();
    let transport = Rc::new(CaughtDirect {
        direct: Direct::new(participant.into_runtime(&incarnation)),
        obituary: obituary.clone(),
    });
    Ok(Life {
        incarnation,
        transport,
        obituary,
        body: Body::Here(None),
        is_retiring: Cell::new(false),
        _tasks: Tasks::default(),
    })
}

/// A direct route on which a panic of the participant ends the participant, not the coordinator.
struct CaughtDirect {
    direct: Rc<Direct>,
    obituary: Rc<Obituary>,
}

impl CaughtDirect {
    /// Why the route is gone, where the participant ended by itself.
    fn reason(&self) -> Option<String> {
        let ending = self.obituary.read();
        ending.map(|ending| format!("it {}", ending.sentence()))
    }
}

#[async_trait(?Send)]
impl Transport for CaughtDirect {
    async fn call(&self, request: &Request) -> Result<Reply, TransportError> {
        let mut calling = self.direct.call(request);
        let called = poll_fn(|context| {
            // Nobody sees the participant again after it panicked: the route is cut.
            let polled = catch_unwind(AssertUnwindSafe(|| calling.as_mut().poll(context)));
            polled.unwrap_or_else(|panic| {
                self.obituary.write(Ending::of_panic(&*panic));
                self.direct.kill();
                Poll::Ready(Err(TransportError::ReplyLost { reason: None }))
            })
        })
        .await;
        match called {
            Err(TransportError::ReplyLost { reason: None }) => Err(TransportError::ReplyLost {
                reason: self.reason(),
            }),
            Err(TransportError::RouteGone { reason: None }) => Err(TransportError::RouteGone {
                reason: self.reason(),
            }),
            called => called,
        }
    }

    fn close(&self) {
        self.direct.close();
    }
}

/// Starts a participant that is reached over a pair of sockets.
pub(crate) fn start_socket_pair(
    incarnation: Incarnation,
    making: impl FnOnce(&Incarnation) -> Made,
) -> Result<Life, LaunchError> {
    let participant = make(&incarnation, making)?;
    let (ours, theirs) = UnixChannel::pair().map_err(|source| LaunchError::System {
        participant: incarnation.participant_id.clone(),
        what: "a pair of sockets",
        source,
    })?;
    let obituary = Obituary::new();
    let mut tasks = Tasks::default();
    let transport = route(ours, &obituary, &mut tasks);
    let runtime = Rc::new(participant.into_runtime(&incarnation));
    let serving = tokio::task::spawn_local(serve(runtime, theirs));
    let abort = serving.abort_handle();
    let written = obituary.clone();
    tasks.spawn(async move {
        let ending = match serving.await {
            Ok(end) => ending_of(&end),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => Ending::of_panic(&*panic),
                Err(_) => Ending::new("was ended"),
            },
        };
        written.write(ending);
    });
    Ok(Life {
        incarnation,
        transport,
        obituary,
        body: Body::Here(Some(abort)),
        is_retiring: Cell::new(false),
        _tasks: tasks,
    })
}
