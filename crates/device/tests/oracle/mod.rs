//! Oracle: a read returns bytes if and only if every byte it returns was last written by work that succeeded, and
//! then they are the bytes of a device on which nothing ever fails.
//!
//! The model keeps for every word its value and one flag. It knows beforehand what will fail, because the run makes
//! it fail: shaders that do not compile, buffers there is no memory for, launches over the limits, devices that go.
//! It knows nothing of claims, submissions or pending bytes, and shares no code with the device. The same run drives
//! the CPU, the fake and the real WebGPU of a browser.

mod mixing;
mod model;
mod random;
mod run;
mod stage;

pub(crate) use run::{Tally, canary, run};
pub(crate) use stage::Stage;
