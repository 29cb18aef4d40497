//! What must be known of the hardware.

use core::hint::spin_loop;
use tautline_core::port::{Clock, Relax};

/// Turns of pure spinning before a waiting hart rests: as long as a lock is mostly held.
const SPIN_TURNS: u32 = 64;

/// A machine of numbered harts, each of which has a wake-up bit.
///
/// The bit is what a Cyclops64 sets by its `awake` and a RISC-V hart by its software interrupt: it stays until its hart
/// takes it. It does not say why it was set, so that one bit serves whoever wakes that hart, and nobody's call is lost:
/// callers write down first what they call for, and the hart looks there after it has taken the bit.
///
/// # Safety
/// A hart is told from others by its number alone. The implementor must ensure that
/// - `hart` gives different numbers to harts, or threads, that run at the same time, and the same one to the same;
/// - a call at an address from `stack_floor` on does not run into memory beyond the hart's stack;
/// - `on_more_stack` calls `body` on the calling hart, if at all, and returns after `body` has;
/// - none of these unwinds, except by a panic of `body`.
pub unsafe trait Board: Clock + Relax + Sync + 'static {
    /// Ticks of the clock that a hart rests within one turn of waiting, if nobody rings it.
    const REST_TICKS: u64;

    /// Ticks of the clock between ringing a hart and its first instruction, about.
    const WAKE_TICKS: u64;

    /// The number of the hart that asks, from 0.
    fn hart(&self) -> usize;

    /// Sets the wake-up bit of that hart. Any hart, itself too; does not block. Release.
    fn ring(&self, hart: usize);

    /// Gives the processor up until the caller's bit is set, but for `within` ticks at most, and takes the bit. May
    /// return without one. Acquire: what was done before a ring that this call took is visible.
    fn rest(&self, within: Option<u64>);

    /// The lowest address that calls on this hart may reach, in bytes. Provided: no limit known.
    fn stack_floor(&self) -> usize {
        0
    }

    /// Calls `body`, once, where there is stack left; does not call it if there is no memory for that. Provided: on
    /// the stack that there is.
    fn on_more_stack(&self, body: &mut dyn FnMut()) {
        body();
    }

    /// One turn of waiting, for [`Relax`]: spins first, then rests.
    fn doze(&self, turn: u32) {
        if turn < SPIN_TURNS {
            spin_loop();
        } else {
            self.rest(Some(Self::REST_TICKS));
        }
    }
}
