//! [`Launcher`]: the arena's kernels on a guarded device, and the broken ones a fault asks for.

use std::rc::Rc;

use wellwritten_device::{
    Access, Binding, BufferBinding, DeviceError, GuardedDevice, HostKernelError, HostLaunch,
    Kernel, KernelSource,
};

use crate::fault_board::{FaultBoard, FaultName, KernelName};
use crate::kernels::agent::{AgentInputs, AgentOutputs};
use crate::kernels::{ENTRY_POINT, KernelDeclaration, StorageAccess, agent, field, view};

/// Launches the arena's kernels. Shared by the world and its flies, so that a kernel compiles once.
pub struct Launcher {
    device: GuardedDevice,
    faults: FaultBoard,
    field: Kernel,
    agent: Kernel,
    view: Kernel,
}

impl Launcher {
    /// Makes the kernels on `device`. Does not submit and does not wait.
    #[must_use]
    pub fn new(device: GuardedDevice, faults: FaultBoard) -> Self {
        let kernel = |name| device.kernel(sound(name));
        Self {
            field: kernel(KernelName::Field),
            agent: kernel(KernelName::Agent),
            view: kernel(KernelName::View),
            device,
            faults,
        }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &GuardedDevice {
        &self.device
    }

    /// Launches a kernel over the whole buffers `slices`, in the order of its bindings; a broken one
    /// in its place where the fault board says so. Does not wait.
    ///
    /// # Errors
    /// What the device can tell before encoding. A broken kernel is not among it.
    pub fn launch(&self, name: KernelName, slices: &[BufferBinding]) -> Result<(), DeviceError> {
        if self.faults.strikes(FaultName::InvalidShader, name) {
            // Made anew each time: a kernel already known to be broken would be refused at once, and
            // the fault to be shown is the one that is found late.
            let kernel = self.device.kernel(broken(name));
            return self.launch_kernel(name, &kernel, slices);
        }
        self.launch_sound(name, slices)
    }

    /// Launches the sound kernel whatever is armed: rewriting is not a place for faults.
    ///
    /// # Errors
    /// What the device can tell before encoding.
    pub fn launch_sound(
        &self,
        name: KernelName,
        slices: &[BufferBinding],
    ) -> Result<(), DeviceError> {
        let kernel = match name {
            KernelName::Field => &self.field,
            KernelName::Agent => &self.agent,
            KernelName::View => &self.view,
        };
        self.launch_kernel(name, kernel, slices)
    }

    fn launch_kernel(
        &self,
        name: KernelName,
        kernel: &Kernel,
        slices: &[BufferBinding],
    ) -> Result<(), DeviceError> {
        let declaration = declaration(name);
        assert_eq!(
            slices.len(),
            declaration.bindings.len(),
            "bindings of kernel {}",
            declaration.name
        );
        let bindings: Vec<Binding> = slices
            .iter()
            .zip(declaration.bindings)
            .map(|(slice, binding)| {
                let access = match binding.access {
                    StorageAccess::Read => Access::Read,
                    StorageAccess::Write => Access::Write,
                    StorageAccess::ReadWrite => Access::ReadWrite,
                };
                Binding::new(slice.clone(), access)
            })
            .collect();
        self.device
            .launch(kernel, &bindings, declaration.workgroups)
    }
}

/// The declaration of a kernel.
#[must_use]
pub fn declaration(name: KernelName) -> &'static KernelDeclaration {
    match name {
        KernelName::Field => &field::DECLARATION,
        KernelName::Agent => &agent::DECLARATION,
        KernelName::View => &view::DECLARATION,
    }
}

fn sound(name: KernelName) -> KernelSource {
    let mut source = KernelSource::wgsl(name.as_str(), declaration(name).wgsl());
    ENTRY_POINT.clone_into(&mut source.entry_point);
    source.with_host(Rc::new(move |launch| run_mirror(name, launch)))
}

/// The text of a kernel that does not compile: the sound one and, after it, a use of a name that is
/// declared nowhere.
#[must_use]
pub fn broken_wgsl(name: KernelName) -> String {
    let mut text = declaration(name).wgsl();
    text.push_str("fn broken() -> u32 { return undeclared_value; }\n");
    text
}

fn broken(name: KernelName) -> KernelSource {
    let text = broken_wgsl(name);
    let line = text.lines().count();
    let mut source = KernelSource::wgsl(name.as_str(), text);
    ENTRY_POINT.clone_into(&mut source.entry_point);
    source.with_host(Rc::new(move |_| {
        Err(HostKernelError::Failed(format!(
            "shader `{}` failed to compile: line {line}: unresolved value `undeclared_value`",
            name.as_str()
        )))
    }))
}

/// Runs the CPU mirror of a kernel over the bindings of a launch.
fn run_mirror(name: KernelName, launch: &mut HostLaunch<'_>) -> Result<(), HostKernelError> {
    for (index, binding) in declaration(name).bindings.iter().enumerate() {
        let found = launch.words(index)?.len();
        if let Some(words) = binding.words
            && found != words as usize
        {
            return Err(HostKernelError::Failed(format!(
                "binding {index} (`{}`) of `{}` holds {found} words, the kernel needs {words}",
                binding.name,
                name.as_str()
            )));
        }
    }
    match name {
        KernelName::Field => {
            let mut next = launch.take(2)?;
            field::step(launch.words(0)?, launch.words(1)?, &mut next);
            launch.put(2, next)
        }
        KernelName::View => {
            let mut pixels = launch.take(3)?;
            view::render(
                launch.words(0)?,
                launch.words(1)?,
                launch.words(2)?,
                &mut pixels,
            );
            launch.put(3, pixels)
        }
        KernelName::Agent => {
            let mut membrane = launch.take(3)?;
            let mut eligibility = launch.take(4)?;
            let mut readout = launch.take(5)?;
            let inputs = AgentInputs {
                synapses: launch.words(0)?,
                input: launch.words(1)?,
                weights: launch.words(2)?,
            };
            agent::run(
                inputs,
                &mut AgentOutputs {
                    membrane: &mut membrane,
                    eligibility: &mut eligibility,
                    readout: &mut readout,
                },
            );
            launch.put(3, membrane)?;
            launch.put(4, eligibility)?;
            launch.put(5, readout)
        }
    }
}
