//! The two halves of an asymmetric fence.

use crate::sync::full_fence;

/// Fences other threads from outside, so that a frequent operation of theirs needs no fence of its
/// own.
///
/// In the store-buffering (Dekker) pattern both sides fence between their store and their load.
/// Where one side runs far more often than the other, its fence may be a light one, which costs
/// nothing, if the rare side executes a heavy one (Dice, Huang, Yang: Asymmetric Dekker
/// Synchronization, 2001; C++ proposal P1202).
///
/// # Safety
/// The implementor must ensure that, where [`heavy_fence`](Self::heavy_fence) returns true, it and
/// every [`light_fence`](Self::light_fence) of another thread behave as a pair of full fences.
pub unsafe trait Fence {
    /// Orders this thread's accesses with respect to threads that execute a heavy fence. Provided:
    /// a full fence.
    ///
    /// Called from any thread, at every fork and join; must not call back.
    #[inline(always)]
    #[cfg_attr(tautline_loom, track_caller)]
    fn light_fence(&self) {
        // ORDERING: SeqCst: one half of the pair.
        full_fence();
    }

    /// Orders all threads' accesses. Returns false if the machine cannot do so at present.
    /// Provided: a full fence, the other half of the provided light one.
    ///
    /// Called from any thread; may take microseconds; must not call back.
    #[cfg_attr(tautline_loom, track_caller)]
    fn heavy_fence(&self) -> bool {
        // ORDERING: SeqCst: the other half.
        full_fence();
        true
    }
}
