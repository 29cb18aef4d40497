//! The full fence, and the light half of an asymmetric one.
//!
//! # Orderings
//! | id | one side | the other side | what becomes visible | model |
//! |---|---|---|---|---|
//! | F1 | `light_fence` | the heavy fence of a port | of two stores, each before its fence, one to the load after the other fence | `verify/litmus/fence.toml` |

/// Orders all earlier accesses of this thread before all later ones, stores before loads included.
///
/// The cheapest one that the language has: it was measured against a hand-written `lock or`, which
/// is what LLVM emits for it on x86-64 since it stopped emitting `mfence` (rustc 1.95 does; older
/// ones may not).
#[inline(always)]
#[cfg_attr(tautline_loom, track_caller)]
pub fn full_fence() {
    // ORDERING: SeqCst: in place of the pair that the caller documents.
    super::fence(super::Ordering::SeqCst);
    #[cfg(tautline_loom)]
    // ORDERING: Relaxed: orders nothing.
    FENCES.store(0, super::Ordering::Relaxed);
}

/// The light half of an asymmetric fence on a machine with the heavy one
/// ([`port::Fence`](crate::port::Fence)): binds the compiler, and is no instruction.
///
/// The heavy half is a full fence between two instructions of this thread. Instructions are in the
/// compiler's order, so that order is all that is missing: no access may cross this call, loads
/// before stores included.
///
/// For 64-bit POWER, LLVM makes a compiler fence an instruction: `sync`, or `lwsync` below SeqCst,
/// which also would let the compiler move a load before a store. So it is an assembly block without
/// instructions there, which the compiler must assume to access all memory that other threads can.
/// That requires Rust 1.95.
#[inline(always)]
#[cfg_attr(tautline_loom, track_caller)]
pub fn light_fence() {
    #[cfg(not(any(tautline_loom, tautline_shuttle, target_arch = "powerpc64")))]
    // ORDERING: SeqCst: weaker ones let the compiler move a load before a store; the heavy fence
    // does the rest (F1).
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
    #[cfg(all(not(any(tautline_loom, tautline_shuttle)), target_arch = "powerpc64"))]
    // SAFETY: has no instructions.
    unsafe {
        core::arch::asm!("", options(nostack, preserves_flags));
    }
    #[cfg(any(tautline_loom, tautline_shuttle))]
    // ORDERING: SeqCst: model checkers have no fence that acts on other threads; a full one on both
    // sides is equivalent to the pair.
    full_fence();
}

// Loom explores other schedules only where threads access the same word, and a fence accesses none.
#[cfg(tautline_loom)]
loom::lazy_static! {
    static ref FENCES: super::AtomicUsize = super::AtomicUsize::new(0);
}

/// Executes `core::sync::atomic::fence` in a form that ThreadSanitizer, which ignores fences, takes
/// into account.
///
/// If a fence before a store and one after the load that reads it order two accesses, so do updates
/// of one word in their place: no false race is reported. They order more, too: a race between
/// accesses that only they order may be missed.
#[cfg(tautline_tsan)]
pub fn fence(order: super::Ordering) {
    static FENCES: super::AtomicUsize = super::AtomicUsize::new(0);
    // ORDERING: as passed by the caller.
    core::sync::atomic::fence(order);
    // ORDERING: AcqRel: at least what a fence orders.
    FENCES.fetch_add(1, super::Ordering::AcqRel);
}
