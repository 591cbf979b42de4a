//! [`ShownProgress`]: how far a session is, where a person sees it.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::AbortHandle;
use wellwritten_session::Coordinator;

use crate::console::Console;
use crate::progress_line::ProgressLine;

/// How often progress is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// A line that says how far the session is, until it is dropped.
pub struct ShownProgress(AbortHandle, Rc<RefCell<Option<ProgressLine>>>);

impl ShownProgress {
    /// Shows it from the first of these boundaries to the last.
    pub fn new(console: &Console, session: &Rc<Coordinator>, boundaries: Range<u64>) -> Self {
        let line = Rc::new(RefCell::new(Some(ProgressLine::new(console, "stepping"))));
        let (shown, session) = (line.clone(), Rc::downgrade(session));
        let showing = tokio::task::spawn_local(async move {
            let steps = boundaries.end.saturating_sub(boundaries.start);
            loop {
                tokio::time::sleep(LOOK).await;
                let Some(session) = session.upgrade() else {
                    return;
                };
                if let Some(line) = shown.borrow_mut().as_mut() {
                    let boundary = session.status().boundary;
                    line.show_steps(boundary.saturating_sub(boundaries.start), steps);
                }
            }
        });
        Self(showing.abort_handle(), line)
    }
}

impl Drop for ShownProgress {
    fn drop(&mut self) {
        self.0.abort();
        // What is drawn goes now, not when the task is.
        self.1.take();
    }
}
