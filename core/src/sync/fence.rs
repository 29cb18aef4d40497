//! The full fence, as cheap as the machine has it.

/// `fence(SeqCst)`, the same in every respect but cost.
///
/// For x86-64 the compiler emits `mfence`, which waits for more than ordinary memory needs; a locked
/// instruction on the stack orders the same loads and stores.
#[cfg(all(target_arch = "x86_64", not(miri), not(tautline_loom)))]
#[inline(always)]
pub fn full_fence() {
    // SAFETY: or-ing 0 into a word of our own stack changes nothing. The block is a compiler barrier,
    // since it is not marked as leaving memory alone, and locked instructions are totally ordered.
    unsafe {
        core::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
}

/// `fence(SeqCst)`, the same in every respect but cost.
#[cfg(not(all(target_arch = "x86_64", not(miri), not(tautline_loom))))]
#[inline(always)]
pub fn full_fence() {
    // ORDERING: SeqCst: stands for whatever the caller pairs.
    super::fence(super::Ordering::SeqCst);
}
