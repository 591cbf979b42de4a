//! Reads, and everything else that waits for verdicts.

use std::pin::pin;

use futures::FutureExt as _;
use futures::future::{Either, select};
use wellwritten_memory::{
    BufferBinding, Failure, FailureKind, ReadRefusal, SubmissionId, Watch, Watched,
};

use crate::backend::{Copied, CopyForm, CopyRequest};
use crate::device::GuardedDevice;
use crate::device_state::Health;
use crate::error::ReadError;
use crate::launch_check::check_words;

impl GuardedDevice {
    /// Returns the bytes, or the report of why not. Submits at the call, not when it is first polled; the
    /// future waits for everything the bytes depend on. What is done after the call, a launch, a write, even
    /// freeing the buffer, does not change what it returns; only losing the device does. On the GPU it costs one
    /// copy, and one more out of the mapped range.
    ///
    /// # Errors
    /// [`ReadError::Unwritten`] when some byte was not last written by work that succeeded.
    pub fn read(
        &self,
        source: &BufferBinding,
    ) -> impl Future<Output = Result<Vec<u8>, ReadError>> + use<> {
        let read = self.read_as(source, CopyForm::Bytes);
        async move { Ok(read.await?.into_bytes()) }
    }

    /// As [`read`](Self::read), into an array of JavaScript: the bytes do not pass through wasm's memory.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[cfg(target_arch = "wasm32")]
    pub fn read_array(
        &self,
        source: &BufferBinding,
    ) -> impl Future<Output = Result<js_sys::Uint8Array, ReadError>> + use<> {
        let read = self.read_as(source, CopyForm::Array);
        async move { Ok(read.await?.into_array()) }
    }

    fn read_as(
        &self,
        source: &BufferBinding,
        form: CopyForm,
    ) -> impl Future<Output = Result<Copied, ReadError>> + use<> {
        let begun = self.shared.act(|state| {
            check_words("the length of a read", source.size_bytes())?;
            state.check_open()?;
            let watch = state.memory.watch(source).map_err(refusal)?;
            state.check_live()?;
            let location = state.memory.locate(source)?;
            check_words("the offset of a read", location.offset)?;
            let copy = if location.size_bytes == 0 {
                std::future::ready(Ok(Copied::Bytes(Vec::new()))).boxed_local()
            } else {
                let copy = CopyRequest {
                    page: location.storage,
                    offset: location.offset,
                    size_bytes: location.size_bytes,
                    form,
                };
                state.copy_out(&watch, copy)?
            };
            Ok::<_, ReadError>((watch, copy, state.doubts, state.generation))
        });
        let device = self.clone();
        let buffer = source.buffer();
        async move {
            let (watch, mut copy, doubts, generation) = begun?;
            let copied = loop {
                // A refusal that is already certain does not wait for the copy: after a loss the
                // browser may never deliver it.
                device.decided(&watch)?;
                match select(copy, pin!(device.shared.change())).await {
                    Either::Left((copied, _)) => break copied,
                    Either::Right(((), unfinished)) => copy = unfinished,
                }
            };
            if is_lost(&copied) {
                // The copy heard of it first; the report is of the loss, not of a copy to ask for again.
                device.loss_is_known(generation).await;
            }
            device.resolve(&watch).await?;
            let transfer = |reason: String| ReadError::Transfer { buffer, reason };
            let copied = copied.map_err(|failure| transfer(failure.message))?;
            let mut state = device.shared.state.borrow_mut();
            if state.doubts != doubts {
                // Nothing says that it was not this copy.
                return Err(transfer(
                    "WebGPU reported an error outside every scope meanwhile".to_owned(),
                ));
            }
            state.counters.bytes_read += copied.len();
            Ok(copied)
        }
    }

    /// Waits for everything these bytes depend on at the call and says whether they would read cleanly.
    /// Copies nothing.
    ///
    /// # Errors
    /// As [`read`](Self::read), for the first binding that would be refused.
    pub fn verify(
        &self,
        bindings: &[BufferBinding],
    ) -> impl Future<Output = Result<(), ReadError>> + use<> {
        let watches = self.shared.act(|state| {
            state.check_open()?;
            state.flush();
            bindings
                .iter()
                .map(|binding| state.memory.watch(binding).map_err(refusal))
                .collect::<Result<Vec<_>, ReadError>>()
        });
        let device = self.clone();
        async move {
            for watch in &watches? {
                device.resolve(watch).await?;
            }
            Ok(())
        }
    }

    /// Waits until every submission made before the call has settled. Submits what is recorded.
    pub fn settled(&self) -> impl Future<Output = ()> + use<> {
        let last = self.shared.act(|state| {
            state.flush();
            state.in_flight.last().copied()
        });
        let device = self.clone();
        async move {
            if let Some(last) = last {
                device.settled_until(last).await;
            }
        }
    }

    /// Waits until no submission up to `last` is in flight.
    pub(crate) async fn settled_until(&self, last: SubmissionId) {
        let is_in_flight = || {
            let state = self.shared.state.borrow();
            let oldest = state.in_flight.first();
            oldest.is_some_and(|oldest| *oldest <= last)
        };
        while is_in_flight() {
            self.shared.change().await;
        }
    }

    /// Waits until the loss of that generation has been told, of which the backend knows already.
    async fn loss_is_known(&self, generation: u64) {
        let is_live = || {
            let state = self.shared.state.borrow();
            state.generation == generation && matches!(state.health, Health::Live)
        };
        while is_live() {
            self.shared.change().await;
        }
    }

    /// Waits until what `watch` looks at is decided.
    async fn resolve(&self, watch: &Watch) -> Result<(), ReadError> {
        while !self.decided(watch)? {
            self.shared.change().await;
        }
        Ok(())
    }

    /// Whether the bytes of `watch` are known to be sound by now; an error if known not to be.
    fn decided(&self, watch: &Watch) -> Result<bool, ReadError> {
        match self.shared.state.borrow_mut().memory.resolve(watch)? {
            Watched::Trusted => Ok(true),
            Watched::Pending(_) => Ok(false),
            Watched::Unwritten(report) => Err(ReadError::Unwritten(report)),
        }
    }
}

/// Whether a copy did not come because the device is gone.
fn is_lost(copied: &Result<Copied, Failure>) -> bool {
    let failure = copied.as_ref().err();
    failure.is_some_and(|failure| failure.kind == FailureKind::DeviceLost)
}

/// What a read is told when its bytes cannot be watched.
fn refusal(refusal: ReadRefusal) -> ReadError {
    match refusal {
        ReadRefusal::Unwritten(report) | ReadRefusal::Unallocated { report, .. } => {
            ReadError::Unwritten(report)
        }
        ReadRefusal::Handle(error) => error.into(),
        _ => unreachable!("the memory crate refuses a watch for no other reason"),
    }
}
