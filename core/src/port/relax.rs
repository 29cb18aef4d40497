//! Spin iterations: the pause between two polls of a word that another thread will change.

/// Pausing between two polls.
///
/// Called from any thread; must return soon, must not call back into the core; implies no memory
/// ordering.
pub trait Relax {
    /// Pauses for one iteration of a wait. `turn` counts its failed polls from 0, so that a port
    /// can spin first and yield later.
    fn relax(&self, turn: u32);

    /// As [`relax`](Self::relax), in a wait that cannot complete until other threads are scheduled,
    /// possibly on this processor: on an oversubscribed machine a port should yield immediately
    /// rather than spin. Provided: as `relax`.
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

/// Pure spinning, for machines on which every thread has a dedicated processor.
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
