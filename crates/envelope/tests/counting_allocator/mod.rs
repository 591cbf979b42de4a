//! [`CountingAllocator`]: the system's allocator, with a count of the bytes that are out.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Per thread: the tests of one binary run at the same time.
    static OUT: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Counts the bytes each thread has allocated and not given back.
pub struct CountingAllocator;

fn count(bytes: isize) {
    OUT.set(OUT.get() + bytes);
    PEAK.set(PEAK.get().max(OUT.get()));
}

/// The most bytes that were out at one time while `work` ran, beyond those that were out before.
pub fn peak_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = OUT.get();
    PEAK.set(before);
    let result = work();
    (result, usize::try_from(PEAK.get() - before).unwrap_or(0))
}

#[expect(
    unsafe_code,
    reason = "`GlobalAlloc` is the only way to see every allocation"
)]
// SAFETY: every call goes to the system's allocator unchanged. The counters are constant-initialised
// thread-locals without a destructor, so touching them neither allocates nor fails.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's obligations are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's obligations are those of `System`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size.cast_signed() - layout.size().cast_signed());
        // SAFETY: the caller's obligations are those of `System`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the caller's obligations are those of `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}
