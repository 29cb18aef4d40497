//! Data-driven tasks: a closure that waits for values, in the one allocation that it is later run from.
//!
//! # Words
//! `state`: from waiting to ready by the put that fills the last cell, or to forsaken by the scope that has ended
//! early; the two race. A forsaken task stays in its cell, empty, until the cell lets it go. A put that fills a cell
//! before the last makes it walking, takes a share of the scope, and makes it waiting again: so the cells that are
//! looked at next are still there, which those of a forsaken task need not be. A scope that ends meanwhile calls, and
//! the walker sees to its end afterwards.
//!
//! # Aliasing
//! While a task waits, the putter that walks with its node and the scope that empties it may both be at work. The putter
//! touches the link, the index, the inputs and `state`; the scope touches the body and `state`. Each goes by pointers
//! derived from the allocation (see [`NodeBox`]), and a reference covers only fields of its own side: no `&Waiting` exists while
//! `state` is waiting or forsaken, and none to the waiter as a function's argument where the other side may free it. So what
//! one side does invalidates no pointer or reference of the other, under Stacked Borrows as under Tree Borrows.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | G1 | `forsake` sets EMPTY | `let_go` | the body is dropped, the scope left | `waiting_*` in `verify/tests/task.rs` |
//! | G2 | `let_go` sets RELEASED | `forsake` sets EMPTY | the cell has let the node go | `waiting_*` in `verify/tests/task.rs` |
//! | G3 | `hold` makes it waiting again | `try_forsake` | the walker's share of the scope comes before ours goes | `waiting_*` in `verify/tests/task.rs` |
//! | G4 | `try_forsake` sets CALLED | `hold` | that the scope has ended | `waiting_*` in `verify/tests/task.rs` |

use super::{Header, Kind, Spawned, Task};
use crate::flow::{All, Ddf, Inputs, Latch, NodeBox, NotReady, Ready, walk, when_any_scoped};
use crate::id::WorkerId;
use crate::port::Host;
use crate::sync::{AtomicUsize, Ordering};
use crate::task::Cx;
use crate::task::pool::Pool;
use crate::task::scope::{Cause, Number, Scope};
use crate::task::worker::Worker;
use alloc::sync::Arc;
use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop};
use core::ptr::{self, NonNull};

/// It waits for a cell.
const WAITING: usize = 0;
/// It is a task in a queue.
const READY: usize = 1;
/// The scope is about to drop the body.
const FORSAKEN: usize = 2;
/// The scope has dropped the body.
const EMPTY: usize = 4;
/// Beside the two before: the cell has let it go.
const RELEASED: usize = 8;
/// A put is about to look at the next cell.
const WALKING: usize = 16;
/// Beside walking: the scope has ended.
const CALLED: usize = 32;

/// What the scope knows of a task that waits.
#[repr(C)]
pub(in crate::task) struct Waiter<P: Host> {
    header: Header<P>,
    state: AtomicUsize,
    /// Where the scope keeps it. Its registrar's, then whoever makes it ready.
    number: Cell<Option<Number>>,
}

impl<P: Host> Waiter<P> {
    /// If its scope has ended early, and no put has made it ready: makes it the caller's to [`forsake`](Self::forsake).
    ///
    /// # Safety
    /// `this` is kept by its scope.
    pub unsafe fn try_forsake(this: NonNull<Self>) -> bool {
        // SAFETY: a task that is kept waits, so it is there.
        let this = unsafe { this.as_ref() };
        // SAFETY: its scope waits for it.
        let ended = unsafe { this.header.scope.as_ref() }.has_ended();
        ended && this.try_claim()
    }

    /// Makes a waiting task forsaken, and calls a walking one's walker.
    fn try_claim(&self) -> bool {
        // ORDERING: Relaxed: the changes below look again.
        let mut seen = self.state.load(Ordering::Relaxed);
        loop {
            let next = match seen {
                WAITING => FORSAKEN,
                WALKING => WALKING | CALLED,
                _ => return false,
            };
            // ORDERING: Acquire, pairs with AcqRel in hold (G3); the body is seen by the lock of the members.
            // ORDERING: Release, pairs with AcqRel in hold (G4); no mutant: see `verify/README.md`, Survivors.
            // ORDERING: failure Relaxed: it is looked at again.
            let (yes, no) = (Ordering::AcqRel, Ordering::Relaxed);
            match self.state.compare_exchange(seen, next, yes, no) {
                Ok(_) => return next == FORSAKEN,
                Err(now) => seen = now,
            }
        }
    }

    /// Drops the body of a task that must not run any more.
    ///
    /// # Safety
    /// [`try_forsake`](Self::try_forsake) gave it to the caller; once.
    pub unsafe fn forsake(this: NonNull<Self>) {
        // SAFETY: there until `forsake` has marked it empty; the header is its first field.
        unsafe { (this.as_ref().header.kind().forsake)(this.cast()) }
    }

    /// A cell has nothing more to do with it. Ready if it is `next` from now on, an error if it is forsaken: then whether the
    /// memory is the caller's. If it is not, it may be gone by now, hence no `&self`.
    ///
    /// # Safety
    /// The caller must have the node, which has been released.
    unsafe fn let_go(this: NonNull<Self>, next: usize) -> Result<(), bool> {
        // SAFETY: there until it is let go; only the word is accessed.
        let state = unsafe { &(*this.as_ptr()).state };
        // ORDERING: Relaxed both ways: the cells order what the body sees, the queue what the worker sees.
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        if state.compare_exchange(WAITING, next, yes, no).is_ok() {
            return Ok(());
        }
        // ORDERING: AcqRel, pairs with AcqRel in forsake (G1, G2).
        Err(state.fetch_or(RELEASED, Ordering::AcqRel) == EMPTY)
    }

    /// The scope of a task that is not forsaken.
    ///
    /// # Safety
    /// The caller must have let the node go, with success, or hold a share of the scope.
    unsafe fn scope_of<'s>(this: NonNull<Self>) -> &'s Scope<P> {
        // SAFETY: the scope waits for its tasks, of which this is one.
        unsafe { (*this.as_ptr()).header.scope.as_ref() }
    }
}

/// A task of a scope that becomes ready with values.
#[repr(C)]
pub(in crate::task) struct Waiting<'s, 'e, P: Host, F> {
    waiter: Waiter<P>,
    body: ManuallyDrop<F>,
    lifetimes: PhantomData<(&'s (), &'e ())>,
}

// SAFETY: the header leads to a scope, which is Sync; the number is touched by one at a time; the body is Send.
unsafe impl<P: Host, F: Send> Send for Waiting<'_, '_, P, F> {}

impl<'s, 'e: 's, P: Host, F: Send> Waiting<'s, 'e, P, F> {
    /// Lets `body` wait for all of `inputs`, as a task of `scope`, which it has entered.
    pub fn start<I: Inputs<'s> + Send>(scope: &'s Scope<P>, inputs: I, body: F)
    where
        F: FnOnce(I::Values, &mut Cx<'s, 'e, P>),
        I::Values: Send,
    {
        if let Ok(values) = inputs.values() {
            let task = Spawned::task(scope, move |cx: &mut Cx<'s, 'e, P>| body(values, cx));
            return Pool::schedule(task);
        }
        let waiting = Self {
            waiter: Waiter {
                header: Header::new(&ForAll::<'s, 'e, 's, P, F, I>::KIND, scope),
                state: AtomicUsize::new(WAITING),
                number: Cell::new(None),
            },
            body: ManuallyDrop::new(body),
            lifetimes: PhantomData,
        };
        let node = NodeBox::of_all(inputs, waiting);
        // It comes first in what waits, and that in the walker.
        let waiter = node.pointer().cast::<Waiter<P>>();
        let number = scope.keep_waiting(waiter);
        // SAFETY: the node is ours until it walks; the scope, which may empty it by now, does not touch the number.
        unsafe { (*waiter.as_ptr()).number.set(Some(number)) };
        // SAFETY: what both borrow lives for 's, and the scope waits for the task, or empties it.
        unsafe { walk(node) };
        if scope.has_ended() {
            scope.end_members();
        }
    }

    fn scope(&self) -> &'s Scope<P> {
        // SAFETY: the scope waits for this task, or has emptied it.
        unsafe { self.waiter.header.scope.as_ref() }
    }

    /// Runs one that has waited for all of `I`.
    unsafe fn run<'i, I: Inputs<'i>>(header: NonNull<Header<P>>, on: &Worker<P>, _: WorkerId)
    where
        F: FnOnce(I::Values, &mut Cx<'s, 'e, P>),
    {
        // SAFETY: the header begins what `ready_node` made a pointer of; it is run once.
        let node = unsafe { NodeBox::<All<I, Self>>::from_raw(header.cast()) };
        let (values, waiting) = node.open();
        let scope = waiting.scope();
        let waiting = ManuallyDrop::new(waiting);
        // SAFETY: a task that is ready has its body; `waiting` does not drop it.
        let body = unsafe { ptr::read(&*waiting.body) };
        on.run_in(scope, |cx| body(values, cx));
        // SAFETY: the share that was taken when the task was made.
        unsafe { Scope::leave_on(NonNull::from(scope), on) };
    }

    unsafe fn forsake<'i, I: Inputs<'i>>(header: NonNull<Header<P>>) {
        let this = header.cast::<Self>().as_ptr();
        // SAFETY: there until it is marked empty, and the body is the caller's alone. A put may have the node in its hands, but
        // touches neither.
        let (scope, body) = unsafe { ((*this).waiter.header.scope, &mut (*this).body) };
        // SAFETY: its tasks' share is still held.
        let pool = NonNull::from(unsafe { scope.as_ref() }.pool());
        // SAFETY: the pool outlives its scopes; the body is dropped once.
        let dropped = unsafe { pool.as_ref() }
            .port()
            .catch(|| unsafe { ManuallyDrop::drop(body) });
        if let Err(payload) = dropped {
            // SAFETY: as above.
            unsafe { scope.as_ref() }.fail(Cause::Panic(payload));
        }
        // SAFETY: there until it is marked empty.
        let state = unsafe { &(*this).waiter.state };
        // ORDERING: AcqRel, pairs with AcqRel in let_go (G1, G2).
        let before = state.swap(EMPTY, Ordering::AcqRel);
        if before & RELEASED != 0 {
            // SAFETY: the cell has let it go, and left it to us.
            drop(unsafe { NodeBox::<All<I, Self>>::from_raw(header.cast()) });
        }
        // SAFETY: the share that was taken when the task was made.
        unsafe { Scope::leave(scope) };
    }
}

/// The kind of one that waits for all of `I`.
struct ForAll<'s, 'e, 'i, P: Host, F, I>(PhantomData<(Waiting<'s, 'e, P, F>, &'i (), I)>);

impl<'s, 'e: 's, 'i, P: Host, F: Send, I: Inputs<'i>> ForAll<'s, 'e, 'i, P, F, I>
where
    F: FnOnce(I::Values, &mut Cx<'s, 'e, P>),
{
    const KIND: Kind<P> = Kind {
        run: Waiting::<'s, 'e, P, F>::run::<I>,
        forsake: Waiting::<'s, 'e, P, F>::forsake::<I>,
    };
}

/// Frees a node that is forsaken, if that is the cell's to do: else whoever empties it does.
fn give_up<I, R>(node: NodeBox<All<I, R>>, ours: bool) {
    if ours {
        drop(node);
    } else {
        mem::forget(node);
    }
}

/// A share of the scope of a task that walks, and whether it has ended meanwhile.
struct Walk<'s, P: Host> {
    scope: &'s Scope<P>,
    called: bool,
}

impl<'s, P: Host> Walk<'s, P> {
    /// Of a task that walks, and waits again from now on. The scope may then empty it, hence no reference to the task.
    ///
    /// # Safety
    /// The caller must have made the task walking.
    unsafe fn hold(task: NonNull<Waiter<P>>) -> Self {
        // SAFETY: the scope waits for a task that walks; only these fields are accessed.
        let (scope, state) = unsafe { (Waiter::scope_of(task), &(*task.as_ptr()).state) };
        scope.enter();
        // ORDERING: AcqRel, pairs with AcqRel in try_claim (G3, G4).
        let state = state.swap(WAITING, Ordering::AcqRel);
        let called = state & CALLED != 0;
        Self { scope, called }
    }

    fn end(self) {
        if self.called {
            self.scope.end_members();
        }
        // SAFETY: the share taken in `hold`.
        unsafe { Scope::leave(NonNull::from(self.scope)) };
    }
}

impl<'s, 'e: 's, P: Host, V: Send, F> Ready<V> for Waiting<'s, 'e, P, F>
where
    F: FnOnce(V, &mut Cx<'s, 'e, P>) + Send,
{
    fn ready(self, _: V) {
        unreachable!("it waits for all, in a node");
    }

    fn ready_node<'i, I: Inputs<'i, Values = V>>(node: NodeBox<All<I, Self>>) {
        let waiter = node.pointer().cast::<Waiter<P>>();
        // SAFETY: the node is out of its last cell.
        if let Err(ours) = unsafe { Waiter::let_go(waiter, READY) } {
            return give_up(node, ours);
        }
        // SAFETY: let go; the number is touched by the owner of the node only.
        let (scope, number) = unsafe { (Waiter::scope_of(waiter), &(*waiter.as_ptr()).number) };
        if let Some(number) = number.take() {
            scope.forget_waiting(number);
        }
        // SAFETY: the header is the first field of the first field; the node stays until it is run.
        let task = unsafe { Task::<P>::new(node.into_raw().cast()) };
        Pool::schedule(task);
    }

    unsafe fn go_on<'i, I: Inputs<'i, Values = V> + Send>(node: NodeBox<All<I, Self>>) {
        if node.is_through() {
            return Self::ready_node(node);
        }
        let waiter = node.pointer().cast::<Waiter<P>>();
        // SAFETY: the node is out of its cell.
        if let Err(ours) = unsafe { Waiter::let_go(waiter, WALKING) } {
            return give_up(node, ours);
        }
        // SAFETY: its scope waits for a task that walks.
        let pool = NonNull::from(unsafe { Waiter::scope_of(waiter) }.pool());
        let walk = || {
            // SAFETY: it walks, since it was let go for that.
            let held = unsafe { Walk::hold(waiter) };
            // SAFETY: the scope is held, so what the node borrows is there.
            unsafe { walk(node) };
            held.end();
        };
        // SAFETY: the pool waits for its scopes, of which this task keeps one until the walk ends.
        unsafe { Pool::keep(pool, walk) };
    }
}

/// The cell of an OR list: which of the list's cells was full, and its value. The body keeps it, not the one who waits in
/// it: that could be there for ever.
struct Winner<'s, T>(NonNull<Ddf<(usize, &'s T)>>);

// SAFETY: a reference to the cell, which is Sync if T is.
unsafe impl<T: Sync> Send for Winner<'_, T> {}

impl<'s, T> Winner<'s, T> {
    fn cell(&self) -> &Ddf<(usize, &'s T)> {
        // SAFETY: the body keeps it, and whoever has none does not ask.
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
        // SAFETY: as in `cell`; the node that waits is the only one that asks.
        (index == 0).then(|| unsafe { NonNull::from(self.cell().latch()).as_ref() })
    }

    fn values(&self) -> Result<Self::Values, NotReady> {
        self.cell().get().copied()
    }
}

/// Lets `body` wait for one of `cells`, as a task of `scope`, which it has entered. False if there is none: then nothing
/// waits.
pub(in crate::task) fn start_any<'s, 'e: 's, P: Host, T: Send + Sync + 's>(
    scope: &'s Scope<P>,
    cells: &[&'s Ddf<T>],
    body: impl FnOnce((usize, &'s T), &mut Cx<'s, 'e, P>) + Send,
) -> bool {
    let winner = Arc::new(Ddf::new());
    let ready = {
        let winner = Arc::clone(&winner);
        move |won| {
            // Ready is called once.
            _ = winner.put(won);
        }
    };
    // SAFETY: what is called fills a cell of its own, and looks at no value.
    let some = unsafe { when_any_scoped(cells, ready) }.is_ok();
    if some {
        let cell = Winner(NonNull::from(&*winner));
        Waiting::start(scope, cell, move |won, cx: &mut Cx<'s, 'e, P>| {
            drop(winner);
            body(won, cx);
        });
    }
    some
}
