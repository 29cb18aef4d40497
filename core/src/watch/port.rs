//! The port that receives the workers' changes of state.

use super::passage::Passage;
#[cfg(feature = "alloc")]
use super::stall::Stall;
use super::state::State;
use crate::id::WorkerId;

/// Observation of the workers of a pool.
///
/// Called by the worker itself, where it begins or ends a search, a sleep or a wait: never at a
/// fork, a join or a spawn. Must not block and must not call back; orders nothing. All provided:
/// nothing is observed, at no cost.
pub trait Watch {
    /// Returns whether the changes of state are observed, and the tasks counted that are suspended
    /// in a wait for a phase. Does not change while a pool uses the port.
    #[inline(always)]
    fn is_watching(&self) -> bool {
        false
    }

    /// The calling thread, which is `worker`, is in `state` from now on; or, if that is `None`, is
    /// not that worker any more.
    #[inline(always)]
    fn enter(&self, _worker: WorkerId, _state: Option<State>) {}

    /// The calling thread, which is `thief`, has ended a search with a task from the queues of
    /// `victim`. Called after [`enter`](Self::enter).
    #[inline(always)]
    fn stole(&self, _thief: WorkerId, _victim: WorkerId) {}

    /// The calling thread, which is `worker`, sends or receives loot of a balanced computation, in
    /// the state that it entered last.
    #[inline(always)]
    fn loot(&self, _worker: WorkerId, _passage: Passage) {}

    /// Nothing can go on in the pool unless a thread outside of it acts. Called by a worker that
    /// waits, where [`park_in_wait`](crate::port::Park::park_in_wait) has returned true repeatedly.
    /// Returns whether the waits are to be ended by panics. Provided: ignores it.
    #[cfg(feature = "alloc")]
    fn stalled(&self, _stall: &Stall) -> bool {
        false
    }
}

impl<P: Watch + ?Sized> Watch for &P {
    #[inline(always)]
    fn is_watching(&self) -> bool {
        (**self).is_watching()
    }

    #[inline(always)]
    fn enter(&self, worker: WorkerId, state: Option<State>) {
        (**self).enter(worker, state);
    }

    #[inline(always)]
    fn stole(&self, thief: WorkerId, victim: WorkerId) {
        (**self).stole(thief, victim);
    }

    #[inline(always)]
    fn loot(&self, worker: WorkerId, passage: Passage) {
        (**self).loot(worker, passage);
    }

    #[cfg(feature = "alloc")]
    fn stalled(&self, stall: &Stall) -> bool {
        (**self).stalled(stall)
    }
}
