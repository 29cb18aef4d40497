//! The head of a task that waits for cells, and the state on which puts and the abort of its scope
//! synchronize.
//!
//! # Words
//! `state`: [`WAITING`], until the put that fills the last cell makes it [`READY`], or the abort of
//! the scope makes it [`CANCELLED`]; the two race. A cancelled task stays in its cell, [`EMPTY`],
//! until the cell releases it. A put that fills a cell before the last makes the task [`WALKING`],
//! takes a share of the scope, and makes the task waiting again: so the next cells are still alive,
//! which those of a cancelled task need not be. An abort in between sets [`ABORTED`], and the
//! walker notifies the members afterwards.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | X1 | `mark_empty` sets EMPTY | `leave_cell` | the body is dropped, the scope left | `waiting_*` in `verify/tests/task.rs`; `verify/litmus/waiter.toml` |
//! | X2 | `leave_cell` sets RELEASED | `mark_empty` sets EMPTY | the cell has released the node | `waiting_*` in `verify/tests/task.rs`; `verify/litmus/waiter.toml` |
//! | X3 | `wait_again` sets WAITING | `claim` | the walker's share of the scope precedes the end of the task's own | `verify/litmus/waiter.toml` |
//! | X4 | `claim` sets ABORTED | `wait_again` | nothing: the lock of the members (lock.L1) carries that the scope was aborted | `verify/litmus/waiter.toml` |

use super::{Header, Kind};
use crate::port::Host;
use crate::sync::{AtomicUsize, Ordering};
use crate::task::pool::TaskScope;
use crate::task::scope::MemberKey;
use crate::watch::Site;
use core::cell::Cell;
use core::ptr::NonNull;

/// The task waits for a cell.
const WAITING: usize = 0;
/// The task is in a queue.
pub(super) const READY: usize = 1;
/// The scope is about to drop the body.
const CANCELLED: usize = 2;
/// The scope has dropped the body.
const EMPTY: usize = 4;
/// With [`CANCELLED`] or [`EMPTY`]: the cell has released the node.
const RELEASED: usize = 8;
/// A put is about to continue at the next cell.
pub(super) const WALKING: usize = 16;
/// With [`WALKING`]: the scope was aborted.
const ABORTED: usize = 32;

/// The part of a waiting task that is independent of its body. The first field of the task.
#[repr(C)]
pub(super) struct Waiter<P: Host> {
    pub header: Header<P>,
    state: AtomicUsize,
    /// The key of the task among the members of its scope. Accessed by the registrar, then by the
    /// thread that makes the task ready.
    pub key: Cell<Option<MemberKey>>,
    /// The call that made the task wait.
    site: Site,
}

impl<P: Host> Waiter<P> {
    pub(super) fn new(kind: &'static Kind<P>, scope: &TaskScope<P>, site: Site) -> Self {
        Self {
            header: Header::new(kind, scope.around()),
            state: AtomicUsize::new(WAITING),
            key: Cell::new(None),
            site,
        }
    }

    /// Claims a waiting task if its scope was aborted. Implements [`Kind::claim`].
    ///
    /// # Safety
    /// The caller must hold the lock of the members of the task's scope, of which the task is one,
    /// and `header` must be that of a waiter.
    pub(super) unsafe fn claim(header: NonNull<Header<P>>) -> bool {
        // SAFETY: a member is alive, as the caller ensures; the header is the first field.
        let this = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: this is no fork; a scope outlives its tasks.
        let aborted = unsafe { this.header.own_scope().as_ref() }.is_aborted();
        aborted && this.try_cancel()
    }

    /// Returns the call that made the task wait. Implements [`Kind::site`].
    ///
    /// # Safety
    /// As for [`claim`](Self::claim).
    pub(super) unsafe fn site(header: NonNull<Header<P>>) -> Site {
        // SAFETY: a member is alive, as the caller ensures; the header is the first field. Only the
        // site is accessed, which is never written.
        unsafe { (*header.cast::<Self>().as_ptr()).site }
    }

    /// Cancels a task that waits, or notifies the walker of one that walks. Returns true in the
    /// first case.
    fn try_cancel(&self) -> bool {
        // ORDERING: Relaxed: checked by the compare-and-swap below.
        let mut seen = self.state.load(Ordering::Relaxed);
        loop {
            let next = match seen {
                WAITING => CANCELLED,
                WALKING => WALKING | ABORTED,
                _ => return false,
            };
            // ORDERING: Acquire, pairs with Release in wait_again (X3). The body is visible by the
            // lock of the members, and so is the abort to the walker (X4), which locks them after
            // this thread. ORDERING: failure Relaxed: the state is examined again.
            let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
            match self.state.compare_exchange(seen, next, success, failure) {
                Ok(_) => return next == CANCELLED,
                Err(now) => seen = now,
            }
        }
    }

    /// Records that the body of a cancelled task was dropped. Returns whether its cell has released
    /// the node, which the caller must free then.
    ///
    /// # Safety
    /// The caller must have claimed the task, and must not access it afterwards unless this returns
    /// true.
    pub(super) unsafe fn mark_empty(this: NonNull<Self>) -> bool {
        // SAFETY: a claimed task is alive until it is marked as empty; only the word is accessed.
        let state = unsafe { &(*this.as_ptr()).state };
        // ORDERING: AcqRel, pairs with AcqRel in leave_cell (X1, X2).
        state.swap(EMPTY, Ordering::AcqRel) & RELEASED != 0
    }

    /// Makes a node `next` that its cell has released. If the task was cancelled, returns an error:
    /// whether the caller must free the node. If not, the node may be freed already, hence no
    /// `&self`.
    ///
    /// # Safety
    /// The caller must own the node, which must be in no cell.
    pub(super) unsafe fn leave_cell(this: NonNull<Self>, next: usize) -> Result<(), bool> {
        // SAFETY: the node is alive until it has left its cell; only the word is accessed.
        let state = unsafe { &(*this.as_ptr()).state };
        // ORDERING: Relaxed, on failure too: the cells order what the body reads, the queue what
        // the worker reads.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let set = state.compare_exchange(WAITING, next, success, failure);
        if set.is_ok() {
            return Ok(());
        }
        // ORDERING: AcqRel, pairs with AcqRel in mark_empty (X1, X2).
        Err(state.fetch_or(RELEASED, Ordering::AcqRel) == EMPTY)
    }

    /// Makes a walking task waiting again. Returns whether its scope has been aborted. The scope
    /// may cancel the task from then on, hence no `&self`.
    ///
    /// # Safety
    /// The caller must have made the task walking.
    pub(super) unsafe fn wait_again(this: NonNull<Self>) -> bool {
        // SAFETY: a walking task is alive; only the word is accessed.
        let state = unsafe { &(*this.as_ptr()).state };
        // ORDERING: Release, pairs with Acquire in try_cancel (X3). A walker of an aborted scope
        // locks its members (X4).
        state.swap(WAITING, Ordering::Release) & ABORTED != 0
    }

    /// Returns the scope of a task that is not cancelled.
    ///
    /// # Safety
    /// The caller must have made the task ready or walking, or hold a share of the scope.
    pub(super) unsafe fn scope_of<'s>(this: NonNull<Self>) -> &'s TaskScope<P> {
        // SAFETY: the scope waits for its tasks, of which this is one, and which is no fork.
        unsafe { (*this.as_ptr()).header.own_scope().as_ref() }
    }
}

/// Freeing a waiter is a write to its state, so loom reports an access that may come after it.
#[cfg(tautline_loom)]
impl<P: Host> Drop for Waiter<P> {
    fn drop(&mut self) {
        // A second panic would abort, and hide the first.
        if !std::thread::panicking() {
            self.state.with_mut(|_| ());
        }
    }
}
