//! Barriers that the hardware carries.

/// One of the barriers of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line(pub u8);

/// Barrier lines: wires, or what stands for them, that complete when all included threads have arrived.
///
/// All methods speak for the calling thread, except `claim` and `give_back`, which any thread may call; none blocks,
/// none calls back. Provided: a machine without any.
///
/// What was done before `arrive`, or `exclude`, is visible after the `is_done` that it leads to: these release, `is_done` acquires.
pub trait Barrier {
    /// How many lines the machine has; with none, `claim` is not called.
    fn lines(&self) -> usize {
        0
    }

    /// A line for the caller alone to hand out, if one is free. Nobody is included in it.
    fn claim(&self) -> Option<Line> {
        None
    }

    /// Gives a claimed line back. Nobody may be included in it.
    fn give_back(&self, _line: Line) {}

    /// From now on the line waits for this thread too.
    fn include(&self, _line: Line) {}

    /// The line no longer waits for this thread, which has not arrived since it was last done. It may complete thereby.
    fn exclude(&self, _line: Line) {}

    /// This thread, which is included and has not arrived since the line was last done, has come.
    fn arrive(&self, _line: Line) {}

    /// All threads included have come since this thread last arrived.
    fn is_done(&self, _line: Line) -> bool {
        true
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
}
