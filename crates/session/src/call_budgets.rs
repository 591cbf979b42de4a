//! [`CallBudgets`]: how long an answer may take before it is looked for, and before it is given up.

use crate::Call;

/// How long a session waits, in nanoseconds of its clock.
///
/// A call that has not been answered within its first wait is *uncertain*: the participant may be at it, may have done it,
/// or may never have heard of it. The session then asks for the participant's status and sends the very same request again
/// until one of them is answered. It gives up once `resolve_ns` have passed in which the participant got no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallBudgets {
    /// First wait of a call of a step, and of every question asked while one is uncertain: 2 s.
    pub probe_ns: u64,
    /// How long an uncertain call may make no progress: 8 s.
    pub resolve_ns: u64,
    /// First wait of `Worker.Hello` and of initializing: 30 s.
    pub boot_ns: u64,
    /// First wait of capturing, staging and activating, and how long the store may take over an answer: 30 s.
    pub capture_ns: u64,
    /// Most questions about one uncertain call: 8,192, so that time runs out first.
    pub max_attempts: u32,
}

impl Default for CallBudgets {
    fn default() -> Self {
        const SECOND_NS: u64 = 1_000_000_000;
        Self {
            probe_ns: 2 * SECOND_NS,
            resolve_ns: 8 * SECOND_NS,
            boot_ns: 30 * SECOND_NS,
            capture_ns: 30 * SECOND_NS,
            max_attempts: 8_192,
        }
    }
}

impl CallBudgets {
    /// How long the first answer to a call may take.
    pub(crate) const fn first_wait_ns(&self, call: &Call) -> u64 {
        match call {
            Call::Hello(_) | Call::InitializeEnvironment(_) | Call::InitializeAgent(_) => {
                self.boot_ns
            }
            Call::Capture { .. } | Call::StageRestore(_) | Call::ActivateRestore { .. } => {
                self.capture_ns
            }
            _ => self.probe_ns,
        }
    }
}
