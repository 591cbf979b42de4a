//! How many bytes this thread has hashed: only tests count.

use std::cell::Cell;

thread_local! {
    static HASHED: Cell<usize> = const { Cell::new(0) };
}

pub(crate) fn count(bytes: usize) {
    HASHED.set(HASHED.get() + bytes);
}

/// How many bytes `work` hashes.
pub(crate) fn hashed_by<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = HASHED.get();
    let result = work();
    (result, HASHED.get() - before)
}
