//! [`MemoryChannel`]: a channel within one thread.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;

use super::{ChannelError, Frame, FrameChannel, FrameDecoder, ReceivedFrame};

/// Frames that wait for a reader before a writer has to.
const CAPACITY: usize = 16;

/// One end of a channel whose both ends are in this thread: for a participant in the same program that is to be reached
/// through encoded messages, and for tests. Frames go through as the bytes a socket would carry.
pub struct MemoryChannel {
    outgoing: Rc<RefCell<Lane>>,
    incoming: Rc<RefCell<Lane>>,
}

/// One direction.
#[derive(Default)]
struct Lane {
    frames: VecDeque<Vec<u8>>,
    is_closed: bool,
    waiting: Vec<Waker>,
}

impl Lane {
    fn wait(&mut self, context: &Context<'_>) {
        self.waiting
            .retain(|waker| !waker.will_wake(context.waker()));
        self.waiting.push(context.waker().clone());
    }

    fn wake(lane: &RefCell<Self>) {
        let waiting = std::mem::take(&mut lane.borrow_mut().waiting);
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl MemoryChannel {
    /// Both ends.
    #[must_use]
    pub fn pair() -> (Rc<Self>, Rc<Self>) {
        let (one, other) = (Rc::default(), Rc::default());
        let end = |outgoing: &Rc<_>, incoming: &Rc<_>| {
            Rc::new(Self {
                outgoing: Rc::clone(outgoing),
                incoming: Rc::clone(incoming),
            })
        };
        (end(&one, &other), end(&other, &one))
    }

    /// Puts bytes in front of the other end that no frame became: what a broken participant sends.
    pub async fn send_bytes(&self, bytes: Vec<u8>) -> Result<(), ChannelError> {
        let mut bytes = Some(bytes);
        poll_fn(|context| {
            let mut lane = self.outgoing.borrow_mut();
            if lane.is_closed {
                return Poll::Ready(Err(ChannelError::Closed { reason: None }));
            }
            if lane.frames.len() >= CAPACITY {
                lane.wait(context);
                return Poll::Pending;
            }
            lane.frames.extend(bytes.take());
            drop(lane);
            Lane::wake(&self.outgoing);
            Poll::Ready(Ok(()))
        })
        .await
    }
}

#[async_trait(?Send)]
impl FrameChannel for MemoryChannel {
    async fn send(&self, frame: Frame) -> Result<(), ChannelError> {
        self.send_bytes(frame.encode()).await
    }

    async fn receive(&self) -> Result<ReceivedFrame, ChannelError> {
        let bytes = poll_fn(|context| {
            let mut lane = self.incoming.borrow_mut();
            let Some(bytes) = lane.frames.pop_front() else {
                if lane.is_closed {
                    return Poll::Ready(Err(ChannelError::Closed { reason: None }));
                }
                lane.wait(context);
                return Poll::Pending;
            };
            drop(lane);
            Lane::wake(&self.incoming);
            Poll::Ready(Ok(bytes))
        })
        .await?;
        let frame = FrameDecoder::new().take(&mut &bytes[..])?;
        frame.ok_or(ChannelError::Closed {
            reason: Some("the channel ended within a frame".to_owned()),
        })
    }

    fn close(&self) {
        for lane in [&self.outgoing, &self.incoming] {
            lane.borrow_mut().is_closed = true;
            Lane::wake(lane);
        }
    }
}
