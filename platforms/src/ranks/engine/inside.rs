//! Whether a thread runs code of the program in the middle of a turn: while it holds locks of the
//! world.
#![forbid(unsafe_code)]

use crate::process::contain::contain;
use std::cell::Cell;

thread_local! {
    static TURNS: Cell<usize> = const { Cell::new(0) };
}

/// Runs a turn, which may run code of the program: wakers, decoders, operators, drops of values.
/// Returns `None` if it panics.
pub(crate) fn inside<R>(turn: impl FnOnce() -> R) -> Option<R> {
    TURNS.set(TURNS.get() + 1);
    let ended = contain(turn);
    TURNS.set(TURNS.get() - 1);
    ended
}

/// Whether the calling thread is in a turn, of any world: it may have locks that the end of a world
/// waits for.
pub(crate) fn is_inside() -> bool {
    TURNS.get() > 0
}
