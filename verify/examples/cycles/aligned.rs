//! An allocator that begins every object at a multiple of 128 bytes, so that runs in virtual time
//! are exact.
//!
//! Objects of the code under test that share a bank's interleaved piece or a cache line slow each
//! other down. With the system's allocator it depends on what was allocated before whether they do.

use std::alloc::{GlobalAlloc, Layout, System};

/// The longest line, and a multiple of the interleaved piece, of each modelled machine.
const BYTES: usize = 128;

struct Aligned;

#[global_allocator]
static ALIGNED: Aligned = Aligned;

fn padded(layout: Layout) -> Option<Layout> {
    Some(layout.align_to(BYTES).ok()?.pad_to_align())
}

// SAFETY: every block comes from the system's allocator, by a layout that is at least as large and
// as aligned as the requested one, and is returned to it by the same layout.
unsafe impl GlobalAlloc for Aligned {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match padded(layout) {
            // SAFETY: not of size zero, as `layout` is not.
            Some(padded) => unsafe { System.alloc(padded) },
            None => std::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(padded) = padded(layout) {
            // SAFETY: `block` was allocated by this layout; without one there is no block.
            unsafe { System.dealloc(block, padded) }
        }
    }
}
