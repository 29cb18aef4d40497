//! What a task is given: forks, scopes, and spawning.

use super::job::{Fork, Spawned, Waiting, start_any};
use super::pool::Pool;
use super::scope::{Cause, Owner, Scope, discard};
use super::worker::Worker;
use super::{Cancelled, Help, Wait, no_unwind};
use crate::deque::split::Index;
use crate::finish::Reason;
use crate::flow::{Ddf, EmptyAny, Inputs};
use crate::hierarchy::Domain;
use crate::id::WorkerId;
use crate::port::Host;
use core::marker::PhantomData;
use core::mem;
use core::ptr::NonNull;

/// A task's hold on the runtime: the worker that it runs on, and the scope that its children join.
///
/// Children may borrow what lives for `'env`, and what lives for `'scope`.
///
/// What is borrowed must outlive the scope:
/// ```compile_fail,E0373
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     cx.scope(|cx| {
///         let gone_too_soon = 1;
///         cx.spawn(|_| assert_eq!(gone_too_soon, 1));
///     });
/// }
/// ```
/// What a task borrows mutably is nobody else's until the scope has ended:
/// ```compile_fail,E0499
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     let mut out = 0;
///     cx.scope(|cx| {
///         cx.spawn(|_| out = 1);
///         cx.spawn(|_| out = 2);
///     });
/// }
/// ```
/// ```compile_fail,E0503
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     let mut out = 0;
///     cx.scope(|cx| {
///         cx.spawn(|_| out = 1);
///         assert!(out < 2);
///     });
/// }
/// ```
/// It stays with its task: neither another thread gets it,
/// ```compile_fail,E0277
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     std::thread::scope(|s| _ = s.spawn(|| cx.worker()));
/// }
/// ```
/// nor a child,
/// ```compile_fail,E0277
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &Cx<'_, '_, P>, inner: &mut Cx<'_, '_, P>) {
///     inner.join(|_| (), |_| _ = cx.worker());
/// }
/// ```
/// nor is it there while an inner one is:
/// ```compile_fail,E0501
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     cx.scope(|_| cx.spawn(|_| ()));
/// }
/// ```
/// What is not `Send` is not captured:
/// ```compile_fail,E0277
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     let here = std::rc::Rc::new(1);
///     cx.scope(|cx| cx.spawn(move |_| assert_eq!(*here, 1)));
/// }
/// ```
/// The same without the mistakes is accepted:
/// ```
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     let (lives, mut out) = (1, 0);
///     cx.scope(|cx| {
///         cx.spawn(|_| out = lives);
///         cx.spawn(|cx| assert_eq!(cx.join(|_| lives, |_| lives), (1, 1)));
///     });
///     assert_eq!(out, 1);
/// }
/// ```
pub struct Cx<'scope, 'env: 'scope, P: Host> {
    worker: NonNull<Worker<P>>,
    scope: &'scope Scope<P>,
    /// Neither lifetime may shrink or grow, as in `std::thread::Scope`.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

impl<'scope, 'env, P: Host> Cx<'scope, 'env, P> {
    #[inline(always)]
    pub(super) fn new(worker: &Worker<P>, scope: &'scope Scope<P>) -> Self {
        Self {
            worker: worker.pointer(),
            scope,
            lifetimes: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn at(&self) -> &Worker<P> {
        // SAFETY: a task has its Cx for as long as it runs on that worker, whose seat is held so long.
        unsafe { self.worker.as_ref() }
    }

    #[inline(always)]
    pub(super) fn inside(&self) -> &'scope Scope<P> {
        self.scope
    }

    /// The worker that runs this task.
    pub fn worker(&self) -> WorkerId {
        self.at().id()
    }

    /// The pool that runs this task.
    pub fn pool(&self) -> &Pool<P> {
        self.at().pool()
    }

    /// Calls `first`, while `second` waits for another worker to call it; calls it itself if none did. Returns
    /// when both have.
    ///
    /// Allocates nothing. Costs a few stores more than two calls as long as no worker takes `second`. One that has nothing else to do
    /// takes it even if `first` computes for long, or waits for `second`.
    ///
    /// # Stack switching
    /// A `join` relies on the call stack: the frame of `first` returns, or unwinds, on the thread that called it and
    /// before any frame below it. Calls, panics and `async` code cannot break this, but unsafe code that switches
    /// stacks can. Code that provides stackful coroutines, green threads or `setjmp` must not, while a frame of
    /// `join`, of a scope, of [`Pool::run_inside`] or of [`Pool::with_seat`] is on a stack that it switches away from,
    ///
    /// - resume that stack on another thread: the frame belongs to one worker, whose deque has one owner;
    /// - let the thread begin, end or wait for other forks, scopes or runs of the same pool before that stack is
    ///   resumed and the frame has returned: a fork is taken back by its position in the deque, so it would take
    ///   another one, or run twice;
    /// - let the frame outlive the [`Pool::with_seat`] or `run` around it: another thread may have its worker then;
    /// - free or reuse the stack, or jump over the frame, before it has returned or unwound: a thief may be
    ///   writing to it.
    ///
    /// This holds also where the switch has a safe interface. A coroutine that is suspended only outside of such
    /// frames is allowed.
    ///
    /// # Panics
    /// With the panic of `first`, once `second` has ended or was dropped; else with that of `second`.
    #[inline(always)]
    pub fn join<A, B, RA, RB>(&mut self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA,
        B: FnOnce(&mut Self) -> RB + Send,
        RB: Send,
    {
        // Closures that two registers hold are passed in them; larger ones would be copied.
        const REGISTERS: usize = 2 * size_of::<usize>();
        if const { size_of::<A>() <= REGISTERS && size_of::<B>() <= REGISTERS } {
            self.join_apart(first, second)
        } else {
            self.join_here(first, second)
        }
    }

    /// `join` in a frame of its own. A caller that mostly returns without a fork then saves no registers for it, and its two ways
    /// out share no epilogue: on Intel's cores since Golden Cove a restored register costs some 20 cycles where the
    /// value was stored sometimes just before and sometimes long before, as store forwarding is predicted by the load's address.
    #[inline(never)]
    fn join_apart<A, B, RA, RB>(&mut self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA,
        B: FnOnce(&mut Self) -> RB + Send,
        RB: Send,
    {
        self.join_here(first, second)
    }

    #[inline(always)]
    fn join_here<A, B, RA, RB>(&mut self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA,
        B: FnOnce(&mut Self) -> RB + Send,
        RB: Send,
    {
        let fork = Fork::new(self.scope, second);
        // SAFETY: as in `at`.
        let worker = unsafe { &*self.worker.as_ptr() };
        if worker.is_below_floor(fork.word().addr()) {
            // SAFETY: no other thread knows it.
            return self.join_deep(first, unsafe { fork.take() });
        }
        let index = worker.own().bottom();
        if !worker.push_fork(&fork, index) {
            return self.join_admitted(first, &fork, index);
        }
        self.join_pushed(first, &fork, index)
    }

    /// What follows once `fork` is at `index` in the deque.
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
        let cx = joining.hold();
        // SAFETY: as in `join_here`. Read again, so that no register is saved for it over the call.
        let worker = unsafe { &*cx.worker.as_ptr() };
        let port = worker.pool().port();
        let second = if worker.own().retract_private(index, port) || cx.take_back(fork, index) {
            // SAFETY: it was taken back.
            let second = unsafe { fork.take() };
            second(cx)
        } else {
            // SAFETY: another worker ran it to its end.
            match unsafe { fork.take_result() } {
                Ok(second) => second,
                Err(payload) => port.resume(payload),
            }
        };
        (first, second)
    }

    /// As [`join_pushed`](Self::join_pushed) where the push found its limit: in a function of its own, so that the common
    /// way saves no registers for it.
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
        // SAFETY: it was taken off again, so no other thread knows it.
        let second = unsafe { fork.take() };
        (first(self), second(self))
    }

    /// What to run in a wait inside this task, for what was pushed from `base` on.
    pub(super) fn help(&self, base: Index) -> Help<'scope, P> {
        Help::of(self.scope, base)
    }

    /// Takes a fork back, if nobody else has begun to run it; else waits for its end.
    #[cold]
    #[inline(never)]
    fn take_back<B, R>(&self, fork: &Fork<P, B, R>, index: Index) -> bool {
        let help = self.help(index);
        self.at().take_back(fork.word(), index, fork.header(), help)
    }

    /// Takes a fork back or waits for its end, and drops what it is.
    #[cold]
    #[inline(never)]
    fn abandon<B, R>(&self, fork: &Fork<P, B, R>, index: Index) {
        if self.take_back(fork, index) {
            // SAFETY: it was taken back.
            discard(self.pool().port(), unsafe { fork.take() });
        } else {
            // SAFETY: somebody else ran it to its end. Its panic is not the first.
            discard(self.pool().port(), unsafe { fork.take_result() });
        }
    }

    /// Both one after the other, where there is stack for it.
    #[cold]
    #[inline(never)]
    fn join_deep<A, B, RA, RB>(&mut self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA,
        B: FnOnce(&mut Self) -> RB,
    {
        let worker = self.worker;
        // SAFETY: as in `at`.
        unsafe { worker.as_ref() }.on_more_stack(|| {
            let first = first(self);
            (first, second(self))
        })
    }

    /// Runs `body` and returns when it and all tasks spawned in it, by tasks too, have ended. Nobody can
    /// cancel it from outside.
    ///
    /// # Panics
    /// With the panic of `body`, else with the first of a task; what had not begun by then is dropped.
    pub fn scope<'e, R>(&mut self, body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R) -> R {
        self.scope_with(Wait::Help, body)
    }

    /// As [`scope`](Self::scope), waiting as `wait` says.
    ///
    /// # Panics
    /// As [`scope`](Self::scope).
    pub fn scope_with<'e, R>(
        &mut self,
        wait: Wait,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    ) -> R {
        match self.open(wait, false, body) {
            (result, None) => result,
            (_, Some(reason)) => unreachable!("a scope was cancelled: {}", reason.name()),
        }
    }

    /// Runs `body` and returns when it and all tasks spawned in it, by tasks too, have ended (Chatterjee,
    /// `finish`). A task in it may [`cancel`](Self::cancel) it.
    ///
    /// # Errors
    /// It, or a finish around it, was cancelled; tasks that had not begun by then were dropped.
    ///
    /// # Panics
    /// As [`scope`](Self::scope).
    pub fn finish<'e, R>(
        &mut self,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    ) -> Result<R, Cancelled> {
        self.finish_with(Wait::Help, body)
    }

    /// As [`finish`](Self::finish), waiting as `wait` says.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    ///
    /// # Panics
    /// As [`scope`](Self::scope).
    pub fn finish_with<'e, R>(
        &mut self,
        wait: Wait,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    ) -> Result<R, Cancelled> {
        match self.open(wait, true, body) {
            (result, None) => Ok(result),
            (_, Some(reason)) => Err(Cancelled { reason }),
        }
    }

    fn open<'e, R>(
        &mut self,
        wait: Wait,
        cancellable: bool,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    ) -> (R, Option<Reason>) {
        // A wait inside one that must not run others' tasks must not either.
        let wait = match self.scope.wait {
            Wait::Help => wait,
            outer => outer,
        };
        let owner = Owner::Worker(self.worker());
        let scope = Scope::new(self.pool(), Some(self.scope), owner, wait);
        let scope = if cancellable {
            scope.cancellable()
        } else {
            scope
        };
        Self::inside_of(self.at(), &scope, body)
    }

    /// A scope with nothing around it, on a worker that has just begun, or is in a task.
    pub(super) fn enter<'e, R>(
        worker: &Worker<P>,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    ) -> R {
        let owner = Owner::Worker(worker.id());
        let scope = Scope::new(worker.pool(), None, owner, worker.isolation());
        Self::inside_of(worker, &scope, body).0
    }

    fn inside_of<'e, R>(
        worker: &Worker<P>,
        scope: &Scope<P>,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    ) -> (R, Option<Reason>) {
        let port = worker.pool().port();
        let run = || {
            let _isolation = worker.isolate(scope.wait);
            let base = worker.own().bottom();
            // Caught, since others' tasks run in the wait, and they do not panic.
            let outcome = port.catch(|| body(&mut Cx::new(worker, scope)));
            // Tasks use the scope, and what they borrow, until they have ended.
            no_unwind(|| {
                if outcome.is_err() {
                    scope.give_up();
                }
                close(worker, scope, base);
            });
            outcome
        };
        let outcome = if worker.is_below_floor(core::ptr::from_ref(scope).addr()) {
            worker.on_more_stack(run)
        } else {
            run()
        };
        match (outcome, scope.take_cause()) {
            (Ok(result), None) => (result, None),
            (Ok(result), Some(Cause::Cancelled(reason))) => (result, Some(reason)),
            (Ok(_), Some(Cause::Panic(payload))) => port.resume(payload),
            (Err(payload), cause) => {
                discard(port, cause);
                port.resume(payload)
            }
        }
    }

    /// Lets `body` run some time before the enclosing scope ends, on any worker; the spawner
    /// continues (help-first). Allocates if `body` is larger than twelve words, or if the tasks of
    /// this worker use all of its recycled blocks.
    #[inline]
    pub fn spawn(&mut self, body: impl FnOnce(&mut Self) + Send + 'scope) {
        self.scope.enter_on(self.at());
        let task = Spawned::task_on(self.at(), self.scope, body);
        self.at().offer(task);
    }

    /// As [`spawn`](Self::spawn), on a worker below `place` only; see [`Pool::tree`]. The root's are everybody's.
    ///
    /// # Panics
    /// A place that is not in the tree.
    pub fn spawn_in(&mut self, place: Domain, body: impl FnOnce(&mut Self) + Send + 'scope) {
        let places = self.pool().tree().len();
        assert!((place.0 as usize) < places, "{place} of {places} places");
        self.scope.enter_on(self.at());
        let task = Spawned::task_on(self.at(), self.scope, body);
        self.pool().bind(place, task);
    }

    /// Lets `body` run with the values of `inputs` as soon as all of them are full, on the worker that puts the last one.
    /// One allocation.
    ///
    /// `inputs` is a cell, or a tuple of up to eight, an array, a slice or a vector of them, by reference. A cell that is
    /// never put keeps the scope from ending.
    pub fn spawn_when<I: Inputs<'scope> + Send + 'scope>(
        &mut self,
        inputs: I,
        body: impl FnOnce(I::Values, &mut Self) + Send + 'scope,
    ) where
        I::Values: Send,
    {
        self.scope.enter_on(self.at());
        Waiting::start(self.scope, inputs, body);
    }

    /// Lets `body` run as soon as one of `cells` is full, with its index and value.
    ///
    /// # Errors
    /// No cell.
    pub fn spawn_when_any<T: Send + Sync + 'scope>(
        &mut self,
        cells: impl AsRef<[&'scope Ddf<T>]>,
        body: impl FnOnce((usize, &'scope T), &mut Self) + Send + 'scope,
    ) -> Result<(), EmptyAny<()>> {
        let cells = cells.as_ref();
        self.scope.enter_on(self.at());
        if start_any(self.scope, cells, body) {
            return Ok(());
        }
        // SAFETY: the share just taken.
        unsafe { Scope::leave_on(NonNull::from(self.scope), self.at()) };
        Err(EmptyAny(()))
    }

    /// Ends the innermost [`finish`](Self::finish) around this task: its tasks that have not begun are
    /// dropped, those at work can ask [`cancelled`](Self::cancelled). Only the first reason counts. False if
    /// there is no finish around it.
    pub fn cancel(&self, reason: Reason) -> bool {
        self.scope.cancel(reason)
    }

    /// Why a finish around this task was cancelled, if one was.
    pub fn cancelled(&self) -> Option<Reason> {
        self.scope.reason()
    }
}

/// A panic of the first half must not leave the second half to others while its stack goes.
struct Joining<'x, 's, 'e, P: Host, B, R> {
    cx: &'x mut Cx<'s, 'e, P>,
    fork: &'x Fork<P, B, R>,
    index: Index,
}

impl<'x, 's, 'e, P: Host, B, R> Joining<'x, 's, 'e, P, B, R> {
    #[inline(always)]
    fn hold(self) -> &'x mut Cx<'s, 'e, P> {
        let this = mem::ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped and not used again.
        unsafe { core::ptr::read(&this.cx) }
    }
}

impl<P: Host, B, R> Drop for Joining<'_, '_, '_, P, B, R> {
    // Inlined, so that on the way without a panic the guard is nowhere in memory.
    #[inline(always)]
    fn drop(&mut self) {
        self.cx.abandon(self.fork, self.index);
    }
}

/// Waits until all tasks of the scope have ended.
#[inline]
fn close<P: Host>(worker: &Worker<P>, scope: &Scope<P>, base: Index) {
    let help = Help::of(scope, base);
    // As long as nobody else is in it, the scope costs its owner no atomic. Tasks of places come before own ones.
    while worker.pool().is_flat() && !scope.is_over() && worker.help_own(&help) {}
    if !scope.is_over() && !scope.settle() {
        worker.wait(scope.counter(), help);
    }
}
