//! Canaries: each way in which a text can drift from its declaration is noticed by the very comparison
//! that finds nothing wrong with the real texts.

use wellwritten_arena::kernels::{
    ALL, BindingDeclaration, KernelConstant, KernelDeclaration, SharedDeclaration, StorageAccess,
    agent, field, view,
};

use crate::comparison::compare;
use crate::discrepancy::Discrepancy;

/// A kernel that uses one of everything, small enough to be mutated at will.
const TINY: KernelDeclaration = KernelDeclaration {
    name: "tiny",
    body: "
@group(0) @binding(0) var<storage, read> given: array<u32>;
@group(0) @binding(1) var<storage, read_write> taken: array<u32>;
var<workgroup> between: array<u32, SIDE>;

@compute @workgroup_size(WORKGROUP_X, WORKGROUP_Y)
fn main(@builtin(local_invocation_index) lane: u32) {
    between[lane] = given[lane];
    workgroupBarrier();
    taken[lane] = between[SIDE - 1u - lane];
}
",
    constants: &[KernelConstant::Unsigned("SIDE", 64)],
    workgroup: [64, 1, 1],
    workgroups: [1, 1, 1],
    bindings: &[
        BindingDeclaration {
            name: "given",
            access: StorageAccess::Read,
            words: Some(64),
        },
        BindingDeclaration {
            name: "taken",
            access: StorageAccess::Write,
            words: Some(64),
        },
    ],
    shared: &[SharedDeclaration {
        name: "between",
        words: 64,
    }],
};

/// The text of `kernel` with `from`, which must stand in it, replaced by `to` wherever it stands.
fn mutated(kernel: &KernelDeclaration, from: &str, to: &str) -> String {
    let text = kernel.wgsl();
    assert!(text.contains(from), "{} has no {from:?}", kernel.name);
    text.replace(from, to)
}

/// What the comparison says of the mutated text of `kernel`, which must be something.
fn noticed(kernel: &KernelDeclaration, from: &str, to: &str) -> Vec<Discrepancy> {
    let found = compare(kernel, &mutated(kernel, from, to));
    assert!(!found.is_empty(), "{from:?} -> {to:?} went unnoticed");
    found
}

/// Exactly one discrepancy.
fn noticed_one(kernel: &KernelDeclaration, from: &str, to: &str) -> Discrepancy {
    match noticed(kernel, from, to).as_slice() {
        [found] => found.clone(),
        all => panic!("{from:?} -> {to:?} is noticed as {all:?}"),
    }
}

#[test]
fn swapped_bindings_are_noticed() {
    let text = field::DECLARATION
        .wgsl()
        .replace("@binding(0)", "@binding(9)")
        .replace("@binding(1)", "@binding(0)")
        .replace("@binding(9)", "@binding(1)");
    let swapped = |index, declared: &str, found: &str| Discrepancy::Binding {
        index,
        declared: Some(declared.to_owned()),
        found: Some(found.to_owned()),
    };
    assert_eq!(
        compare(&field::DECLARATION, &text),
        [swapped(0, "source", "food"), swapped(1, "food", "source")]
    );
}

#[test]
fn a_gap_another_group_and_one_binding_more_are_noticed() {
    let gap = noticed(&field::DECLARATION, "@binding(2)", "@binding(3)");
    assert_eq!(
        gap,
        [
            Discrepancy::Binding {
                index: 2,
                declared: Some("next".to_owned()),
                found: None
            },
            Discrepancy::Binding {
                index: 3,
                declared: None,
                found: Some("next".to_owned())
            },
        ]
    );
    assert_eq!(
        noticed_one(
            &field::DECLARATION,
            "@group(0) @binding(2)",
            "@group(1) @binding(2)"
        ),
        Discrepancy::Group {
            name: "next".to_owned(),
            group: 1
        }
    );
    assert_eq!(
        noticed_one(
            &view::DECLARATION,
            "@group(0) @binding(3)",
            "@group(0) @binding(4) var<storage, read> more: array<u32>;\n@group(0) @binding(3)"
        ),
        Discrepancy::Binding {
            index: 4,
            declared: None,
            found: Some("more".to_owned())
        }
    );
}

#[test]
fn another_access_is_noticed() {
    let writable = noticed_one(
        &field::DECLARATION,
        "<storage, read> food",
        "<storage, read_write> food",
    );
    assert_eq!(
        writable,
        Discrepancy::Access {
            name: "food".to_owned(),
            declared: StorageAccess::Read,
            writable: true
        }
    );
    let read_only = noticed(
        &agent::DECLARATION,
        "<storage, read_write> readout",
        "<storage, read> readout",
    );
    assert!(matches!(read_only[..], [Discrepancy::Invalid(_)]));
}

/// A binding declared as overwritten spoils nothing with its old bytes, so using them must be noticed.
#[test]
fn another_use_is_noticed() {
    let found = noticed_one(
        &field::DECLARATION,
        "= min(value, FIELD_MAX)",
        "= min(value + next[0], FIELD_MAX)",
    );
    assert_eq!(
        found,
        Discrepancy::Use {
            name: "next".to_owned(),
            declared: StorageAccess::Write,
            reads: true,
            writes: true
        }
    );
    // Through a function of its own, too.
    let found = noticed_one(
        &field::DECLARATION,
        "return (x + offset) % WIDTH;",
        "next[x] = 0u; return (x + offset + next[x]) % WIDTH;",
    );
    assert!(matches!(found, Discrepancy::Use { reads: true, .. }));
    let unread = noticed_one(&view::DECLARATION, "odour_level(field[index])", "0u");
    assert!(matches!(unread, Discrepancy::Use { reads: false, .. }));
}

/// The layout of a record is the offsets of its words: moving a member is changing one of these, or
/// making the elements anything but words.
#[test]
fn a_moved_member_is_noticed() {
    assert_eq!(
        noticed_one(
            &field::DECLARATION,
            "const FOOD_STRENGTH: u32 = 2u;",
            "const FOOD_STRENGTH: u32 = 3u;"
        ),
        Discrepancy::Constant {
            name: "FOOD_STRENGTH".to_owned(),
            declared: Some(KernelConstant::Unsigned("FOOD_STRENGTH", 2)),
            found: Some(KernelConstant::Unsigned("FOOD_STRENGTH", 3)),
        }
    );
    // A member before it: two words an element.
    let padded = [
        ("given: array<u32>", "given: array<Padded>"),
        ("given[lane]", "given[lane].word"),
        (
            "var<workgroup>",
            "struct Padded { pad: u32, word: u32 }\nvar<workgroup>",
        ),
    ];
    let text = padded.iter().fold(TINY.wgsl(), |text, (from, to)| {
        assert!(text.contains(from));
        text.replace(from, to)
    });
    let found = compare(&TINY, &text);
    assert!(
        found
            .iter()
            .any(|one| matches!(one, Discrepancy::Layout { name, .. } if name == "given")),
        "{found:?}"
    );
}

/// One mutation of a text, and the kind of discrepancy that must be found in it.
type Canary = (
    &'static KernelDeclaration,
    &'static str,
    &'static str,
    &'static str,
);

const TEXTS: &[Canary] = &[
    // Constants; that each one of each kernel is compared is a test of its own.
    (
        &field::DECLARATION,
        "* NEAR_WEIGHT",
        "* 2u",
        "unused constant",
    ),
    (
        &field::DECLARATION,
        "const NEAR_WEIGHT: u32 = 2u;",
        "const NEAR_WEIGHT: i32 = 2i;",
        "invalid",
    ),
    (
        &field::DECLARATION,
        "const NEAR_WEIGHT: u32 = 2u;",
        "",
        "invalid",
    ),
    (&field::DECLARATION, "FIELD_MAX", "FIELD_MOST", "constant"),
    (
        &field::DECLARATION,
        "fn column",
        "const MINE: u32 = 3u;\nfn column",
        "foreign constant",
    ),
    (
        &field::DECLARATION,
        "fn column",
        "override MINE: u32 = 3u;\nfn column",
        "foreign constant",
    ),
    (
        &view::DECLARATION,
        "const SINE_BITS: u32 = 14u;",
        "const SINE_BITS: u32 = 13u;",
        "constant",
    ),
    (
        &view::DECLARATION,
        "const DART_NOSE: i32 = 88i;",
        "const DART_NOSE: i32 = -88i;",
        "constant",
    ),
    (
        &agent::DECLARATION,
        "const NOISE_MASK: u32 = 511u;",
        "const NOISE_MASK: u32 = 255u;",
        "constant",
    ),
    (
        &agent::DECLARATION,
        "const WEIGHT_SHIFT: u32 = 16u;",
        "const WEIGHT_SHIFT: u32 = 15u;",
        "constant",
    ),
    // The workgroup, through its constant and around it.
    (
        &field::DECLARATION,
        "const WORKGROUP_X: u32 = 16u;",
        "const WORKGROUP_X: u32 = 8u;",
        "workgroup",
    ),
    (
        &view::DECLARATION,
        "(WORKGROUP_X, WORKGROUP_Y)",
        "(WORKGROUP_X, 8)",
        "workgroup",
    ),
    (
        &agent::DECLARATION,
        "(WORKGROUP_X, WORKGROUP_Y)",
        "(WORKGROUP_X, WORKGROUP_Y, 2)",
        "over limit",
    ),
    (&field::DECLARATION, "fn main", "fn other", "entry points"),
    (
        &TINY,
        "@compute",
        "@compute @workgroup_size(1) fn more() {}\n@compute",
        "entry points",
    ),
    // Anything but 32-bit integers.
    (
        &field::DECLARATION,
        "min(value, FIELD_MAX)",
        "u32(f32(min(value, FIELD_MAX)))",
        "type",
    ),
    (
        &view::DECLARATION,
        "let side = ",
        "let half = 0.5;\nlet side = ",
        "type",
    ),
    (
        &TINY,
        "= given[lane];",
        "= u32(1.5 + 0.5) + given[lane];",
        "float text",
    ),
    (
        &TINY,
        "= given[lane];",
        "= bitcast<u32>(bitcast<f32>(given[lane]));",
        "type",
    ),
    (
        &TINY,
        "= given[lane];",
        "= u32(vec2f(1, 2).x) + given[lane];",
        "float text",
    ),
    // What has an order, or none.
    (
        &TINY,
        "array<u32, SIDE>",
        "array<atomic<u32>, SIDE>",
        "invalid",
    ),
    (
        &TINY,
        "@compute",
        "var<workgroup> tally: atomic<u32>;\nfn count() { atomicAdd(&tally, 1u); }\n@compute",
        "statement",
    ),
    (
        &TINY,
        "= between[SIDE - 1u - lane]",
        "= workgroupUniformLoad(&between[0])",
        "statement",
    ),
    (&TINY, "workgroupBarrier();", "storageBarrier();", "barrier"),
    (
        &field::DECLARATION,
        "return (x + offset)",
        "workgroupBarrier(); return (x + offset)",
        "barrier",
    ),
    // Memory that nobody declared.
    (
        &agent::DECLARATION,
        "fired: array<u32, 2 * NEURONS>",
        "fired: array<u32, 3 * NEURONS>",
        "shared",
    ),
    (
        &TINY,
        "@compute",
        "var<workgroup> more: u32;\n@compute",
        "shared",
    ),
    (&TINY, "array<u32, SIDE>", "array<u32, 5000>", "over limit"),
    (&TINY, "between", "among", "shared"),
    (
        &TINY,
        "@compute",
        "var<private> mine: u32;\n@compute",
        "space",
    ),
    (
        &TINY,
        "@compute",
        "@group(0) @binding(2) var<uniform> mine: vec4<u32>;\n@compute",
        "space",
    ),
];

const fn kind(discrepancy: &Discrepancy) -> &'static str {
    match discrepancy {
        Discrepancy::Invalid(_) => "invalid",
        Discrepancy::EntryPoints(_) => "entry points",
        Discrepancy::Workgroup { .. } => "workgroup",
        Discrepancy::OverLimit { .. } => "over limit",
        Discrepancy::Group { .. } => "group",
        Discrepancy::Binding { .. } => "binding",
        Discrepancy::Access { .. } => "access",
        Discrepancy::Use { .. } => "use",
        Discrepancy::Layout { .. } => "layout",
        Discrepancy::Constant { .. } => "constant",
        Discrepancy::UnusedConstant(_) => "unused constant",
        Discrepancy::ForeignConstant(_) => "foreign constant",
        Discrepancy::Shared { .. } => "shared",
        Discrepancy::Space(_) => "space",
        Discrepancy::Type(_) => "type",
        Discrepancy::FloatText(_) => "float text",
        Discrepancy::Statement(_) => "statement",
        Discrepancy::Barrier(_) => "barrier",
    }
}

#[test]
fn every_mutation_is_noticed_for_what_it_is() {
    assert_eq!(compare(&TINY, &TINY.wgsl()), []);
    for (kernel, from, to, expected) in TEXTS {
        let found = noticed(kernel, from, to);
        assert!(
            found.iter().any(|one| kind(one) == *expected),
            "{from:?} -> {to:?} is not noticed for its {expected}: {found:?}"
        );
    }
}

/// Every number that Rust and WGSL share, one off in the text: noticed, each by its name.
#[test]
fn every_constant_is_compared() {
    let mut compared = 0;
    for kernel in ALL {
        let text = kernel.wgsl();
        for constant in kernel.constants {
            let (line, other, name) = match constant {
                KernelConstant::Unsigned(name, value) => (
                    format!("const {name}: u32 = {value}u;"),
                    format!("const {name}: u32 = {}u;", value ^ 1),
                    name,
                ),
                KernelConstant::Signed(name, value) => (
                    format!("const {name}: i32 = {value}i;"),
                    format!("const {name}: i32 = {}i;", value ^ 1),
                    name,
                ),
            };
            assert!(text.contains(&line), "{line}");
            let found = compare(kernel, &text.replace(&line, &other));
            // A few sizes make the text invalid, or also shared memory another.
            assert!(
                found.iter().any(|one| match one {
                    Discrepancy::Constant { name: found, .. } => found == name,
                    Discrepancy::Invalid(_) => true,
                    _ => false,
                }),
                "{line} -> {other}: {found:?}"
            );
            compared += 1;
        }
    }
    assert!(compared > 80, "only {compared} constants");
}
