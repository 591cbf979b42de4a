//! How a device comes by a backend, at first and after a loss.

use std::rc::Rc;

use futures::future::LocalBoxFuture;
use futures::stream::LocalBoxStream;

use crate::backend::Backend;
use crate::cpu::CpuBackend;
use crate::error::DeviceError;

/// Something a device says outside any call.
#[cfg_attr(
    all(not(target_arch = "wasm32"), not(test)),
    expect(
        dead_code,
        reason = "only a backend with late verdicts says something on its own"
    )
)]
pub(crate) enum DeviceSignal {
    /// It was lost, and why.
    Lost(String),
    /// An error outside every scope.
    Uncaptured(String),
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

/// Gets the backend of the next device generation. It does its own waiting and retrying.
pub(crate) type Reconnect =
    Rc<dyn Fn() -> LocalBoxFuture<'static, Result<Connection, DeviceError>>>;
