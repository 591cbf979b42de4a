//! [`Obituary`]: how one life of a participant ended.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use wellwritten_session::wire::{ChannelError, Frame, FrameChannel, ReceivedFrame};

/// How long the end of a channel waits to be told why: a process that has closed its socket is about to be gone.
const WAIT_FOR_REASON: Duration = Duration::from_secs(1);

/// How a life ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// What goes after the participant's name: "exited with status 3".
    pub how: String,
    /// The end of what it wrote to its standard streams, where it had some.
    pub output: Option<String>,
}

impl Ending {
    /// Characters of a participant's output that a sentence quotes.
    const QUOTED: usize = 320;

    pub(crate) fn new(how: impl Into<String>) -> Self {
        Self {
            how: how.into(),
            output: None,
        }
    }

    /// The ending of what panicked.
    pub(crate) fn of_panic(payload: &(dyn Any + Send)) -> Self {
        let message = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("with something that is no text");
        Self::new(format!("panicked: {message}"))
    }

    /// A sentence about it, with the end of what it had to say.
    pub(crate) fn sentence(&self) -> String {
        let said = self.output.as_deref().unwrap_or_default().trim();
        if said.is_empty() {
            return self.how.clone();
        }
        // A panic says what it is about before it says where it was.
        if let Some(panic) = said.rfind(" panicked at ") {
            let quoted: String = said[panic + 1..].chars().take(Self::QUOTED).collect();
            return format!("{}; it {quoted}", self.how);
        }
        let skipped = said.chars().count().saturating_sub(Self::QUOTED);
        let quoted: String = said.chars().skip(skipped).collect();
        let dots = if skipped > 0 { "..." } else { "" };
        format!("{}; it said last: {dots}{quoted}", self.how)
    }
}

/// Written once, when a life has ended; read by whoever waits for that.
#[derive(Default)]
pub(crate) struct Obituary {
    ending: RefCell<Option<Ending>>,
    written: Notify,
}

impl Obituary {
    pub(crate) fn new() -> Rc<Self> {
        Rc::default()
    }

    /// The first ending stays.
    pub(crate) fn write(&self, ending: Ending) {
        self.ending.borrow_mut().get_or_insert(ending);
        self.written.notify_waiters();
    }

    pub(crate) fn read(&self) -> Option<Ending> {
        self.ending.borrow().clone()
    }

    pub(crate) async fn wait(&self) -> Ending {
        loop {
            let written = self.written.notified();
            if let Some(ending) = self.read() {
                return ending;
            }
            written.await;
        }
    }

    /// Waits no longer than `limit`.
    pub(crate) async fn wait_for(&self, limit: Duration) -> Option<Ending> {
        tokio::time::timeout(limit, self.wait()).await.ok()
    }
}

/// A channel to a life that may end: the end of the one says how the other ended.
pub(crate) struct ExplainedChannel {
    pub channel: Rc<dyn FrameChannel>,
    pub obituary: Rc<Obituary>,
}

#[async_trait(?Send)]
impl FrameChannel for ExplainedChannel {
    async fn send(&self, frame: Frame) -> Result<(), ChannelError> {
        match self.channel.send(frame).await {
            Err(error) => Err(self.explain(error).await),
            sent => sent,
        }
    }

    async fn receive(&self) -> Result<ReceivedFrame, ChannelError> {
        match self.channel.receive().await {
            Err(error) => Err(self.explain(error).await),
            received => received,
        }
    }

    fn close(&self) {
        self.channel.close();
    }
}

impl ExplainedChannel {
    async fn explain(&self, error: ChannelError) -> ChannelError {
        let ChannelError::Closed { reason } = error else {
            return error;
        };
        let ending = self.obituary.wait_for(WAIT_FOR_REASON).await;
        ChannelError::Closed {
            reason: ending
                .map(|ending| format!("it {}", ending.sentence()))
                .or(reason),
        }
    }
}
