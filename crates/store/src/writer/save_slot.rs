//! [`SaveSlot`]: the right to hand in one capture.

use std::fmt;
use std::rc::Rc;

use crate::writer::writer_core::WriterCore;

/// What a capture is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveKind {
    /// It is saved, whatever comes after it.
    Durable,
    /// While it waits, a later replaceable capture may take its place.
    Replaceable,
}

/// The right to hand in one capture, taken before anyone is asked for their state. Dropping it gives it back.
#[must_use = "a slot that is dropped is given back"]
pub struct SaveSlot {
    core: Rc<WriterCore>,
    /// `None` once it is used.
    number: Option<u64>,
}

impl SaveSlot {
    pub(super) const fn new(core: Rc<WriterCore>, number: u64) -> Self {
        Self {
            core,
            number: Some(number),
        }
    }

    /// The number of the reservation, where it is one of this writer; it is no longer given back then.
    pub(super) fn into_number(mut self, core: &Rc<WriterCore>) -> Option<u64> {
        self.number.take_if(|_| Rc::ptr_eq(&self.core, core))
    }
}

impl Drop for SaveSlot {
    fn drop(&mut self) {
        if let Some(number) = self.number.take() {
            self.core.change(|state| state.give_back(number));
        }
    }
}

impl fmt::Debug for SaveSlot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("SaveSlot");
        shown.field("number", &self.number).finish_non_exhaustive()
    }
}
