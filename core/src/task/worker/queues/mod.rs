//! The queues from which a worker takes tasks, as one ordered list.
//!
//! # Algorithm
//! Tasks wait in queues of several kinds: in the deque and the overflow of each worker, and in
//! queues of the pool. A kind is a type without values that implements [`Queue`]; where its tasks
//! are stored is its own matter. [`Queues`] lists all kinds in the order in which a worker searches
//! them, and every search, every poll before a worker parks, and every hand-over is a call of the
//! list, which the compiler resolves. So a new kind is one file here and one place in the list; the
//! methods that it defines state in which situations it takes part.
//!
//! # The sleep protocol
//! A worker parks at two places: when its search finds nothing, and on standby, for the few tasks
//! that it may run then. Both call [`announce_then_look`]: the worker announces that it is about to
//! park, and then polls every queue once more. A thread that pushes does the opposite: it makes
//! the task known, and then wakes a worker that has announced itself and may take the task. The
//! poll and the push change one word, or hold one lock, so one of the two observes the other: the
//! worker finds the task, or the pusher the announcement. For each kind that is:
//!
//! | kind | the poll | the push | table |
//! |---|---|---|---|
//! | [`Bound`] | changes the count of the domain | does so, too | `affinity.Y2`, `affinity.Y3` |
//! | [`Own`] | reads it: only the worker itself pushes, also while it is idle | | |
//! | [`Overflow`] | that of [`Others`] | | |
//! | [`Injected`] | holds the lock | holds it, too | `idle.Q2` |
//! | [`Others`] | changes the word of a publication, after a raid; holds the lock of an overflow | publishes, or holds it, too | `idle.Q2`, `split.S3`, `split.S8` |

mod bound;
mod injected;
mod others;
mod own;

use bound::Bound;
pub(super) use injected::Injected;
use others::Others;
use own::{Overflow, Own};

use super::Worker;
use crate::id::WorkerId;
use crate::port::Host;
use crate::task::job::Task;
use crate::task::pool::TaskScope;

/// All kinds, in the order of a search: tasks that are bound to a domain between the worker's leaf
/// and the root, then the newest own one, then another worker's, the nearest first (Chatterjee
/// 2013, 5.2), then an injected one.
pub(super) type Queues = (Bound, (Own, (Overflow, (Others, Injected))));

/// A kind of queues. The methods with a body are those of a kind that takes no part in their
/// situation.
pub(super) trait Queue<P: Host> {
    /// Takes any task for worker `on`. Also returns the worker from which it was taken.
    fn take(on: &Worker<P>) -> Option<(Task<P>, WorkerId)>;

    /// Returns whether no task is there for worker `on`, settled against every push: either this
    /// observes the task, or the push observes what the worker did before.
    fn is_settled_empty(on: &Worker<P>) -> bool;

    /// Takes a task inside `scope` for worker `on`, which waits in a task of that scope and has no
    /// such task in its deque.
    fn take_inside(_on: &Worker<P>, _scope: &TaskScope<P>) -> Option<Task<P>> {
        None
    }

    /// Takes a task for which worker `on` leaves standby, as it may be that no other worker runs
    /// it. `wait` is the scope of the task that waits, `None` if none does: then only bound tasks
    /// are taken. In the reverse order of the list: whether there is an injected task is one load,
    /// but there may be a bound one at each domain.
    fn take_called(_on: &Worker<P>, _wait: Option<&TaskScope<P>>) -> Option<Task<P>> {
        None
    }

    /// Returns whether [`take_called`](Self::take_called) has nothing to take, settled as by
    /// [`is_settled_empty`](Self::is_settled_empty).
    fn is_settled_uncalled(_on: &Worker<P>, _wait: Option<&TaskScope<P>>) -> bool {
        true
    }

    /// Takes a task that worker `on` passes on when it searches no more.
    fn take_left(_on: &Worker<P>) -> Option<Task<P>> {
        None
    }

    /// Returns whether tasks wait that worker `on` would run next, as a hint.
    fn has_waiting(_on: &Worker<P>) -> bool {
        false
    }
}

/// A list: the first kind, then the others.
impl<P: Host, A: Queue<P>, B: Queue<P>> Queue<P> for (A, B) {
    #[inline]
    fn take(on: &Worker<P>) -> Option<(Task<P>, WorkerId)> {
        A::take(on).or_else(|| B::take(on))
    }

    #[inline]
    fn is_settled_empty(on: &Worker<P>) -> bool {
        A::is_settled_empty(on) && B::is_settled_empty(on)
    }

    #[inline]
    fn take_inside(on: &Worker<P>, scope: &TaskScope<P>) -> Option<Task<P>> {
        A::take_inside(on, scope).or_else(|| B::take_inside(on, scope))
    }

    #[inline]
    fn take_called(on: &Worker<P>, wait: Option<&TaskScope<P>>) -> Option<Task<P>> {
        B::take_called(on, wait).or_else(|| A::take_called(on, wait))
    }

    #[inline]
    fn is_settled_uncalled(on: &Worker<P>, wait: Option<&TaskScope<P>>) -> bool {
        A::is_settled_uncalled(on, wait) && B::is_settled_uncalled(on, wait)
    }

    #[inline]
    fn take_left(on: &Worker<P>) -> Option<Task<P>> {
        A::take_left(on).or_else(|| B::take_left(on))
    }

    #[inline]
    fn has_waiting(on: &Worker<P>) -> bool {
        A::has_waiting(on) || B::has_waiting(on)
    }
}

/// Returns whether a worker may park: it has announced that by `announce`, which returns false if
/// it is too late for that, and has then found by `is_empty`, a method of [`Queues`], that no task
/// is there. Tasks that are pushed later wake the worker.
#[inline]
pub(super) fn announce_then_look(
    announce: impl FnOnce() -> bool,
    is_empty: impl FnOnce() -> bool,
) -> bool {
    announce() && is_empty()
}
