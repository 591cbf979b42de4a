//! Capture windows and the sealed graphs they leave.

use std::fmt;
use std::rc::Rc;

use thiserror::Error;
use wellwritten_memory::{Recording, StreamId, SubmissionId, WindowFailure};

use crate::batch::Work;
use crate::device::GuardedDevice;
use crate::device_state::DeviceState;
use crate::error::DeviceError;

/// Why a capture window did not open, or did not seal.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum WindowError {
    /// A window is recording on this device. Seal it, or drop it, first.
    #[error("window `{open}` is still recording on this device")]
    Open {
        /// The label of the window that records.
        open: String,
    },
    /// As many windows as the device keeps apart wait for their verdicts.
    #[error("{sealing} windows of this device are waiting to be sealed; await one of them first")]
    TooMany {
        /// How many wait.
        sealing: usize,
    },
    /// Something recorded failed or was skipped: the graph would lack it.
    #[error("window `{window}` is not sealed: {work} failed: {}", failure.failure)]
    Doomed {
        /// The window's label.
        window: String,
        /// The work that failed or was skipped.
        work: String,
        /// The root failure.
        failure: Box<WindowFailure>,
    },
    /// More was done in the window than a graph holds.
    #[error(
        "window `{window}` is not sealed: a graph holds at most {most} writes, copies and launches"
    )]
    TooLong {
        /// The window's label.
        window: String,
        /// How many a graph holds.
        most: usize,
    },
    /// The device is lost, closed, or was lost before the window was sealed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// What the device keeps of a window that records.
pub(crate) struct OpenWindow {
    pub(crate) label: Rc<str>,
    /// A logical stream of its own, by which the books tell its work from other work.
    pub(crate) stream: StreamId,
    pub(crate) units: Vec<Work>,
    /// More was done than a graph holds.
    pub(crate) is_too_long: bool,
}

impl OpenWindow {
    /// Keeps work to run again. Of a replay it keeps what that ran: a graph has no graphs in it.
    pub(crate) fn record(&mut self, work: &Work) {
        let Self {
            units, is_too_long, ..
        } = self;
        work.visit(&mut |unit| {
            if units.len() < SealedGraph::MAX_UNITS {
                units.push(unit.clone());
            } else {
                *is_too_long = true;
            }
        });
    }
}

/// A window that was closed and waits for the verdicts on what it recorded.
pub(crate) struct ClosedWindow {
    pub(crate) label: Rc<str>,
    pub(crate) units: Rc<[Work]>,
    /// Whether that is all of it.
    pub(crate) is_whole: bool,
    pub(crate) recording: Recording,
    pub(crate) generation: u64,
    /// The last submission that may carry recorded work.
    pub(crate) last: Option<SubmissionId>,
}

/// A capture window that is recording: every write, copy, launch and replay on the device runs as always, and is
/// recorded too. [`seal`](Self::seal) closes it; dropping it gives it up, and what ran has run.
#[must_use = "a window that is dropped is given up"]
pub struct Window {
    device: GuardedDevice,
    stream: StreamId,
    label: Rc<str>,
}

impl fmt::Debug for Window {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Window")
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

impl Window {
    /// Closes the window at the call, then waits until everything it recorded has settled.
    ///
    /// # Errors
    /// [`WindowError::Doomed`] when anything in it failed or was skipped, however late; [`WindowError::Device`] when
    /// the device was lost meanwhile.
    pub fn seal(self) -> impl Future<Output = Result<SealedGraph, WindowError>> + use<> {
        let shared = Rc::clone(&self.device.shared);
        let closed = shared.act(DeviceState::close_window);
        async move {
            // Held until the end: dropping this future gives the window's stream back.
            let window = self;
            if let Some(last) = closed.last {
                window.device.settled_until(last).await;
            }
            let mut state = window.device.shared.state.borrow_mut();
            state.check_live()?;
            if let Some(failure) = state.memory.capture(window.stream).take_failure() {
                return Err(WindowError::Doomed {
                    window: closed.label.to_string(),
                    work: failure.work.clone(),
                    failure: Box::new(failure),
                });
            }
            state.check_graph(&closed.label, closed.generation)?;
            if !closed.is_whole {
                return Err(WindowError::TooLong {
                    window: closed.label.to_string(),
                    most: SealedGraph::MAX_UNITS,
                });
            }
            drop(state);
            Ok(SealedGraph {
                graph: Rc::new(Graph {
                    work: format!("graph {}", closed.label).into(),
                    label: closed.label,
                    units: closed.units,
                    recording: closed.recording,
                    generation: closed.generation,
                }),
                device: window.device.clone(),
            })
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.device.shared.free_window(self.stream);
    }
}

/// What a sealed graph is made of.
pub(crate) struct Graph {
    pub(crate) label: Rc<str>,
    /// How reports name a replay.
    pub(crate) work: Rc<str>,
    pub(crate) units: Rc<[Work]>,
    pub(crate) recording: Recording,
    pub(crate) generation: u64,
}

/// What a capture window recorded, to run again as one unit of work. Cheap to clone.
///
/// It keeps no buffer alive, and belongs to the device generation it was recorded on: kernels can be launched on
/// the next one, a graph has to be recorded anew.
#[derive(Clone)]
pub struct SealedGraph {
    graph: Rc<Graph>,
    device: GuardedDevice,
}

impl fmt::Debug for SealedGraph {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SealedGraph")
            .field("label", &self.graph.label)
            .field("units", &self.graph.units.len())
            .finish_non_exhaustive()
    }
}

impl SealedGraph {
    /// How many writes, copies and launches a graph holds at most, those of replayed graphs included.
    pub const MAX_UNITS: usize = 1 << 16;

    /// How reports name it.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.graph.label
    }

    /// How many writes, copies and launches it runs.
    #[must_use]
    pub fn units(&self) -> usize {
        self.graph.units.len()
    }

    /// Which bytes a replay reads and writes.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.graph.recording
    }

    /// Runs everything recorded, in order, as one unit of work over the recorded write set: it succeeds or fails
    /// as a whole, and is skipped as a whole when something it reads from outside is known not to read cleanly.
    /// Host bytes are those of the recording. Does not wait.
    ///
    /// # Errors
    /// When a buffer of it was freed, or the device was lost since; nothing runs then.
    pub fn replay(&self) -> Result<(), DeviceError> {
        self.device.shared.act(|state| state.replay(&self.graph))
    }
}

impl GuardedDevice {
    /// Opens a capture window: what is written, copied, launched and replayed on the device until
    /// [`Window::seal`] is called runs as always, and is recorded. Reads and allocations are not.
    ///
    /// # Errors
    /// [`WindowError::Open`] while another one records; [`WindowError::TooMany`] when eight wait to be sealed.
    pub fn window(&self, label: &str) -> Result<Window, WindowError> {
        let label: Rc<str> = label.into();
        let stream = self
            .shared
            .act(|state| state.open_window(Rc::clone(&label)))?;
        Ok(Window {
            device: self.clone(),
            stream,
            label,
        })
    }
}
