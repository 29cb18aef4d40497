//! The full fence.
#![forbid(unsafe_code)]

/// Orders all that comes before it, stores too, before all that comes after, loads too.
///
/// The cheapest one that the language has: measured beside a hand-written `lock or`, which is what
/// LLVM emits for it on x86-64 since it stopped emitting `mfence` (rustc 1.95 does; 1.85 may not).
#[inline(always)]
pub fn full_fence() {
    // ORDERING: SeqCst: stands for whatever the caller pairs.
    super::fence(super::Ordering::SeqCst);
}
