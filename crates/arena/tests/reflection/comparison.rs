//! [`compare`]: everything in which a WGSL text differs from a kernel's declaration.

use std::collections::BTreeMap;

use naga::front::wgsl;
use naga::proc::Layouter;
use naga::valid::{Capabilities, GlobalUse, ModuleInfo, ValidationFlags, Validator};
use naga::{
    AddressSpace, ArraySize, Expression, GlobalVariable, Handle, Literal, Module, ShaderStage,
    StorageAccess as NagaAccess, TypeInner,
};
use wellwritten_arena::kernels::{ENTRY_POINT, KernelConstant, KernelDeclaration, StorageAccess};
use wellwritten_device::DeviceLimits;

use crate::discrepancy::Discrepancy;
use crate::{integer_rules, number_text};

/// Limits every WebGPU device grants, beside those that the device crate knows.
const INVOCATIONS: u32 = 256;
const WORKGROUP_BYTES: u32 = 16_384;
/// Bytes of a word, the unit of every declared size.
const WORD: u32 = 4;

/// Parses and validates `text` with no optional capability.
pub fn parse(text: &str) -> Result<(Module, ModuleInfo), String> {
    let module = wgsl::parse_str(text).map_err(|error| error.emit_to_string(text))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(|error| error.emit_to_string(text))?;
    Ok((module, info))
}

/// Compares the complete WGSL `text` of a kernel with its declaration. Empty means no difference.
pub fn compare(declaration: &KernelDeclaration, text: &str) -> Vec<Discrepancy> {
    let (module, info) = match parse(text) {
        Ok(parsed) => parsed,
        Err(report) => return vec![Discrepancy::Invalid(report)],
    };
    let mut found = integer_rules::broken(&module, &info);
    found.extend(number_text::fractions(text).map(Discrepancy::FloatText));
    compare_entry_point(declaration, &module, &mut found);
    compare_constants(declaration, &module, text, &mut found);
    compare_shared(declaration, &module, &mut found);
    compare_bindings(declaration, &module, &info, &mut found);
    found
}

fn name_of(variable: &GlobalVariable) -> String {
    variable.name.clone().unwrap_or_default()
}

fn compare_entry_point(
    declaration: &KernelDeclaration,
    module: &Module,
    found: &mut Vec<Discrepancy>,
) {
    let [entry] = &module.entry_points[..] else {
        let names = module.entry_points.iter().map(|entry| entry.name.clone());
        found.push(Discrepancy::EntryPoints(names.collect()));
        return;
    };
    if entry.name != ENTRY_POINT || entry.stage != ShaderStage::Compute {
        found.push(Discrepancy::EntryPoints(vec![entry.name.clone()]));
    }
    if entry.workgroup_size != declaration.workgroup {
        found.push(Discrepancy::Workgroup {
            declared: declaration.workgroup,
            found: entry.workgroup_size,
        });
    }
    let invocations: u64 = entry
        .workgroup_size
        .iter()
        .map(|side| u64::from(*side))
        .product();
    over_limit("invocations", INVOCATIONS.into(), invocations, found);
    for count in declaration.workgroups {
        let limit = DeviceLimits::WEBGPU_DEFAULT.max_compute_workgroups_per_dimension;
        over_limit("workgroups", limit.into(), count.into(), found);
    }
}

fn over_limit(what: &'static str, limit: u64, size: u64, found: &mut Vec<Discrepancy>) {
    if size > limit {
        found.push(Discrepancy::OverLimit {
            what,
            limit,
            found: size,
        });
    }
}

/// The constants by name, on both sides.
fn compare_constants(
    declaration: &KernelDeclaration,
    module: &Module,
    text: &str,
    found: &mut Vec<Discrepancy>,
) {
    let [x, y, _] = declaration.workgroup;
    let declared: BTreeMap<&str, KernelConstant> = [
        KernelConstant::Unsigned("WORKGROUP_X", x),
        KernelConstant::Unsigned("WORKGROUP_Y", y),
    ]
    .iter()
    .chain(declaration.constants)
    .map(|constant| match constant {
        KernelConstant::Unsigned(name, _) | KernelConstant::Signed(name, _) => (*name, *constant),
    })
    .collect();
    let mut missing = declared.clone();
    for (_, constant) in module.constants.iter() {
        let name = constant.name.as_deref().unwrap_or_default();
        let in_rust = missing.remove(name);
        // The names live as long as the declaration's, so that both sides are one type.
        let in_wgsl = match (&module.global_expressions[constant.init], in_rust) {
            (Expression::Literal(Literal::U32(value)), Some(same)) => {
                Some(KernelConstant::Unsigned(name_in(same), *value))
            }
            (Expression::Literal(Literal::I32(value)), Some(same)) => {
                Some(KernelConstant::Signed(name_in(same), *value))
            }
            _ => None,
        };
        match in_rust {
            None => found.push(Discrepancy::ForeignConstant(name.to_owned())),
            Some(_) if in_rust == in_wgsl => {}
            Some(_) => found.push(Discrepancy::Constant {
                name: name.to_owned(),
                declared: in_rust,
                found: in_wgsl,
            }),
        }
    }
    for (name, constant) in missing {
        found.push(Discrepancy::Constant {
            name: name.to_owned(),
            declared: Some(constant),
            found: None,
        });
    }
    for (_, constant) in module.overrides.iter() {
        let name = constant.name.clone().unwrap_or_default();
        found.push(Discrepancy::ForeignConstant(name));
    }
    let words = number_text::words_of_code(text);
    for name in declared.keys() {
        // One mention is the constant itself.
        if words.get(name).is_none_or(|mentions| *mentions < 2) {
            found.push(Discrepancy::UnusedConstant((*name).to_owned()));
        }
    }
}

fn name_in(constant: KernelConstant) -> &'static str {
    match constant {
        KernelConstant::Unsigned(name, _) | KernelConstant::Signed(name, _) => name,
    }
}

fn compare_shared(declaration: &KernelDeclaration, module: &Module, found: &mut Vec<Discrepancy>) {
    let mut layouter = Layouter::default();
    layouter
        .update(module.to_ctx())
        .expect("the module is valid, so every type has a layout");
    let mut missing: BTreeMap<&str, u32> = declaration
        .shared
        .iter()
        .map(|shared| (shared.name, shared.words))
        .collect();
    let mut bytes = 0;
    for (_, variable) in module.global_variables.iter() {
        if variable.space != AddressSpace::WorkGroup {
            continue;
        }
        let name = name_of(variable);
        let size = layouter[variable.ty].size;
        bytes += size;
        let declared = missing.remove(name.as_str());
        if declared != Some(size / WORD) {
            found.push(Discrepancy::Shared {
                name,
                declared,
                found: Some(size / WORD),
            });
        }
    }
    over_limit(
        "workgroup bytes",
        WORKGROUP_BYTES.into(),
        bytes.into(),
        found,
    );
    for (name, words) in missing {
        found.push(Discrepancy::Shared {
            name: name.to_owned(),
            declared: Some(words),
            found: None,
        });
    }
    if declaration.shared.is_empty() && integer_rules::has_barrier(module) {
        found.push(Discrepancy::Barrier("nothing is shared".to_owned()));
    }
}

fn compare_bindings(
    declaration: &KernelDeclaration,
    module: &Module,
    info: &ModuleInfo,
    found: &mut Vec<Discrepancy>,
) {
    let mut at_index: BTreeMap<u32, Handle<GlobalVariable>> = BTreeMap::new();
    for (handle, variable) in module.global_variables.iter() {
        if variable.space == AddressSpace::WorkGroup {
            continue;
        }
        let (AddressSpace::Storage { .. }, Some(binding), true) = (
            variable.space,
            variable.binding,
            variable.memory_decorations.is_empty(),
        ) else {
            found.push(Discrepancy::Space(name_of(variable)));
            continue;
        };
        if binding.group != 0 {
            found.push(Discrepancy::Group {
                name: name_of(variable),
                group: binding.group,
            });
        }
        // naga refuses two variables at one index.
        at_index.insert(binding.binding, handle);
    }
    over_limit(
        "storage buffers",
        DeviceLimits::WEBGPU_DEFAULT
            .max_storage_buffers_per_shader_stage
            .into(),
        at_index.len() as u64,
        found,
    );
    for (index, binding) in (0..).zip(declaration.bindings) {
        let handle = at_index.remove(&index);
        let name = handle.map(|handle| name_of(&module.global_variables[handle]));
        if name.as_deref() != Some(binding.name) {
            found.push(Discrepancy::Binding {
                index,
                declared: Some(binding.name.to_owned()),
                found: name,
            });
        }
        over_limit(
            "binding bytes",
            DeviceLimits::WEBGPU_DEFAULT.max_storage_buffer_binding_size,
            u64::from(binding.words.unwrap_or(0)) * u64::from(WORD),
            found,
        );
        if let Some(handle) = handle {
            compare_access(binding.access, module, info, handle, found);
        }
    }
    for (index, handle) in at_index {
        found.push(Discrepancy::Binding {
            index,
            declared: None,
            found: Some(name_of(&module.global_variables[handle])),
        });
    }
}

/// What the text permits and what the code does with one storage variable, and what it is made of.
fn compare_access(
    declared: StorageAccess,
    module: &Module,
    info: &ModuleInfo,
    handle: Handle<GlobalVariable>,
    found: &mut Vec<Discrepancy>,
) {
    let variable = &module.global_variables[handle];
    let writable = matches!(
        variable.space,
        AddressSpace::Storage { access } if access.contains(NagaAccess::STORE)
    );
    if writable != (declared != StorageAccess::Read) {
        found.push(Discrepancy::Access {
            name: name_of(variable),
            declared,
            writable,
        });
    }
    if module.entry_points.len() == 1 {
        let uses = info.get_entry_point(0)[handle];
        let (reads, writes) = (
            uses.contains(GlobalUse::READ),
            uses.contains(GlobalUse::WRITE),
        );
        let meant = match declared {
            StorageAccess::Read => (true, false),
            StorageAccess::Write => (false, true),
            StorageAccess::ReadWrite => (true, true),
        };
        if (reads, writes) != meant {
            found.push(Discrepancy::Use {
                name: name_of(variable),
                declared,
                reads,
                writes,
            });
        }
    }
    let words = match module.types[variable.ty].inner {
        TypeInner::Array { base, size, stride } => {
            size == ArraySize::Dynamic
                && stride == WORD
                && module.types[base].inner == TypeInner::Scalar(naga::Scalar::U32)
        }
        _ => false,
    };
    if !words {
        found.push(Discrepancy::Layout {
            name: name_of(variable),
            found: format!("{:?}", module.types[variable.ty].inner),
        });
    }
}
