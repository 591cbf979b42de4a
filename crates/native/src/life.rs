//! [`Life`]: one participant that was started.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use wellwritten_session::Transport;
use wellwritten_session::wire::{FrameChannel, Remote};

use crate::obituary::{ExplainedChannel, Obituary};
use crate::process_life::RunningProcess;
use crate::{Incarnation, LaunchError};

/// What a participant runs as.
pub(crate) enum Body {
    /// A part of the coordinator's thread; a task of its own where it is reached over a socket.
    Here(Option<AbortHandle>),
    /// A thread; waking this makes it leave at the next point where it waits for something.
    Thread(Arc<Notify>),
    /// A process.
    Process(Rc<RunningProcess>),
}

/// One participant that was started, until it is known to have ended and after.
pub(crate) struct Life {
    pub incarnation: Incarnation,
    pub transport: Rc<dyn Transport>,
    pub obituary: Rc<Obituary>,
    pub body: Body,
    /// Whether its end is wanted, and so no failure.
    pub is_retiring: Cell<bool>,
    /// What runs on its behalf, and ends with it.
    pub _tasks: Tasks,
}

/// Tasks of this thread that end when this is dropped.
#[derive(Default)]
pub(crate) struct Tasks(Vec<AbortHandle>);

impl Tasks {
    pub(crate) fn spawn(&mut self, task: impl Future<Output = ()> + 'static) {
        self.0.push(tokio::task::spawn_local(task).abort_handle());
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

/// The coordinator's end of `channel`, driven by one of `tasks`; when it ends it says how the life ended.
pub(crate) fn route(
    channel: Rc<dyn FrameChannel>,
    obituary: &Rc<Obituary>,
    tasks: &mut Tasks,
) -> Rc<dyn Transport> {
    let (remote, driving) = Remote::new(Rc::new(ExplainedChannel {
        channel,
        obituary: obituary.clone(),
    }));
    tasks.spawn(driving);
    remote
}

impl Life {
    pub(crate) fn has_ended(&self) -> bool {
        self.obituary.read().is_some()
    }

    /// The error of a boot that did not come to its end.
    pub(crate) fn boot_deadline(incarnation: &Incarnation, deadline: Duration) -> LaunchError {
        LaunchError::BootDeadline {
            participant: incarnation.participant_id.clone(),
            milliseconds: deadline.as_millis(),
        }
    }

    /// Ends it at once, as far as the system lets: a process is killed, a thread leaves where it next waits. Its route ends
    /// with it, and says why.
    pub(crate) fn kill(&self) {
        match &self.body {
            Body::Here(task) => {
                if let Some(task) = task {
                    task.abort();
                }
            }
            Body::Thread(leave) => leave.notify_one(),
            Body::Process(process) => process.kill(),
        }
        if matches!(self.body, Body::Here(None)) {
            self.transport.close();
            self.obituary
                .write(crate::obituary::Ending::new("was ended"));
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.kill();
        self.transport.close();
        if let Body::Process(process) = &self.body {
            process.reap();
        }
    }
}
