//! Data-driven tasks: a closure that waits for values, in the one allocation from which it is later
//! run.
//!
//! # Aliasing
//! While a task waits, the put that walks with its node and the scope that cancels it may access it
//! at the same time. The put accesses the link, the index and the state; the scope accesses the
//! body, the inputs and the state. Each uses pointers derived from the allocation (see
//! [`NodeBox`]), and a reference covers only fields of its own side: no `&Waiting` exists while the
//! task waits or is cancelled, and no reference to the waiter is a function's argument where the
//! other side may free it. So neither side invalidates pointers or references of the other, under
//! Stacked Borrows and under Tree Borrows.
//!
//! # Inputs
//! A put accesses the inputs only while the task is walking, and the task's creator only before the
//! scope refers to it: a scope that cancels the task drops them. It drops them last, as they may
//! own the cell in which the node waits, whose drop frees the node. A registration, during which
//! the task waits already, keeps its cell alive by a [`CellRef`].

use super::spawned::Spawned;
use super::waiter::{READY, WALKING, Waiter};
use super::{Header, Kind, Task};
use crate::finish::Reason;
use crate::flow::{All, CellRef, Inputs, Latch, NodeBox, Ready};
use crate::id::WorkerId;
use crate::port::Host;
use crate::task::cx::Cx;
use crate::task::pool::{Pool, TaskScope};
use crate::task::worker::Worker;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop};
use core::panic::Location;
use core::ptr::{self, NonNull};

/// The inputs of a waiting task, which its node does not drop: they become values when the task is
/// run, or are dropped when it is cancelled.
#[repr(transparent)]
struct Detached<I>(ManuallyDrop<I>);

// SAFETY: the inputs satisfy it.
unsafe impl<'i, I: Inputs<'i>> Inputs<'i> for Detached<I> {
    type Values = I::Values;
    const OWNS: bool = I::OWNS;

    fn count(&self) -> usize {
        self.0.count()
    }

    #[inline]
    fn latch_at(&self, index: usize) -> Option<CellRef<'i>> {
        self.0.latch_at(index)
    }

    #[inline]
    fn is_full_at(&self, index: usize) -> Option<bool> {
        self.0.is_full_at(index)
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    #[inline]
    fn is_missing(&self) -> bool {
        self.0.is_missing()
    }

    #[inline]
    fn into_values(self) -> I::Values {
        ManuallyDrop::into_inner(self.0).into_values()
    }
}

/// A task of a scope that becomes ready with values.
#[repr(C)]
pub(in crate::task) struct Waiting<'s, 'e, P: Host, F> {
    waiter: Waiter<P>,
    body: ManuallyDrop<F>,
    lifetimes: PhantomData<(&'s (), &'e ())>,
}

// SAFETY: the header leads to a scope, which is Sync; one thread at a time accesses the key; the
// body is Send.
unsafe impl<P: Host, F: Send> Send for Waiting<'_, '_, P, F> {}

impl<'s, 'e: 's, P: Host, F: Send> Waiting<'s, 'e, P, F> {
    /// Makes `body` wait for all of `inputs`, as a task of `scope`, which already counts it.
    #[track_caller]
    pub(crate) fn start<I: Inputs<'s> + Send>(scope: &'s TaskScope<P>, inputs: I, body: F)
    where
        F: FnOnce(I::Values, &mut Cx<'s, 'e, P>),
        I::Values: Send,
    {
        if inputs.is_full() {
            let run = move |cx: &mut Cx<'s, 'e, P>| run_with(inputs, body, cx);
            return Pool::schedule(Spawned::task(scope, run));
        }
        let waiting = Self {
            waiter: Waiter::new(
                &ForAll::<'s, 'e, 's, P, F, I>::KIND,
                scope,
                Location::caller(),
            ),
            body: ManuallyDrop::new(body),
            lifetimes: PhantomData,
        };
        let mut node = NodeBox::of_all(Detached(ManuallyDrop::new(inputs)), waiting);
        // Before the scope refers to the task: it may drop the inputs from then on.
        let (latch, owner) = node.next_empty().unzip();
        // The waiter is the first field of the task, which is the first field of the walker.
        let waiter = node.pointer().cast::<Waiter<P>>();
        let key = scope.add_waiting(waiter.cast());
        // SAFETY: this thread owns the node until it is registered; the scope, which may cancel it,
        // does not access the key.
        unsafe { (*waiter.as_ptr()).key.set(Some(key)) };
        // SAFETY: what the node borrows lives for 's, and the scope waits for the task, or cancels
        // it.
        unsafe { Self::register(node, latch) };
        if scope.is_aborted() {
            scope.notify_members();
        }
        drop(owner);
    }

    /// Continues the walk of a node that has left a cell, not the last one.
    ///
    /// # Safety
    /// As for [`Ready::go_on`].
    unsafe fn walk_on<'i, V: Send, I: Inputs<'i, Values = V> + Send>(
        mut node: NodeBox<All<I, Self>>,
    ) where
        F: FnOnce(V, &mut Cx<'s, 'e, P>),
    {
        let waiter = node.pointer().cast::<Waiter<P>>();
        // SAFETY: the node has left its cell.
        if let Err(owned) = unsafe { Waiter::leave_cell(waiter, WALKING) } {
            return give_up(node, owned);
        }
        // The cells are alive, and so are the inputs: a walking task is not cancelled.
        let (latch, owner) = node.next_empty().unzip();
        // SAFETY: the scope waits for a walking task.
        let pool = NonNull::from(unsafe { Waiter::scope_of(waiter) }.pool());
        let register = || {
            // SAFETY: the task was made walking above.
            let held = unsafe { Walk::hold(waiter) };
            // SAFETY: a share of the scope is held, so what the node borrows is alive, and so is
            // the cell, which is borrowed or has an owner.
            unsafe { Self::register(node, latch) };
            held.end();
        };
        // SAFETY: the pool outlives its scopes, of which this task keeps one until the walk ends.
        unsafe { Pool::keep(pool, register) };
        // Here, where a panic skips nothing: the last share of a cell may run any code.
        drop(owner);
    }

    /// Registers the node with `latch`, or makes it ready if no cell is empty. A cell that has been
    /// filled since it was visited continues the walk, to at most the depth of the cells that are
    /// filled each within some instructions.
    ///
    /// # Safety
    /// The caller must keep what the node borrows alive until the node is ready or cancelled, and
    /// the cell until the node is registered.
    unsafe fn register<'i, V: Send, I: Inputs<'i, Values = V> + Send>(
        node: NodeBox<All<I, Self>>,
        latch: Option<NonNull<Latch>>,
    ) where
        F: FnOnce(V, &mut Cx<'s, 'e, P>),
    {
        let Some(latch) = latch else {
            return Self::ready_node(node);
        };
        // SAFETY: the caller keeps what the node borrows, and the cell.
        if let Err(back) = unsafe { Latch::register_scoped(latch, node) } {
            // SAFETY: the caller keeps what the node borrows.
            unsafe { Self::go_on(back) };
        }
    }

    fn scope(&self) -> &'s TaskScope<P> {
        // SAFETY: the scope waits for this task, which is no fork and not cancelled.
        unsafe { self.waiter.header.own_scope().as_ref() }
    }

    /// Runs a task that has waited for all of `I`.
    unsafe fn run<'i, I: Inputs<'i>>(header: NonNull<Header<P>>, on: &Worker<P>, _: WorkerId)
    where
        F: FnOnce(I::Values, &mut Cx<'s, 'e, P>),
    {
        // SAFETY: the pointer comes from `into_raw` in `ready_node`, and the task is run once.
        let node = unsafe { NodeBox::<All<Detached<I>, Self>>::from_raw(header.cast()) };
        let (inputs, waiting) = node.into_parts();
        let inputs = ManuallyDrop::into_inner(inputs.0);
        let scope = waiting.scope();
        let waiting = ManuallyDrop::new(waiting);
        // SAFETY: a ready task has its body, which `waiting` does not drop.
        let body = unsafe { ptr::read(&*waiting.body) };
        Cx::run_in(on, scope, |cx| run_with(inputs, body, cx));
        // SAFETY: the share that was taken when the task was created.
        unsafe { TaskScope::leave_on(NonNull::from(scope), on.id()) };
    }

    /// Drops the body and the inputs of a claimed task, and leaves its scope.
    unsafe fn cancel<I>(header: NonNull<Header<P>>) {
        let this = header.cast::<Self>().as_ptr();
        // SAFETY: a claimed task is alive until it is marked as empty, and its body belongs to the
        // claimer. A put may own the node, but accesses neither. This is no fork.
        let (scope, body) = unsafe { ((*this).waiter.header.own_scope(), &mut (*this).body) };
        // SAFETY: the share of the task is held until the end of this function.
        let scope_ref = unsafe { scope.as_ref() };
        let inputs = All::<Detached<I>, Self>::inputs_of(header.cast());
        // SAFETY: the inputs of a claimed task belong to the claimer; they are moved out once.
        let inputs = unsafe { inputs.read() };
        // SAFETY: the body is dropped once.
        let dropped = scope_ref
            .port()
            .catch(|| unsafe { ManuallyDrop::drop(body) });
        if let Err(payload) = dropped {
            scope_ref.abort_by_task(payload);
        }
        // SAFETY: the caller has claimed the task.
        if unsafe { Waiter::mark_empty(header.cast::<Waiter<P>>()) } {
            // SAFETY: the cell has released the node to this thread.
            drop(unsafe { NodeBox::<All<Detached<I>, Self>>::from_raw(header.cast()) });
        }
        // Last: this may drop the cell in which the node waits, and the node with it.
        let inputs = ManuallyDrop::into_inner(inputs.0);
        if let Err(payload) = scope_ref.port().catch(|| drop(inputs)) {
            scope_ref.abort_by_task(payload);
        }
        // SAFETY: the share that was taken when the task was created.
        unsafe { TaskScope::leave(scope) };
    }
}

/// The kind of a task that waits for all of `I`.
struct ForAll<'s, 'e, 'i, P: Host, F, I>(PhantomData<(Waiting<'s, 'e, P, F>, &'i (), I)>);

impl<'s, 'e: 's, 'i, P: Host, F: Send, I: Inputs<'i>> ForAll<'s, 'e, 'i, P, F, I>
where
    F: FnOnce(I::Values, &mut Cx<'s, 'e, P>),
{
    const KIND: Kind<P> = Kind {
        run: Waiting::<'s, 'e, P, F>::run::<I>,
        claim: Waiter::claim,
        site: Waiter::site,
        cancel: Waiting::<'s, 'e, P, F>::cancel::<I>,
    };
}

/// Runs the body of a task whose inputs are full. If they have no values, cancels the finish around
/// it instead; without one, the panic of the inputs is that of the task.
#[inline]
fn run_with<'i, 's, 'e, P: Host, I: Inputs<'i>>(
    inputs: I,
    body: impl FnOnce(I::Values, &mut Cx<'s, 'e, P>),
    cx: &mut Cx<'s, 'e, P>,
) {
    if !(inputs.is_missing() && cx.cancel(Reason::Interrupted)) {
        body(inputs.into_values(), cx);
    }
}

/// Frees the node of a cancelled task if `owned`; otherwise the thread that drops its body does.
fn give_up<I, R>(node: NodeBox<All<I, R>>, owned: bool) {
    if owned {
        drop(node);
    } else {
        mem::forget(node);
    }
}

/// A share of the scope of a walking task, and whether the scope has been aborted.
struct Walk<'s, P: Host> {
    scope: &'s TaskScope<P>,
    aborted: bool,
}

impl<'s, P: Host> Walk<'s, P> {
    /// Takes a share of the scope, and makes the walking task waiting again. The scope may cancel
    /// it from then on, hence no reference to the task.
    ///
    /// # Safety
    /// The caller must have made the task walking.
    unsafe fn hold(task: NonNull<Waiter<P>>) -> Self {
        // SAFETY: the scope waits for a walking task.
        let scope = unsafe { Waiter::scope_of(task) };
        scope.enter();
        // SAFETY: the caller has made the task walking.
        let aborted = unsafe { Waiter::wait_again(task) };
        Self { scope, aborted }
    }

    fn end(self) {
        if self.aborted {
            self.scope.notify_members();
        }
        // SAFETY: the share taken in `hold`.
        unsafe { TaskScope::leave(NonNull::from(self.scope)) };
    }
}

impl<'s, 'e: 's, P: Host, V: Send, F> Ready<V> for Waiting<'s, 'e, P, F>
where
    F: FnOnce(V, &mut Cx<'s, 'e, P>) + Send,
{
    fn ready(self, _: V) {
        unreachable!("the task waits for all, in a node");
    }

    fn ready_node<'i, I: Inputs<'i, Values = V>>(node: NodeBox<All<I, Self>>) {
        let waiter = node.pointer().cast::<Waiter<P>>();
        // SAFETY: the node has left its last cell.
        if let Err(owned) = unsafe { Waiter::leave_cell(waiter, READY) } {
            return give_up(node, owned);
        }
        // SAFETY: the task is ready; only the owner of the node accesses the key.
        let (scope, key) = unsafe { (Waiter::scope_of(waiter), &(*waiter.as_ptr()).key) };
        if let Some(key) = key.take() {
            scope.remove_waiting(key);
        }
        // SAFETY: the header is the first field of the waiter; the node is alive until it is run.
        let task = unsafe { Task::<P>::new(node.into_raw().cast()) };
        Pool::schedule(task);
    }

    unsafe fn go_on<'i, I: Inputs<'i, Values = V> + Send>(node: NodeBox<All<I, Self>>) {
        if node.is_through() {
            return Self::ready_node(node);
        }
        // SAFETY: the caller keeps what the node borrows.
        unsafe { Self::walk_on(node) }
    }
}
