//! Data-driven tasks: a closure that waits for values, in the one allocation that it is later run from.

use super::{Header, Kind, Spawned, Task};
use crate::flow::{All, Inputs, Node, Ready};
use crate::id::WorkerId;
use crate::port::Host;
use crate::task::Cx;
use crate::task::scope::Scope;
use crate::task::worker::Worker;
use alloc::boxed::Box;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};

/// A task of a scope that becomes ready with values. Dropped before, it leaves its scope.
#[repr(C)]
pub(in crate::task) struct Waiting<'s, 'e, P: Host, F> {
    /// Its kind is set when it becomes ready.
    header: Header<P>,
    body: F,
    lifetimes: PhantomData<(&'s (), &'e ())>,
}

// SAFETY: the header leads to a scope, which is Sync; the body is Send.
unsafe impl<P: Host, F: Send> Send for Waiting<'_, '_, P, F> {}

impl<'s, 'e: 's, P: Host, F> Waiting<'s, 'e, P, F> {
    const NOT_READY: Kind<P> = Kind {
        run: |_, _, _| unreachable!("a task is queued only when it is ready"),
    };

    /// Of `scope`, which it has entered.
    pub fn new(scope: &'s Scope<P>, body: F) -> Self {
        Self {
            header: Header::new(&Self::NOT_READY, scope),
            body,
            lifetimes: PhantomData,
        }
    }

    fn scope(&self) -> &'s Scope<P> {
        // SAFETY: the scope waits for this task.
        unsafe { self.header.scope.as_ref() }
    }

    /// The body; the share of the scope is the caller's to give up.
    fn into_body(self) -> F {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is neither dropped nor used again, and nothing else in it needs to be dropped.
        unsafe { ptr::read(&this.body) }
    }

    /// Runs one that has waited for all of `I`.
    unsafe fn run<'i, I: Inputs<'i>>(header: NonNull<Header<P>>, on: &Worker<P>, _: WorkerId)
    where
        F: FnOnce(I::Values, &mut Cx<'s, 'e, P>),
    {
        // SAFETY: the header begins what `ready_node` made a pointer of; it is run once.
        let node = unsafe { Node::<All<I, Self>>::from_raw(header.cast()) };
        let (values, waiting) = node.open();
        let scope = waiting.scope();
        let body = waiting.into_body();
        on.run_in(scope, |cx| body(values, cx));
        // SAFETY: the share that was taken when the task was made.
        unsafe { Scope::leave(NonNull::from(scope)) };
    }
}

impl<P: Host, F> Drop for Waiting<'_, '_, P, F> {
    fn drop(&mut self) {
        // SAFETY: the share that was taken when the task was made.
        unsafe { Scope::leave(self.header.scope) };
    }
}

/// The kind of one that waits for all of `I`.
struct ForAll<'s, 'e, 'i, P: Host, F, I>(PhantomData<(Waiting<'s, 'e, P, F>, &'i (), I)>);

impl<'s, 'e: 's, 'i, P: Host, F, I: Inputs<'i>> ForAll<'s, 'e, 'i, P, F, I>
where
    F: FnOnce(I::Values, &mut Cx<'s, 'e, P>),
{
    const KIND: Kind<P> = Kind {
        run: Waiting::<'s, 'e, P, F>::run::<I>,
    };
}

impl<'s, 'e: 's, P: Host, V: Send, F> Ready<V> for Waiting<'s, 'e, P, F>
where
    F: FnOnce(V, &mut Cx<'s, 'e, P>) + Send,
{
    fn ready(self, values: V) {
        let scope = self.scope();
        let body = self.into_body();
        let task = Spawned::task(scope, move |cx: &mut Cx<'s, 'e, P>| body(values, cx));
        scope.pool().schedule(task);
    }

    fn ready_node<'i, I: Inputs<'i, Values = V>>(mut node: Box<Node<All<I, Self>>>) {
        let scope = node.waiter.ready.scope();
        node.waiter.ready.header = Header::new(&ForAll::<'s, 'e, 'i, P, F, I>::KIND, scope);
        // SAFETY: the header is the first field of the first field; the node stays until it is run.
        let task = unsafe { Task::new(Node::into_raw(node).cast()) };
        scope.pool().schedule(task);
    }
}
