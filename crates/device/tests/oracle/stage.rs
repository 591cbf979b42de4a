//! What a run of the oracle needs from the backend it runs on.

use futures::future::LocalBoxFuture;
use wellwritten_device::{GuardedDevice, KernelSource};

/// A backend, and what can be made to go wrong on it.
pub(crate) trait Stage {
    /// The device under test.
    fn device(&self) -> &GuardedDevice;

    /// Runs something in the background.
    fn spawn(&self, future: LocalBoxFuture<'static, ()>);

    /// Lets other things go on for a moment.
    fn turn(&self) -> LocalBoxFuture<'_, ()>;

    /// The next buffer that is really created, and not recycled, turns out not to be there. No effect where this
    /// backend always has memory.
    fn fail_next_creation(&self);

    /// Whether the next creation is still to fail.
    fn next_creation_fails(&self) -> bool;

    /// A kernel that works here.
    fn working(&self, source: KernelSource) -> KernelSource;

    /// The same kernel as one that fails wherever it runs here.
    fn broken(&self, source: KernelSource) -> KernelSource;

    /// Destroys the device as if nobody had asked for it; what it says comes later. False where only the program
    /// itself can lose the device.
    fn destroy_behind_its_back(&self) -> bool;

    /// The next launch of a kernel that works silently does nothing: what no backend may do, for the canary.
    fn drop_next_launch(&self);
}
