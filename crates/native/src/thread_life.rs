//! Participants on threads of their own.

use std::any::Any;
use std::cell::Cell;
use std::future::Future;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use futures::channel::oneshot;
use futures::future::{Either, select};
use tokio::runtime;
use tokio::sync::Notify;
use tokio::task::LocalSet;
use wellwritten_session::ParticipantError;
use wellwritten_session::wire::{ServeEnd, serve};

use crate::in_process_life::ending_of;
use crate::life::{Body, Life, Tasks, route};
use crate::obituary::{Ending, Obituary};
use crate::{Incarnation, LaunchError, Made, UnixChannel};

type Making = Arc<dyn Fn(&Incarnation) -> Made + Send + Sync>;

/// How a thread came to its end.
enum ThreadEnd {
    Served(ServeEnd),
    Left,
    Failed(io::Error),
    Panicked(Box<dyn Any + Send>),
}

/// A thread that was not ready in time, and may go on for a while.
pub(crate) struct LateThread {
    pub error: LaunchError,
    /// None where nothing is left of it.
    pub life: Option<Life>,
}

impl From<LaunchError> for Box<LateThread> {
    fn from(error: LaunchError) -> Self {
        Self::new(LateThread { error, life: None })
    }
}

/// Starts a thread and waits until it has made its participant.
pub(crate) async fn start_thread(
    incarnation: Incarnation,
    making: Making,
    deadline: Duration,
) -> Result<Life, Box<LateThread>> {
    let participant = incarnation.participant_id.clone();
    let system = |what| {
        let participant = participant.clone();
        move |source| LaunchError::System {
            participant,
            what,
            source,
        }
    };
    let (ours, theirs) = UnixStream::pair().map_err(system("a pair of sockets"))?;
    let channel = UnixChannel::from_std(ours).map_err(system("a socket"))?;
    let leave = Arc::new(Notify::new());
    let (tell_made, made) = oneshot::channel();
    let (tell_end, ended) = oneshot::channel();
    let named = thread::Builder::new().name(participant.as_str().to_owned());
    let started = {
        let (leave, incarnation) = (leave.clone(), incarnation.clone());
        named.spawn(move || {
            let served = catch_unwind(AssertUnwindSafe(|| {
                live(&incarnation, &making, theirs, &leave, tell_made)
            }));
            // Nobody may be left to hear it.
            let _ = tell_end.send(match served {
                Ok(Ok(end)) => end,
                Ok(Err(error)) => ThreadEnd::Failed(error),
                Err(panic) => ThreadEnd::Panicked(panic),
            });
        })
    };
    started.map_err(system("no thread"))?;
    let obituary = Obituary::new();
    let mut tasks = Tasks::default();
    let transport = route(channel, &obituary, &mut tasks);
    let written = obituary.clone();
    tasks.spawn(async move {
        let end = ended.await.unwrap_or(ThreadEnd::Left);
        written.write(match end {
            ThreadEnd::Served(end) => ending_of(&end),
            ThreadEnd::Left => Ending::new("was ended"),
            ThreadEnd::Failed(error) => Ending::new(format!("could not go on: {error}")),
            ThreadEnd::Panicked(panic) => Ending::of_panic(&*panic),
        });
    });
    let life = Life {
        incarnation,
        transport,
        obituary,
        body: Body::Thread(leave),
        is_retiring: Cell::new(false),
        _tasks: tasks,
    };
    match tokio::time::timeout(deadline, made).await {
        Ok(Ok(Ok(()))) => Ok(life),
        Ok(Ok(Err(refused))) => Err(LaunchError::from(refused).into()),
        // It ended without a word about the participant.
        Ok(Err(_)) => Err(LaunchError::EndedInBoot {
            participant,
            ending: life.obituary.wait().await.sentence(),
        }
        .into()),
        Err(_) => {
            life.kill();
            Err(Box::new(LateThread {
                error: Life::boot_deadline(&life.incarnation, deadline),
                life: Some(life),
            }))
        }
    }
}

/// The life of a thread: makes its participant and serves it.
fn live(
    incarnation: &Incarnation,
    making: &Making,
    socket: UnixStream,
    leave: &Notify,
    tell_made: oneshot::Sender<Result<(), ParticipantError>>,
) -> io::Result<ThreadEnd> {
    let participant = match making(incarnation) {
        Ok(participant) => participant,
        Err(refused) => {
            let _ = tell_made.send(Err(refused));
            return Ok(ThreadEnd::Left);
        }
    };
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let _entered = runtime.enter();
    let channel = UnixChannel::from_std(socket)?;
    let served = Rc::new(participant.into_runtime(incarnation));
    let _ = tell_made.send(Ok(()));
    let serving = until(serve(served, channel), leave);
    Ok(LocalSet::new().block_on(&runtime, serving))
}

async fn until(serving: impl Future<Output = ServeEnd>, leave: &Notify) -> ThreadEnd {
    match select(pin!(serving), pin!(leave.notified())).await {
        Either::Left((end, _)) => ThreadEnd::Served(end),
        Either::Right(_) => ThreadEnd::Left,
    }
}
