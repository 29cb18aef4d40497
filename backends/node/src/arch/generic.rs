//! Processors whose pause the standard library has: x86-64 `pause`, Arm `isb`, RISC-V `pause`;
//! nothing on others.
#![forbid(unsafe_code)]

/// Leaves the core to its other hardware threads for a moment.
#[inline(always)]
pub(crate) fn pause() {
    std::hint::spin_loop();
}
