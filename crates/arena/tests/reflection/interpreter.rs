//! [`launch`]: runs a kernel on the host, from naga's form of its WGSL.
//!
//! The invocations of a workgroup go through the statements together, each where its own conditions lead
//! it; a barrier is where all of them must stand. So the result does not depend on threads, and what a
//! device would do in no particular order is noticed as a [`Fault`] instead of happening in one order.

use naga::valid::ModuleInfo;
use naga::{
    AddressSpace, ArraySize, Binding, BuiltIn, FunctionArgument, Handle, Module, TypeInner,
};

use crate::memory::Memory;
use crate::workgroup::{Value, Workgroup};

/// Why a launch has no one result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Two invocations touch a word, one of them writes it, and no barrier is between them.
    Race { variable: String, index: u32 },
    /// An index outside its variable.
    OutOfBounds {
        variable: String,
        index: u32,
        words: usize,
    },
    /// Not every invocation of the workgroup came to the barrier.
    Divergence { missing: usize },
    /// The kernel uses what this interpreter does not know.
    Unknown(String),
}

/// Runs the one entry point over `workgroups` on `buffers`, in the order of their bindings, and gives
/// back what they hold, with the record of who touched what.
pub fn launch(
    module: &Module,
    info: &ModuleInfo,
    workgroups: [u32; 3],
    buffers: &[Vec<u32>],
) -> Result<Vec<Memory>, Fault> {
    let entry = &module.entry_points[0];
    let [width, height, depth] = entry.workgroup_size;
    let mut globals: Vec<Memory> = module
        .global_variables
        .iter()
        .map(|(_, variable)| {
            let words = match variable.binding {
                Some(binding) => buffers[binding.binding as usize].clone(),
                None => Vec::new(),
            };
            Memory::new(variable.name.as_deref().unwrap_or_default(), words)
        })
        .collect();
    let is_shared: Vec<bool> = module
        .global_variables
        .iter()
        .map(|(_, variable)| variable.space == AddressSpace::WorkGroup)
        .collect();
    let mut group = 0;
    for z in 0..workgroups[2] {
        for y in 0..workgroups[1] {
            for x in 0..workgroups[0] {
                for (handle, variable) in module.global_variables.iter() {
                    if variable.space == AddressSpace::WorkGroup {
                        let words = shared_words(module, variable.ty)?;
                        let name = variable.name.as_deref().unwrap_or_default();
                        globals[handle.index()] = Memory::new(name, vec![0; words]);
                    }
                }
                let mut workgroup = Workgroup {
                    module,
                    info,
                    globals: &mut globals,
                    is_shared: &is_shared,
                    lanes: (width * height * depth) as usize,
                    group,
                    phase: 0,
                };
                let arguments = entry
                    .function
                    .arguments
                    .iter()
                    .map(|argument| builtin(argument, entry.workgroup_size, [x, y, z]))
                    .collect::<Result<_, _>>()?;
                let all = vec![true; workgroup.lanes];
                workgroup.call(&entry.function, info.get_entry_point(0), arguments, all)?;
                group += 1;
            }
        }
    }
    let mut bound: Vec<_> = module
        .global_variables
        .iter()
        .zip(globals)
        .filter_map(|((_, variable), memory)| Some((variable.binding?.binding, memory)))
        .collect();
    bound.sort_by_key(|(index, _)| *index);
    Ok(bound.into_iter().map(|(_, memory)| memory).collect())
}

/// What an argument of the entry point is for each lane of a workgroup.
fn builtin(
    argument: &FunctionArgument,
    [width, height, depth]: [u32; 3],
    [x, y, z]: [u32; 3],
) -> Result<Vec<Value>, Fault> {
    (0..width * height * depth)
        .map(|lane| {
            let local = [lane % width, lane / width % height, lane / width / height];
            match argument.binding {
                Some(Binding::BuiltIn(BuiltIn::LocalInvocationIndex)) => Ok(Value::Word(lane)),
                Some(Binding::BuiltIn(BuiltIn::GlobalInvocationId)) => Ok(Value::Vector([
                    x * width + local[0],
                    y * height + local[1],
                    z * depth + local[2],
                ])),
                ref other => Err(Fault::Unknown(format!("{other:?}"))),
            }
        })
        .collect()
}

fn shared_words(module: &Module, ty: Handle<naga::Type>) -> Result<usize, Fault> {
    match module.types[ty].inner {
        TypeInner::Scalar(_) => Ok(1),
        TypeInner::Array {
            size: ArraySize::Constant(words),
            ..
        } => Ok(words.get() as usize),
        ref other => Err(Fault::Unknown(format!("{other:?}"))),
    }
}
