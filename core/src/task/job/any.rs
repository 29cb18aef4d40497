//! Data-driven tasks that wait for one of several cells.

use super::waiting::Waiting;
use crate::flow::{Ddf, Inputs, Latch, NotReady, when_any_scoped};
use crate::port::Host;
use crate::task::cx::Cx;
use crate::task::pool::TaskScope;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// A reference to the cell into which the wait puts the index and the value of the full cell. The
/// body owns that cell; if its waiter owned it, the two would keep each other alive for ever.
struct Winner<'s, T>(NonNull<Ddf<(usize, &'s T)>>);

// SAFETY: a reference to the cell, which is Sync if T is.
unsafe impl<T: Sync> Send for Winner<'_, T> {}

impl<'s, T> Winner<'s, T> {
    fn cell(&self) -> &Ddf<(usize, &'s T)> {
        // SAFETY: the body owns the cell, and a waiter without a body does not call this.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: a pointer, whose drop does nothing; one cell, and its value.
unsafe impl<'s, T> Inputs<'s> for Winner<'s, T> {
    type Values = (usize, &'s T);

    fn count(&self) -> usize {
        1
    }

    fn latch_at(&self, index: usize) -> Option<&'s Latch> {
        // SAFETY: as for `cell`; only the waiting node calls this.
        (index == 0).then(|| unsafe { NonNull::from(self.cell().latch()).as_ref() })
    }

    fn values(&self) -> Result<Self::Values, NotReady> {
        self.cell().get().copied()
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
        let cell = Winner(NonNull::from(&*winner));
        Waiting::start(scope, cell, move |won, cx: &mut Cx<'s, 'e, P>| {
            drop(winner);
            body(won, cx);
        });
    }
    started
}
