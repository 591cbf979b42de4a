//! [`Progress`]: how a participant says that a long operation gets on.

use std::cell::Cell;
use std::rc::Rc;

/// A counter that a participant raises while it works.
///
/// A coordinator that waits for an answer reads it: as long as it rises, a slow call is slow and not lost. Raising it is not
/// enough on its own: a status is answered only when the participant's program has a turn, so an operation that takes
/// longer than the call budget also yields (`await`s something) now and then.
#[derive(Clone, Debug, Default)]
pub struct Progress(Rc<Cell<u64>>);

impl Progress {
    /// At zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Something was done: a tick, a stimulation, an input installed.
    pub fn raise(&self, by: u64) {
        self.0.set(self.0.get().wrapping_add(by));
    }

    /// What was done so far.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.get()
    }
}
