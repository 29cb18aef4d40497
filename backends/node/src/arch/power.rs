//! POWER, whose spinning threads take issue slots from the other seven of their core: low priority,
//! then medium again, as Linux's `cpu_relax`. The standard library has no pause there. That
//! requires Rust 1.95, whose inline assembly for POWER is stable.
#![allow(unsafe_code)]

use core::arch::asm;

/// Leaves the core to its other hardware threads for a moment.
#[inline(always)]
pub(crate) fn pause() {
    // SAFETY: these forms of `or` change the priority of the hardware thread, and nothing else.
    unsafe {
        asm!(
            "or 1,1,1",
            "or 2,2,2",
            options(nomem, nostack, preserves_flags)
        );
    }
}
