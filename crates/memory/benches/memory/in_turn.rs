//! [`in_turn`]: one item after the other, for ever.

/// The items in turn: more of them than the processor's caches and predictors learn by heart.
pub fn in_turn<'a, T>(items: &'a [T]) -> impl FnMut() -> &'a T + use<'a, T> {
    let mut at = 0;
    move || {
        at = if at + 1 == items.len() { 0 } else { at + 1 };
        &items[at]
    }
}
