//! A device that fails on demand (feature `fake`).
//!
//! What WebGPU does wrong it does rarely, and never when asked. A [`FakeDevice`] is a
//! [`GuardedDevice`](crate::GuardedDevice) under WebGPU's rules on which a program can be run headless while the
//! holder of its [`FakeControl`] decides what goes wrong, and when.
//!
//! **The rules.** A submission is applied as a whole or dropped as a whole: one invalid dispatch, or one invalid
//! buffer, drops its neighbours, and the pages keep what they held. Nothing of that shows at the call. Every answer
//! (a creation, a submission, a read, a connection, a pause before one) is held back until it is delivered: one
//! at a time, in any order, by [`FakeControl::deliver`], or by themselves under a [`Delivery`] plan. Kernels run as
//! their host functions. Once the device is lost every error scope pops clean, as the WebGPU specification has it.
//!
//! **What it does not do.** It does not read WGSL: a shader is invalid when [`FakeControl::break_shader`] says so.
//!
//! ```
//! use std::rc::Rc;
//! use futures::executor::LocalPool;
//! use futures::task::LocalSpawnExt as _;
//! use wellwritten_device::fake::{Delivery, FakeDevice};
//! use wellwritten_device::{Access, Binding, KernelSource, Spawner};
//!
//! let mut pool = LocalPool::new();
//! let background = pool.spawner();
//! let spawner = Spawner::new(move |future| background.spawn_local(future).expect("the pool is there"));
//! let (device, control) = FakeDevice::open(spawner);
//! control.deliver_by(Delivery::Random { seed: 7 });
//! control.break_shader("diffuse", "line 4, column 20: unresolved value 'no_such_name'");
//!
//! let refusal = pool.run_until(async {
//!     let field = device.alloc(256, "field")?;
//!     let diffuse = device.kernel(KernelSource::host("diffuse", Rc::new(|_| Ok(()))));
//!     device.launch(&diffuse, &[Binding::new(field.binding(), Access::Write)], [1, 1, 1])?;
//!     Ok::<_, Box<dyn std::error::Error>>(device.read(&field.binding()).await.unwrap_err())
//! })?;
//! assert!(refusal.to_string().contains("shader `diffuse` failed to compile: line 4"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answers;
mod backend;
mod control;
mod delivery;
mod device;
mod faults;
mod generation;
mod host;
mod kernel;
mod submitted;

pub use answers::Question;
pub use control::FakeControl;
pub use delivery::Delivery;
pub use device::FakeDevice;
pub use faults::ErrorChoice;
pub use submitted::{Encoded, Submitted};
pub use wellwritten_memory::FailureKind;
