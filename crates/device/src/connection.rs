//! How a device comes by a backend, at first and after a loss.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use futures::stream::LocalBoxStream;
use wellwritten_memory::Failure;

use crate::backend::Backend;
use crate::cpu::CpuBackend;
use crate::error::DeviceError;

/// Something a device says outside any call.
#[cfg_attr(
    not(any(target_arch = "wasm32", feature = "fake")),
    expect(
        dead_code,
        reason = "only a backend with late verdicts says something on its own"
    )
)]
pub(crate) enum DeviceSignal {
    /// It was lost, and why.
    Lost(String),
    /// An error outside every scope.
    Uncaptured(Failure),
}

/// A backend ready to use.
pub(crate) struct Connection {
    pub(crate) backend: Box<dyn Backend>,
    /// What its device says on its own, if it ever does.
    pub(crate) signals: Option<LocalBoxStream<'static, DeviceSignal>>,
}

impl Connection {
    /// The CPU, which never says anything on its own.
    pub(crate) fn cpu(reason: Option<String>) -> Self {
        Self {
            backend: Box::new(CpuBackend::new(reason)),
            signals: None,
        }
    }
}

/// Where the backend of the next device generation comes from.
pub(crate) trait DeviceHost {
    /// Asks for a device, once.
    fn connect(&self) -> LocalBoxFuture<'static, Result<Connection, DeviceError>>;
    /// Waits before it is asked again.
    fn pause(&self, wait: Duration) -> LocalBoxFuture<'static, ()>;
}

/// The host of devices on the CPU, which says why it is not WebGPU.
pub(crate) struct CpuHost(pub(crate) Option<String>);

impl DeviceHost for CpuHost {
    fn connect(&self) -> LocalBoxFuture<'static, Result<Connection, DeviceError>> {
        std::future::ready(Ok(Connection::cpu(self.0.clone()))).boxed_local()
    }

    fn pause(&self, _wait: Duration) -> LocalBoxFuture<'static, ()> {
        unreachable!("the CPU is there at the first try")
    }
}
