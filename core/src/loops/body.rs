//! What a loop does with consecutive indices.

use crate::port::Host;
use crate::task::Cx;
use core::ops::{ControlFlow, Range};

/// The body of a loop, and what each part of it accumulates.
pub(super) trait Body<'s, 'e, P: Host>: Sync {
    /// What a part accumulates. A part is entered once and runs on one worker.
    type Part: Send;

    /// Returns what a part has accumulated before its first index.
    fn begin(&self) -> Self::Part;

    /// Runs consecutive indices. The engine passes each index of the loop once at most. `Break` leaves out the rest of the
    /// loop.
    fn run(
        &self,
        cx: &mut Cx<'s, 'e, P>,
        part: &mut Self::Part,
        indices: Range<usize>,
    ) -> ControlFlow<()>;

    /// Returns what two parts have accumulated.
    fn combine(&self, left: Self::Part, right: Self::Part) -> Self::Part;
}

/// A function of consecutive indices that accumulates nothing.
impl<'s, 'e, P: Host, F: Fn(Range<usize>) + Sync> Body<'s, 'e, P> for F {
    type Part = ();

    fn begin(&self) {}

    fn run(&self, _: &mut Cx<'s, 'e, P>, (): &mut (), indices: Range<usize>) -> ControlFlow<()> {
        self(indices);
        ControlFlow::Continue(())
    }

    fn combine(&self, (): (), (): ()) {}
}
