//! The integer arithmetic of WGSL, written from its specification: everything wraps, a shift takes the
//! amount modulo 32, division by zero gives the dividend.

use naga::{BinaryOperator, MathFunction, ScalarKind, UnaryOperator};

/// `left operator right` on words of `kind`.
pub fn binary(operator: BinaryOperator, kind: ScalarKind, left: u32, right: u32) -> u32 {
    use BinaryOperator as Op;
    let signed = kind == ScalarKind::Sint;
    let (a, b) = (left.cast_signed(), right.cast_signed());
    let ordering = if signed { a.cmp(&b) } else { left.cmp(&right) };
    match operator {
        Op::Add => left.wrapping_add(right),
        Op::Subtract => left.wrapping_sub(right),
        Op::Multiply => left.wrapping_mul(right),
        Op::Divide if right == 0 => left,
        Op::Divide if signed => a.wrapping_div(b).cast_unsigned(),
        Op::Divide => left / right,
        Op::Modulo if right == 0 => 0,
        Op::Modulo if signed => a.wrapping_rem(b).cast_unsigned(),
        Op::Modulo => left % right,
        Op::Equal => (left == right).into(),
        Op::NotEqual => (left != right).into(),
        Op::Less => ordering.is_lt().into(),
        Op::LessEqual => ordering.is_le().into(),
        Op::Greater => ordering.is_gt().into(),
        Op::GreaterEqual => ordering.is_ge().into(),
        Op::And | Op::LogicalAnd => left & right,
        Op::ExclusiveOr => left ^ right,
        Op::InclusiveOr | Op::LogicalOr => left | right,
        Op::ShiftLeft => left << (right % 32),
        Op::ShiftRight if signed => (a >> (right % 32)).cast_unsigned(),
        Op::ShiftRight => left >> (right % 32),
    }
}

/// `operator value`.
pub fn unary(operator: UnaryOperator, value: u32) -> u32 {
    match operator {
        UnaryOperator::Negate => value.wrapping_neg(),
        UnaryOperator::LogicalNot => value ^ 1,
        UnaryOperator::BitwiseNot => !value,
    }
}

/// A built-in function on words of `kind`; `None` for one that no kernel needs.
pub fn math(function: MathFunction, kind: ScalarKind, arguments: &[u32]) -> Option<u32> {
    let signed = kind == ScalarKind::Sint;
    let min = |a: u32, b: u32| {
        if signed {
            a.cast_signed().min(b.cast_signed()).cast_unsigned()
        } else {
            a.min(b)
        }
    };
    let max = |a: u32, b: u32| a ^ b ^ min(a, b);
    Some(match (function, arguments) {
        (MathFunction::Abs, [value]) if signed => {
            value.cast_signed().wrapping_abs().cast_unsigned()
        }
        (MathFunction::Abs, [value]) => *value,
        (MathFunction::Min, [a, b]) => min(*a, *b),
        (MathFunction::Max, [a, b]) => max(*a, *b),
        (MathFunction::Clamp, [value, low, high]) => min(max(*value, *low), *high),
        (MathFunction::FirstLeadingBit, [value]) if !signed => {
            value.checked_ilog2().unwrap_or(u32::MAX)
        }
        _ => return None,
    })
}
