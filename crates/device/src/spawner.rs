//! Where work that outlives a call runs.

use std::fmt;
use std::future::Future;
use std::rc::Rc;

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

/// Runs a future in the background, on this thread.
///
/// A device needs one to settle submissions whose verdict arrives late. In a browser it is
/// `wasm_bindgen_futures::spawn_local`; a test can hand in a `LocalPool`'s spawner.
#[derive(Clone)]
pub struct Spawner(Rc<dyn Fn(LocalBoxFuture<'static, ()>)>);

impl Spawner {
    /// Wraps the function that starts a background future.
    #[must_use]
    pub fn new(spawn: impl Fn(LocalBoxFuture<'static, ()>) + 'static) -> Self {
        Self(Rc::new(spawn))
    }

    /// Starts `future` in the background.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        (self.0)(future.boxed_local());
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Spawner")
    }
}
