//! Barriers in hardware.

use super::{Relax, Spin};

/// The number of a barrier line of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line(pub u8);

/// Barrier lines: wires, or an equivalent, that complete when all included threads have arrived.
///
/// All methods act for the calling thread, except `claim` and `give_back`, which any thread may
/// call; none calls back into the core, and none but `meet` blocks. Provided: a machine without
/// lines.
///
/// What a thread did before `arrive`, `meet` or `exclude` is visible to a thread whose `is_done`
/// returns true, or whose `meet` returns, because of it: the former release, the latter acquire.
pub trait Barrier: Relax {
    /// Returns the number of lines of the machine. If it is 0, `claim` is not called.
    fn lines(&self) -> usize {
        0
    }

    /// Claims a free line for exclusive use by the caller, if there is one. The line includes no
    /// thread.
    fn claim(&self) -> Option<Line> {
        None
    }

    /// Releases a claimed line, which must include no thread.
    fn give_back(&self, _line: Line) {}

    /// Includes the calling thread: the line waits for it from now on.
    fn include(&self, _line: Line) {}

    /// Excludes the calling thread, which has not arrived since the line last completed. This may
    /// complete the line.
    fn exclude(&self, _line: Line) {}

    /// Records the arrival of the calling thread, which is included and has not arrived since the
    /// line last completed.
    fn arrive(&self, _line: Line) {}

    /// Whether all included threads have arrived since the line last completed for the calling
    /// thread.
    fn is_done(&self, _line: Line) -> bool {
        true
    }

    /// Arrives, and waits until all included threads have: a phaser waits at a line by this call
    /// alone.
    ///
    /// Provided: [`arrive`](Self::arrive), then polls of [`is_done`](Self::is_done). A machine
    /// whose barrier stalls or interrupts threads implements this instead of those two, and may
    /// block.
    #[inline]
    fn meet(&self, line: Line) {
        self.arrive(line);
        let mut turn = 0;
        while !self.is_done(line) {
            self.relax(turn);
            turn = turn.saturating_add(1);
        }
    }
}

impl<P: Barrier + ?Sized> Barrier for &P {
    #[inline(always)]
    fn lines(&self) -> usize {
        (**self).lines()
    }

    #[inline(always)]
    fn claim(&self) -> Option<Line> {
        (**self).claim()
    }

    #[inline(always)]
    fn give_back(&self, line: Line) {
        (**self).give_back(line);
    }

    #[inline(always)]
    fn include(&self, line: Line) {
        (**self).include(line);
    }

    #[inline(always)]
    fn exclude(&self, line: Line) {
        (**self).exclude(line);
    }

    #[inline(always)]
    fn arrive(&self, line: Line) {
        (**self).arrive(line);
    }

    #[inline(always)]
    fn is_done(&self, line: Line) -> bool {
        (**self).is_done(line)
    }

    #[inline(always)]
    fn meet(&self, line: Line) {
        (**self).meet(line);
    }
}

impl Barrier for Spin {}
