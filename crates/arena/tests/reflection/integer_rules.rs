//! What a kernel may be made of, so that every device gives the same bytes: 32-bit integers, and
//! statements whose result has no order.

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Barrier, Block, Function, Literal, Module, ScalarKind, Statement, TypeInner};

use crate::discrepancy::Discrepancy;

/// Everything in `module` that is not allowed.
pub fn broken(module: &Module, info: &ModuleInfo) -> Vec<Discrepancy> {
    let mut found = Vec::new();
    for (_, ty) in module.types.iter() {
        check_type(&ty.inner, &mut found);
    }
    for (handle, expression) in module.global_expressions.iter() {
        check_type(info[handle].inner_with(&module.types), &mut found);
        check_literal(expression, &mut found);
    }
    for (handle, function) in module.functions.iter() {
        check_function(module, function, &info[handle], &mut found);
    }
    for (index, entry) in module.entry_points.iter().enumerate() {
        check_function(
            module,
            &entry.function,
            info.get_entry_point(index),
            &mut found,
        );
    }
    found
}

fn check_function(
    module: &Module,
    function: &Function,
    info: &FunctionInfo,
    found: &mut Vec<Discrepancy>,
) {
    for (handle, expression) in function.expressions.iter() {
        check_type(info[handle].ty.inner_with(&module.types), found);
        check_literal(expression, found);
    }
    check_block(&function.body, found);
}

/// Where a literal is folded into another type, its own type is only in the literal.
fn check_literal(expression: &naga::Expression, found: &mut Vec<Discrepancy>) {
    if let naga::Expression::Literal(literal) = expression
        && !matches!(
            literal,
            Literal::U32(_) | Literal::I32(_) | Literal::Bool(_)
        )
    {
        found.push(Discrepancy::Type(format!("{literal:?}")));
    }
}

fn check_type(inner: &TypeInner, found: &mut Vec<Discrepancy>) {
    let allowed = match inner {
        // The arrays and pointers are of types that are checked themselves.
        TypeInner::Array { .. } | TypeInner::Pointer { .. } => true,
        TypeInner::Scalar(scalar)
        | TypeInner::Vector { scalar, .. }
        | TypeInner::ValuePointer { scalar, .. } => match scalar.kind {
            ScalarKind::Uint | ScalarKind::Sint => scalar.width == 4,
            ScalarKind::Bool => true,
            _ => false,
        },
        _ => false,
    };
    if !allowed {
        found.push(Discrepancy::Type(format!("{inner:?}")));
    }
}

fn check_block(block: &Block, found: &mut Vec<Discrepancy>) {
    for statement in block {
        match statement {
            Statement::Emit(_)
            | Statement::Break
            | Statement::Continue
            | Statement::Return { .. }
            | Statement::Store { .. }
            | Statement::Call { .. } => {}
            Statement::Block(block) => check_block(block, found),
            Statement::If { accept, reject, .. } => {
                check_block(accept, found);
                check_block(reject, found);
            }
            Statement::Switch { cases, .. } => {
                for case in cases {
                    check_block(&case.body, found);
                }
            }
            Statement::Loop {
                body, continuing, ..
            } => {
                check_block(body, found);
                check_block(continuing, found);
            }
            Statement::ControlBarrier(barrier) => {
                if *barrier != Barrier::WORK_GROUP {
                    found.push(Discrepancy::Barrier(format!("{barrier:?}")));
                }
            }
            Statement::MemoryBarrier(barrier) => {
                found.push(Discrepancy::Barrier(format!("memory, {barrier:?}")));
            }
            Statement::Atomic { .. } | Statement::ImageAtomic { .. } => {
                found.push(Discrepancy::Statement("atomic"));
            }
            Statement::WorkGroupUniformLoad { .. } => {
                found.push(Discrepancy::Statement("uniform load"));
            }
            _ => found.push(Discrepancy::Statement("neither arithmetic nor flow")),
        }
    }
}

/// Whether `module` meets at a barrier anywhere.
pub fn has_barrier(module: &Module) -> bool {
    module
        .functions
        .iter()
        .map(|(_, function)| function)
        .chain(module.entry_points.iter().map(|entry| &entry.function))
        .any(|function| block_has_barrier(&function.body))
}

fn block_has_barrier(block: &Block) -> bool {
    block.iter().any(|statement| match statement {
        Statement::ControlBarrier(_) => true,
        Statement::Block(block) => block_has_barrier(block),
        Statement::If { accept, reject, .. } => {
            block_has_barrier(accept) || block_has_barrier(reject)
        }
        Statement::Switch { cases, .. } => cases.iter().any(|case| block_has_barrier(&case.body)),
        Statement::Loop {
            body, continuing, ..
        } => block_has_barrier(body) || block_has_barrier(continuing),
        _ => false,
    })
}
