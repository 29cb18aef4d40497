//! Two-way forks: `join`.

use super::Cx;
use crate::deque::split::Index;
use crate::port::Host;
use crate::task::job::fork::Fork;
use crate::task::scope::discard;
use crate::task::wait::Wait;
use core::mem::ManuallyDrop;
use core::ptr;

impl<'scope, 'env, P: Host> Cx<'scope, 'env, P> {
    /// Calls `first` and, unless another worker has stolen it, then `second`. Returns when both
    /// have returned.
    ///
    /// Allocates nothing. Costs a few stores more than two calls if no worker steals `second`. An
    /// idle worker steals it even if `first` computes for a long time, or waits for `second`.
    /// Closures whose captures fit into two registers are passed in them: `move |cx| fib(cx, n -
    /// 1)` passes the number, without `move` a reference to it.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// fn fib<P: Host>(cx: &mut Cx<'_, '_, P>, n: u64) -> u64 {
    ///     if n < 2 {
    ///         return n;
    ///     }
    ///     let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    ///     a + b
    /// }
    /// ```
    ///
    /// # Locks
    /// If `second` was stolen, this worker runs other tasks until it has ended. If the calling task
    /// holds a lock, such a task may try to acquire it, and then waits for ever.
    /// [`join_with`](Self::join_with) runs no unrelated task.
    ///
    /// # Stack switching
    /// A `join` relies on the call stack: the frame of `first` returns, or unwinds, on the thread
    /// that called it and before any frame below it. Calls, panics and `async` code cannot break
    /// this, but unsafe code that switches stacks can. Code that provides stackful coroutines,
    /// green threads or `setjmp` must not, while a frame of `join`, of a scope, of
    /// [`Pool::run_inside`](crate::task::Pool::run_inside) or of
    /// [`Pool::with_seat`](crate::task::Pool::with_seat) is on a stack that it switches away from,
    ///
    /// - resume that stack on another thread: the frame belongs to one worker, whose deque has one
    ///   owner;
    /// - let the thread begin, end or wait for other forks, scopes or runs of the same pool before
    ///   that stack is resumed and the frame has returned: a fork is reclaimed by its position in
    ///   the deque, so another one would be reclaimed, or one be run twice;
    /// - let the frame outlive the [`Pool::with_seat`](crate::task::Pool::with_seat) or `run`
    ///   around it: another thread may hold its worker's seat then;
    /// - free or reuse the stack, or jump over the frame, before it has returned or unwound: a
    ///   thief may be writing to it.
    ///
    /// This also applies to switches with a safe interface. A coroutine that is suspended only
    /// outside of such frames is allowed.
    ///
    /// # Panics
    /// With the panic of `first`, once `second` has ended or was dropped; else with the panic of
    /// `second`.
    #[inline(always)]
    pub fn join<A, B, RA, RB>(&mut self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA,
        B: FnOnce(&mut Self) -> RB + Send,
        RB: Send,
    {
        // Closures that fit into two registers are passed in them; larger ones would be copied.
        const REGISTERS: usize = 2 * size_of::<usize>();
        if const { size_of::<A>() <= REGISTERS && size_of::<B>() <= REGISTERS } {
            self.join_outlined(first, second)
        } else {
            self.join_inlined(first, second)
        }
    }

    /// As [`join`](Self::join), with the given wait mode: with [`Wait::Own`] a lock may be held
    /// that neither closure acquires, since no unrelated task runs before both have returned. Opens
    /// a scope around the two, so it costs some more, and also waits for the tasks that they spawn.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::{Cx, Wait}};
    /// # use std::sync::Mutex;
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>, total: &Mutex<u64>, numbers: &[u64]) {
    /// let mut total = total.lock().unwrap();
    /// let (low, high) = numbers.split_at(numbers.len() / 2);
    /// let (low, high) = cx.join_with(
    ///     Wait::Own,
    ///     |_| low.iter().sum::<u64>(),
    ///     |_| high.iter().sum::<u64>(),
    /// );
    /// *total += low + high;
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`join`](Self::join), else with the first panic of a task that was spawned.
    pub fn join_with<'e, A, B, RA, RB>(&mut self, wait: Wait, first: A, second: B) -> (RA, RB)
    where
        A: for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> RA,
        B: for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> RB + Send,
        RB: Send,
    {
        self.scope_with(wait, |cx| cx.join(first, second))
    }

    /// Joins in a separate frame. A caller that mostly returns without a fork then saves no
    /// registers for it, and its two exits share no epilogue: on Intel's cores since Golden Cove a
    /// restored register costs some 20 cycles if its value was stored sometimes just before and
    /// sometimes long before, as store forwarding is predicted by the load's address.
    #[inline(never)]
    fn join_outlined<A, B, RA, RB>(&mut self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA,
        B: FnOnce(&mut Self) -> RB + Send,
        RB: Send,
    {
        self.join_inlined(first, second)
    }

    #[inline(always)]
    fn join_inlined<A, B, RA, RB>(&mut self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA,
        B: FnOnce(&mut Self) -> RB + Send,
        RB: Send,
    {
        let fork = Fork::new(self.around, second);
        // SAFETY: the task runs on this worker, whose seat is held while it runs.
        let worker = unsafe { &*self.worker.as_ptr() };
        if worker.is_below_floor(fork.word().addr()) {
            // SAFETY: the fork was not pushed, so this thread owns it.
            return self.join_deep(first, unsafe { fork.take() });
        }
        let index = worker.own().bottom();
        // SAFETY: `fork` stays in this frame until it was reclaimed, removed or joined, below.
        if !worker.push_fork(index, unsafe { fork.task() }) {
            return self.join_admitted(first, &fork, index);
        }
        self.join_pushed(first, &fork, index)
    }

    /// Calls `first`, then joins `fork`, which is at `index` in the deque.
    #[inline(always)]
    fn join_pushed<A, B, RA, RB>(
        &mut self,
        first: A,
        fork: &Fork<P, B, RB>,
        index: Index,
    ) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA,
        B: FnOnce(&mut Self) -> RB,
    {
        let joining = Joining {
            cx: self,
            fork,
            index,
        };
        let first = first(joining.cx);
        let cx = joining.disarm();
        // SAFETY: the task runs on this worker, whose seat is held while it runs. Read again, so
        // that no register is saved for it across the call.
        let worker = unsafe { &*cx.worker.as_ptr() };
        let port = worker.pool().port();
        let second = if worker.own().retract_private(index, port) || cx.reclaim(fork, index) {
            // SAFETY: the fork was reclaimed, so this thread owns it.
            let second = unsafe { fork.take() };
            second(cx)
        } else {
            // SAFETY: the fork is done; the result is taken once.
            match unsafe { fork.take_result() } {
                Ok(second) => second,
                Err(payload) => port.resume(payload),
            }
        };
        (first, second)
    }

    /// As [`join_pushed`](Self::join_pushed) where the push reached its limit; a separate function,
    /// so that the common path saves no registers for it.
    #[cold]
    #[inline(never)]
    fn join_admitted<A, B, RA, RB>(
        &mut self,
        first: A,
        fork: &Fork<P, B, RB>,
        index: Index,
    ) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA,
        B: FnOnce(&mut Self) -> RB,
    {
        if self.at().admit_fork(index) {
            return self.join_pushed(first, fork, index);
        }
        // SAFETY: the fork was removed from the deque, so this thread owns it.
        let second = unsafe { fork.take() };
        (first(self), second(self))
    }

    /// Reclaims a fork and returns true, or waits for its end if another worker has stolen it.
    #[cold]
    #[inline(never)]
    fn reclaim<B, R>(&self, fork: &Fork<P, B, R>, index: Index) -> bool {
        let help = self.help(index);
        self.at().reclaim(fork.word(), index, fork.header(), help)
    }

    /// Reclaims a fork or waits for its end, and drops its body or its result.
    #[cold]
    #[inline(never)]
    fn abandon<B, R>(&self, fork: &Fork<P, B, R>, index: Index) {
        if self.reclaim(fork, index) {
            // SAFETY: the fork was reclaimed, so this thread owns it.
            discard(self.pool().port(), unsafe { fork.take() });
        } else {
            // SAFETY: the fork is done; the result is taken once. A panic in it is not the first.
            discard(self.pool().port(), unsafe { fork.take_result() });
        }
    }

    /// Calls both halves on a further piece of stack.
    #[cold]
    #[inline(never)]
    fn join_deep<A, B, RA, RB>(&mut self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA,
        B: FnOnce(&mut Self) -> RB,
    {
        let worker = self.worker;
        // SAFETY: the task runs on this worker, whose seat is held while it runs.
        unsafe { worker.as_ref() }.on_more_stack(|| {
            let first = first(self);
            (first, second(self))
        })
    }
}

/// Joins the fork if the first half panics: another worker may use the frame.
struct Joining<'x, 's, 'e, P: Host, B, R> {
    cx: &'x mut Cx<'s, 'e, P>,
    fork: &'x Fork<P, B, R>,
    index: Index,
}

impl<'x, 's, 'e, P: Host, B, R> Joining<'x, 's, 'e, P, B, R> {
    #[inline(always)]
    fn disarm(self) -> &'x mut Cx<'s, 'e, P> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is neither dropped nor used again.
        unsafe { ptr::read(&this.cx) }
    }
}

impl<P: Host, B, R> Drop for Joining<'_, '_, '_, P, B, R> {
    // Inlined, so that the guard is not stored in memory if nothing panics.
    #[inline(always)]
    fn drop(&mut self) {
        self.cx.abandon(self.fork, self.index);
    }
}
