//! The hardware that a port requires.

use core::hint::spin_loop;
use tautline_core::port::{Clock, Relax};

/// Turns of pure spinning before a waiting hart rests: about as long as a lock is held.
const SPIN_TURNS: u32 = 64;

/// A machine of numbered harts, each of which has a wake-up bit. The bit corresponds to `awake` of
/// a Cyclops64 and to the software interrupt of a RISC-V hart: it is sticky until its hart takes
/// it. It does not carry a cause, so that one bit serves all wakers of a hart and no wake-up is
/// lost: a waker records the cause first, and the hart checks all causes after it has taken the
/// bit.
///
/// # Safety
/// Harts are distinguished by their numbers alone. The implementor must ensure that
/// - `hart` gives different numbers to harts, or threads, that run at the same time, and the same
///   one to the same;
/// - a call at an address from `stack_floor` on does not run into memory beyond the hart's stack;
/// - `on_more_stack` calls `body` on the calling hart, if at all, and returns after `body` has;
/// - none of these unwinds, except by a panic of `body`.
pub unsafe trait Board: Clock + Relax + Sync + 'static {
    /// Ticks of the clock that a hart rests within one turn of waiting, unless it is woken.
    const REST_TICKS: u64;

    /// The approximate number of ticks from waking a hart to its first instruction.
    const WAKE_TICKS: u64;

    /// Returns the number of the calling hart, from 0.
    fn hart(&self) -> usize;

    /// Sets the wake-up bit of a hart, which may be the caller. Callable from any hart; does not
    /// block. Release.
    fn ring(&self, hart: usize);

    /// Suspends the caller until its bit is set, for at most `within` ticks, and takes the bit. May
    /// return spuriously. Acquire: what happens-before the `ring` whose bit this call took is
    /// visible.
    fn rest(&self, within: Option<u64>);

    /// Returns the lowest address that calls on this hart may reach, in bytes. Provided: no limit
    /// known.
    fn stack_floor(&self) -> usize {
        0
    }

    /// Calls `body`, once, where there is stack left; does not call it if there is no memory for
    /// that. Provided: on the current stack.
    fn on_more_stack(&self, body: &mut dyn FnMut()) {
        body();
    }

    /// Performs one turn of waiting, for [`Relax`]: spins first, then rests.
    fn doze(&self, turn: u32) {
        if turn < SPIN_TURNS {
            spin_loop();
        } else {
            self.rest(Some(Self::REST_TICKS));
        }
    }
}
