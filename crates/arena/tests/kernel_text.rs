//! Oracle: naga, which parses and validates WGSL independently of any browser, finds each kernel valid
//! and finds in it exactly the bindings, workgroup and entry point that Rust declares.

use naga::front::wgsl;
use naga::proc::Layouter;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{AddressSpace, Module, StorageAccess as NagaAccess};
use wellwritten_arena::kernels::{ALL, ENTRY_POINT, KernelDeclaration, StorageAccess, field};
use wellwritten_arena::{KernelName, broken_wgsl, declaration};

/// Limits every WebGPU device grants.
const STORAGE_BUFFERS: usize = 8;
const INVOCATIONS: u32 = 256;
const WORKGROUP_BYTES: u32 = 16_384;

fn parse(text: &str) -> Result<Module, String> {
    let module = wgsl::parse_str(text).map_err(|error| error.emit_to_string(text))?;
    Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(|error| error.emit_to_string(text))?;
    Ok(module)
}

/// What the WGSL says of itself, in the form of a declaration.
fn reflected(module: &Module) -> Vec<(u32, String, bool)> {
    let mut bindings: Vec<_> = module
        .global_variables
        .iter()
        .filter_map(|(_, variable)| {
            let binding = variable.binding.as_ref()?;
            assert_eq!(binding.group, 0);
            let AddressSpace::Storage { access } = variable.space else {
                panic!("{:?} is no storage buffer", variable.name);
            };
            let name = variable.name.clone().unwrap_or_default();
            Some((binding.binding, name, access.contains(NagaAccess::STORE)))
        })
        .collect();
    bindings.sort();
    bindings
}

fn declared(declaration: &KernelDeclaration) -> Vec<(u32, String, bool)> {
    (0..)
        .zip(declaration.bindings)
        .map(|(index, binding)| {
            (
                index,
                binding.name.to_owned(),
                binding.access != StorageAccess::Read,
            )
        })
        .collect()
}

#[test]
fn every_kernel_is_valid_and_is_what_rust_declares() {
    let mut compared = 0;
    for declaration in ALL {
        let text = declaration.wgsl();
        let module = parse(&text).unwrap_or_else(|report| panic!("{}: {report}", declaration.name));
        assert_eq!(
            reflected(&module),
            declared(declaration),
            "{}",
            declaration.name
        );
        assert!(declaration.bindings.len() <= STORAGE_BUFFERS);

        let [entry] = &module.entry_points[..] else {
            panic!("one entry point")
        };
        assert_eq!(
            (entry.name.as_str(), entry.workgroup_size),
            (ENTRY_POINT, declaration.workgroup)
        );
        assert!(declaration.workgroup.iter().product::<u32>() <= INVOCATIONS);

        let mut layouter = Layouter::default();
        layouter.update(module.to_ctx()).unwrap();
        let shared: u32 = module
            .global_variables
            .iter()
            .filter(|(_, variable)| variable.space == AddressSpace::WorkGroup)
            .map(|(_, variable)| layouter[variable.ty].size)
            .sum();
        assert!(
            shared <= WORKGROUP_BYTES,
            "{} shares {shared} bytes",
            declaration.name
        );
        compared += 1;
    }
    assert_eq!(compared, 3);
}

/// Canaries: the comparison above notices another access, another order, and text that is not valid.
#[test]
fn the_comparison_notices() {
    let text = field::DECLARATION.wgsl();
    let expected = declared(&field::DECLARATION);
    let writable = text.replacen("var<storage, read>", "var<storage, read_write>", 1);
    assert_ne!(reflected(&parse(&writable).unwrap()), expected);
    let swapped = text.replace("@binding(0)", "@binding(9)");
    assert_ne!(reflected(&parse(&swapped).unwrap()), expected);
    for name in [KernelName::Field, KernelName::Agent, KernelName::View] {
        let report = parse(&broken_wgsl(name)).unwrap_err();
        assert!(report.contains("undeclared_value"), "{report}");
        assert_eq!(declaration(name).name, name.as_str());
    }
}
