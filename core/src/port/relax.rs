//! What a thread does between two polls of a word that another thread will change.

/// Waiting without giving up the processor for good.
///
/// Called from any thread, must return soon, must not call back into the core, orders nothing.
pub trait Relax {
    /// One iteration of a wait; `turn` counts its failed polls from 0, so that a port can spin first
    /// and yield later.
    fn relax(&self, turn: u32);

    /// As [`relax`](Self::relax), in a wait that cannot end before other threads have been scheduled,
    /// possibly on this processor: a port of an oversubscribed machine yields at once rather than
    /// spin. Provided: as `relax`.
    fn yield_now(&self, turn: u32) {
        self.relax(turn);
    }
}

impl<P: Relax + ?Sized> Relax for &P {
    #[inline(always)]
    fn relax(&self, turn: u32) {
        (**self).relax(turn);
    }

    #[inline(always)]
    fn yield_now(&self, turn: u32) {
        (**self).yield_now(turn);
    }
}

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
