//! [`UnixChannel`]: frames over a Unix socket.

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, IoSlice};
use std::rc::Rc;

use async_trait::async_trait;
use futures::lock::Mutex;
use tokio::net::UnixStream;
use wellwritten_session::Artifact;
use wellwritten_session::wire::{
    ChannelError, Frame, FrameChannel, FrameDecoder, MAX_ATTACHMENTS, ReceivedFrame,
};

/// Bytes taken from the socket at once.
const READ_BYTES: usize = 64 << 10;

/// One end of a connected Unix socket.
///
/// Sending waits for as long as the other end does not read: what waits here is at most the one frame that is being
/// written, and what waits in the socket is as much as the system allows. A sender that is dropped half-way through a frame
/// spoils nothing: the next one finishes that frame first. Must be used within a tokio runtime with its IO driver on.
pub struct UnixChannel {
    stream: UnixStream,
    /// Held by who writes, so that frames never go into one another.
    turn: Mutex<()>,
    unsent: RefCell<Option<Unsent>>,
    reading: RefCell<Reading>,
    closed: Cell<bool>,
}

/// What is left of a frame that is being written.
struct Unsent {
    head: Vec<u8>,
    attachments: Vec<Artifact>,
    /// Bytes of all of it that are written.
    written: usize,
}

struct Reading {
    decoder: FrameDecoder,
    buffer: Box<[u8]>,
    /// Bytes of the buffer that are read and not decoded.
    filled: std::ops::Range<usize>,
}

impl UnixChannel {
    /// A channel over a connected stream.
    #[must_use]
    pub fn new(stream: UnixStream) -> Rc<Self> {
        Rc::new(Self {
            stream,
            turn: Mutex::new(()),
            unsent: RefCell::new(None),
            reading: RefCell::new(Reading {
                decoder: FrameDecoder::new(),
                buffer: vec![0; READ_BYTES].into_boxed_slice(),
                filled: 0..0,
            }),
            closed: Cell::new(false),
        })
    }

    /// A channel over a connected stream of the standard library, for instance one that came from another thread.
    pub fn from_std(stream: std::os::unix::net::UnixStream) -> io::Result<Rc<Self>> {
        stream.set_nonblocking(true)?;
        Ok(Self::new(UnixStream::from_std(stream)?))
    }

    /// Both ends of a new channel.
    pub fn pair() -> io::Result<(Rc<Self>, Rc<Self>)> {
        let (one, other) = UnixStream::pair()?;
        Ok((Self::new(one), Self::new(other)))
    }

    async fn finish_unsent(&self) -> io::Result<()> {
        while !self.is_all_written() {
            self.stream.writable().await?;
            match self.write_some() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                outcome => outcome?,
            }
        }
        *self.unsent.borrow_mut() = None;
        Ok(())
    }

    fn is_all_written(&self) -> bool {
        let unsent = self.unsent.borrow();
        unsent.as_ref().is_none_or(Unsent::is_all_written)
    }

    fn write_some(&self) -> io::Result<()> {
        let mut unsent = self.unsent.borrow_mut();
        let Some(unsent) = unsent.as_mut() else {
            return Ok(());
        };
        let written = {
            let mut slices = [IoSlice::new(&[]); 1 + MAX_ATTACHMENTS];
            let count = unsent.fill(&mut slices);
            self.stream.try_write_vectored(&slices[..count])?
        };
        unsent.written += written;
        Ok(())
    }

    /// The next frame out of what was read before.
    fn decode(&self) -> Result<Option<ReceivedFrame>, ChannelError> {
        let mut reading = self.reading.borrow_mut();
        let Reading {
            decoder,
            buffer,
            filled,
        } = &mut *reading;
        let mut rest = &buffer[filled.clone()];
        let taken = decoder.take(&mut rest);
        filled.start = filled.end - rest.len();
        Ok(taken?)
    }

    /// Reads what is there; false at the end of the stream.
    fn read_some(&self) -> io::Result<bool> {
        let mut reading = self.reading.borrow_mut();
        let count = self.stream.try_read(&mut reading.buffer)?;
        reading.filled = 0..count;
        Ok(count > 0)
    }

    /// The error of a channel at whose end the system says `error`, or nothing.
    fn ended(&self, error: Option<&io::Error>) -> ChannelError {
        let is_plain_end = error.is_none_or(|error| {
            matches!(
                error.kind(),
                ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::NotConnected
            )
        });
        let was_cut = self.reading.borrow().decoder.is_within_frame();
        let reason = match error {
            _ if self.closed.get() => None,
            Some(error) if !is_plain_end => Some(error.to_string()),
            _ if was_cut => Some("the stream ended within a frame".to_owned()),
            _ => None,
        };
        self.close();
        ChannelError::Closed { reason }
    }
}

impl Unsent {
    fn is_all_written(&self) -> bool {
        let attached: usize = self.attachments.iter().map(|it| it.bytes().len()).sum();
        self.written == self.head.len() + attached
    }

    /// Puts what is left into `slices`, and says how many there are.
    fn fill<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut skip = self.written;
        let mut count = 0;
        let attachments = self.attachments.iter().map(Artifact::bytes);
        for part in std::iter::once(&*self.head).chain(attachments) {
            let (_, left) = part.split_at(skip.min(part.len()));
            skip -= part.len() - left.len();
            if !left.is_empty() {
                slices[count] = IoSlice::new(left);
                count += 1;
            }
        }
        count
    }
}

#[async_trait(?Send)]
impl FrameChannel for UnixChannel {
    async fn send(&self, frame: Frame) -> Result<(), ChannelError> {
        let _turn = self.turn.lock().await;
        if self.closed.get() {
            return Err(ChannelError::Closed { reason: None });
        }
        // What someone else left half-way.
        let mut finished = self.finish_unsent().await;
        if finished.is_ok() {
            *self.unsent.borrow_mut() = Some(Unsent {
                head: frame.head(),
                attachments: frame.attachments().to_vec(),
                written: 0,
            });
            finished = self.finish_unsent().await;
        }
        finished.map_err(|error| self.ended(Some(&error)))
    }

    async fn receive(&self) -> Result<ReceivedFrame, ChannelError> {
        loop {
            if self.closed.get() {
                return Err(ChannelError::Closed { reason: None });
            }
            match self.decode() {
                Ok(Some(frame)) => return Ok(frame),
                Ok(None) => {}
                Err(error) => {
                    self.close();
                    return Err(error);
                }
            }
            let ready = self.stream.readable().await;
            match ready.and_then(|()| self.read_some()) {
                Ok(true) => {}
                Ok(false) => return Err(self.ended(None)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(self.ended(Some(&error))),
            }
        }
    }

    fn close(&self) {
        if !self.closed.replace(true) {
            // Whoever waits on either end is told by the system. A socket that is not connected any more needs none.
            let _ = rustix::net::shutdown(&self.stream, rustix::net::Shutdown::Both);
        }
    }
}

impl Drop for UnixChannel {
    fn drop(&mut self) {
        self.close();
    }
}
