//! Data-driven tasks that wait for one of several cells.

use super::waiting::Waiting;
use crate::flow::{CellRef, Ddf, Inputs, when_any_scoped};
use crate::port::Host;
use crate::task::cx::Cx;
use crate::task::pool::TaskScope;
use alloc::sync::Arc;

/// The cell into which the wait puts the index and the value of the full cell.
struct Winner<'s, T>(Arc<Ddf<(usize, &'s T)>>);

// SAFETY: one cell, always the same, which keeps its value; nothing panics once it is full.
unsafe impl<'s, T: Sync> Inputs<'s> for Winner<'s, T> {
    type Values = (usize, &'s T);

    fn count(&self) -> usize {
        1
    }

    fn latch_at(&self, index: usize) -> Option<CellRef<'s>> {
        let cell = || Arc::clone(&self.0);
        // SAFETY: dropping the cell drops a number and a reference.
        (index == 0).then(|| unsafe { CellRef::shared_scoped(cell(), Ddf::latch) })
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    fn into_values(self) -> Self::Values {
        *self.0.get().expect("the cell was full when it was visited")
    }
}

/// Makes `body` wait for one of `cells`, as a task of `scope`, which already counts it. Returns
/// false, and starts nothing, if `cells` is empty.
#[track_caller]
pub(in crate::task) fn start_any<'s, 'e: 's, P: Host, T: Send + Sync + 's>(
    scope: &'s TaskScope<P>,
    cells: &[&'s Ddf<T>],
    body: impl FnOnce((usize, &'s T), &mut Cx<'s, 'e, P>) + Send,
) -> bool {
    let winner = Arc::new(Ddf::new());
    let ready = {
        let winner = Arc::clone(&winner);
        move |won| {
            // A continuation is called once.
            _ = winner.put(won);
        }
    };
    // SAFETY: the continuation puts a cell that it owns, and accesses no borrowed value.
    let started = unsafe { when_any_scoped(cells, ready) }.is_ok();
    if started {
        Waiting::start(scope, Winner(winner), body);
    }
    started
}
