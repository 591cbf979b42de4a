//! [`Scenario`]: one thing a session must show from outside.

use std::fmt;
use std::rc::Rc;

use wellwritten_session::BoxedFuture;

use crate::{Stage, Verdict};

/// One thing a session must show from outside, on any stage.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// What it shows, as a sentence without blanks.
    pub name: &'static str,
    /// Plays it.
    pub run: fn(Rc<dyn Stage>) -> BoxedFuture<'static, Verdict>,
}

impl fmt::Debug for Scenario {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}
