//! The full fence, and the light half of an asymmetric one.
#![forbid(unsafe_code)]

/// Orders all earlier accesses of this thread before all later ones, stores before loads included.
///
/// The cheapest one that the language has: it was measured against a hand-written `lock or`, which
/// is what LLVM emits for it on x86-64 since it stopped emitting `mfence` (rustc 1.95 does; older
/// ones may not).
#[inline(always)]
pub fn full_fence() {
    // ORDERING: SeqCst: in place of the pair that the caller documents.
    super::fence(super::Ordering::SeqCst);
    #[cfg(tautline_loom)]
    // ORDERING: Relaxed: orders nothing.
    FENCES.store(0, super::Ordering::Relaxed);
}

/// The light half of an asymmetric fence on a machine with the heavy one: a compiler fence
/// ([`port::Fence`](crate::port::Fence)).
#[inline(always)]
pub fn light_fence() {
    #[cfg(not(any(tautline_loom, tautline_shuttle)))]
    // ORDERING: SeqCst: keeps the compiler from moving a load before a store; the heavy fence does the rest. no mutant:
    // models are built without it.
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
    #[cfg(any(tautline_loom, tautline_shuttle))]
    // ORDERING: SeqCst: model checkers have no fence that acts on other threads; a full one on both
    // sides is equivalent to the pair. no mutant: its callers have theirs.
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
/// of one word in their place: no false race is reported. They order more, too: a race beside
/// fences may be missed.
#[cfg(tautline_tsan)]
pub fn fence(order: super::Ordering) {
    static FENCES: super::AtomicUsize = super::AtomicUsize::new(0);
    // ORDERING: as passed by the caller.
    core::sync::atomic::fence(order);
    // ORDERING: AcqRel: at least what a fence orders.
    FENCES.fetch_add(1, super::Ordering::AcqRel);
}
