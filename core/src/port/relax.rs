//! What a thread does between two looks at a word that somebody else will change.

/// Waiting without giving up the processor for good.
///
/// Called from any thread, must return soon, must not call back into the core, orders nothing.
pub trait Relax {
    /// One step of waiting; `turn` counts the failed looks of this wait from 0, or from [`CROWDED`], so that a port can spin first and
    /// yield later, or at once.
    fn relax(&self, turn: u32);
}

/// Where a wait begins to count that does not end before others get processors, maybe this one: nothing is to be spun for.
pub const CROWDED: u32 = 1 << 30;

/// Pure spinning: right where every thread has a processor of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spin;

impl Relax for Spin {
    #[inline]
    fn relax(&self, _turn: u32) {
        #[cfg(not(any(tautline_loom, tautline_shuttle)))]
        core::hint::spin_loop();
        #[cfg(tautline_loom)]
        loom::thread::yield_now();
        #[cfg(tautline_shuttle)]
        shuttle::thread::yield_now();
    }
}

impl super::Barrier for Spin {}
