//! [`CountingAllocator`]: the system's allocator, with a count of what is allocated and not yet freed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Per thread and without atomics: a locked instruction in every allocation is a tenth of a transition.
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

/// Counts the live allocations of each thread.
pub struct CountingAllocator;

/// Allocations of this thread that are live now, less those it freed for others.
pub fn live_allocations() -> i64 {
    LIVE.get()
}

#[expect(
    unsafe_code,
    reason = "`GlobalAlloc` is the only way to see every allocation"
)]
// SAFETY: every call goes to the system's allocator unchanged. The counter is a constant-initialised thread-local without
// a destructor, so touching it neither allocates nor fails.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get() + 1);
        // SAFETY: the caller's obligations are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get() + 1);
        // SAFETY: the caller's obligations are those of `System`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's obligations are those of `System`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - 1);
        // SAFETY: the caller's obligations are those of `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}
