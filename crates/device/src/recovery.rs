//! The end of a device, and the next generation of it.

use std::time::Duration;

use crate::connection::Connection;
use crate::device::GuardedDevice;
use crate::device_event::DeviceEvent;
use crate::device_state::Health;
use crate::error::DeviceError;
use crate::shared::Shared;

impl GuardedDevice {
    /// How often [`recover`](Self::recover) asks for a device before it gives up, waiting 0, 100 and 400 ms before
    /// the tries.
    pub const RECOVERY_ATTEMPTS: u32 = 3;

    /// Destroys the real device, as a driver reset would: every byte is claimed at once, reads in
    /// flight are refused by name.
    pub fn lose(&self) {
        let generation = {
            let mut state = self.shared.state.borrow_mut();
            state.memory.storage_mut().destroy();
            state.generation
        };
        self.shared.lose(generation, "destroyed by the program");
    }

    /// Gets a new adapter and device as the next generation. Buffers of the old one stay lost.
    ///
    /// # Errors
    /// [`DeviceError::RecoveryFailed`] after [`RECOVERY_ATTEMPTS`](Self::RECOVERY_ATTEMPTS) tries;
    /// the device stays lost. A live device is left as it is.
    pub async fn recover(&self) -> Result<(), DeviceError> {
        if !self.needs_recovery()? {
            return Ok(());
        }
        let Some(connection) = self.reconnect().await? else {
            return Ok(());
        };
        let generation = {
            let mut state = self.shared.state.borrow_mut();
            state.replace_backend(connection.backend);
            state.generation
        };
        Shared::listen(&self.shared, generation, connection.signals);
        self.shared.tell(&DeviceEvent::Recovered { generation });
        Ok(())
    }

    /// Destroys the device for good. Every later call is refused; observers hear of it no more, since
    /// a device that its owner closed was not lost.
    pub fn close(&self) {
        self.shared.forget_observers();
        self.lose();
        self.shared.state.borrow_mut().health = Health::Closed;
    }

    fn needs_recovery(&self) -> Result<bool, DeviceError> {
        match &self.shared.state.borrow().health {
            Health::Live => Ok(false),
            Health::Closed => Err(DeviceError::Closed),
            Health::Lost(_) => Ok(true),
        }
    }

    /// Asks for a device, waiting longer before each try; `None` when the device needs none any more.
    async fn reconnect(&self) -> Result<Option<Connection>, DeviceError> {
        let mut last = String::new();
        for attempt in 0..Self::RECOVERY_ATTEMPTS {
            if attempt > 0 {
                let wait = Duration::from_millis(100 * u64::from(attempt * attempt));
                self.shared.host.pause(wait).await;
                if !self.needs_recovery()? {
                    return Ok(None);
                }
            }
            let answer = self.shared.host.connect().await;
            // While this waited the device may have been closed, or recovered by another caller whose
            // buffers already live on it: a connection just made is then one too many.
            if !self.needs_recovery()? {
                return Ok(None);
            }
            match answer {
                Ok(connection) => return Ok(Some(connection)),
                Err(error) => last = error.to_string(),
            }
        }
        Err(DeviceError::RecoveryFailed {
            attempts: Self::RECOVERY_ATTEMPTS,
            last,
        })
    }
}
