//! Bodies of loops: the work on consecutive indices.

use crate::port::Host;
use crate::task::Cx;
use core::ops::{ControlFlow, Range};

/// The body of a loop, and what each part of it accumulates.
pub(super) trait Body<'s, 'e, P: Host>: Sync {
    /// The state of a part while it runs. A part is entered once and runs on one worker.
    type Local;

    /// The accumulation of a part.
    type Part: Send;

    /// Returns the state of a part before its first index.
    fn begin(&self) -> Self::Local;

    /// Runs consecutive indices. The engine passes each index of the loop once at most. `Break`
    /// leaves out others.
    fn run(
        &self,
        cx: &mut Cx<'s, 'e, P>,
        local: &mut Self::Local,
        indices: Range<usize>,
    ) -> ControlFlow<LeaveOut>;

    /// Returns the accumulation of a part that ends.
    fn end(&self, local: Self::Local) -> Self::Part;

    /// Combines the accumulations of two parts.
    fn combine(&self, left: Self::Part, right: Self::Part) -> Self::Part;
}

/// The indices that a body leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaveOut {
    /// All that have not started.
    All,
    /// Those above the indices that have just run: the part ends, since chunks are taken in
    /// ascending order. Others go on.
    Higher,
}

/// A function of consecutive indices that accumulates nothing.
impl<'s, 'e, P: Host, F: Fn(Range<usize>) + Sync> Body<'s, 'e, P> for F {
    type Local = ();
    type Part = ();

    fn begin(&self) {}

    fn run(
        &self,
        _: &mut Cx<'s, 'e, P>,
        (): &mut (),
        indices: Range<usize>,
    ) -> ControlFlow<LeaveOut> {
        self(indices);
        ControlFlow::Continue(())
    }

    fn end(&self, (): ()) {}

    fn combine(&self, (): (), (): ()) {}
}
