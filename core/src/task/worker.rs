//! A worker: its own tasks, the search for others' tasks, and waiting.

use super::job::{Blocks, Fork, Header, Task};
use super::pool::Pool;
use super::scope::Scope;
use super::stack::Stack;
use super::{Awaited, Help, Wait, no_unwind};
use crate::deque::split::{End, Index, Pushed, SplitDeque};
use crate::deque::{Inbox, Steal};
use crate::id::WorkerId;
use crate::port::Host;
use crate::sync::{AtomicBool, Ordering};
use core::cell::Cell;
use core::ptr::{self, NonNull};

/// Tasks of one worker that thieves can be offered; what is spawned beyond waits in the overflow, and
/// what is forked beyond is called.
#[cfg(not(tautline_loom))]
pub(super) const SLOTS: usize = 1024;
#[cfg(tautline_loom)]
pub(super) const SLOTS: usize = 4;

/// Turns of waiting before a search.
const SOON_TURNS: u32 = if cfg!(tautline_loom) { 0 } else { 32 };

/// Searches between two looks at the clock.
const TURNS_A_LOOK: u32 = 16;

/// After which part of its patience a searching worker fences the others to get at their private tasks.
const RAID_PART: u64 = 8;

/// One seat of a pool. Whoever holds it is the worker.
pub struct Worker<P: Host> {
    id: WorkerId,
    pub(super) tasks: SplitDeque<Task<P>, SLOTS>,
    overflow: Inbox<Task<P>>,
    held: AtomicBool,
    /// Sleeps, and shall be woken only for tasks that come from outside or are bound to a place.
    apart: AtomicBool,
    /// The holder's: the pool, which it is in; its stack; where the next search begins.
    pool: Cell<*const Pool<P>>,
    stack: Stack,
    start: Cell<usize>,
    /// The holder's: how the task at work waits, if its scope is isolated.
    isolation: Cell<Wait>,
    /// The holder's: a task that is to run before any other.
    next: Cell<Option<Task<P>>>,
    /// The memory of the tasks that are spawned here.
    pub(super) blocks: Blocks,
}

// SAFETY: cells and the owner's end of the deque are touched by the holder only, one thread at a time,
// handed on by `held` (T1). All else is Sync.
unsafe impl<P: Host> Sync for Worker<P> {}
// SAFETY: pools are made on one thread and may be dropped on another.
unsafe impl<P: Host> Send for Worker<P> {}

/// A task of an isolated scope is at work.
pub(super) struct Isolation<'w, P: Host> {
    worker: &'w Worker<P>,
    before: Wait,
}

impl<P: Host> Drop for Isolation<'_, P> {
    fn drop(&mut self) {
        self.worker.isolation.set(self.before);
    }
}

impl<P: Host> Worker<P> {
    pub(super) fn new(id: WorkerId) -> Self {
        Self {
            id,
            tasks: SplitDeque::new(),
            overflow: Inbox::new(),
            held: AtomicBool::new(false),
            apart: AtomicBool::new(false),
            pool: Cell::new(ptr::null()),
            stack: Stack::default(),
            start: Cell::new(0),
            isolation: Cell::new(Wait::Help),
            next: Cell::new(None),
            blocks: Blocks::new(id),
        }
    }

    /// Takes the seat for the calling thread, if it is free.
    pub(super) fn hold(&self, pool: &Pool<P>) -> bool {
        // ORDERING: Acquire, pairs with Release in leave (T1): what the last holder did is seen.
        // ORDERING: failure Relaxed: nothing is read.
        let (yes, no) = (Ordering::Acquire, Ordering::Relaxed);
        if self.held.compare_exchange(false, true, yes, no).is_err() {
            return false;
        }
        self.pool.set(pool);
        self.settle();
        true
    }

    /// Measures the stack that the holder runs on.
    pub(super) fn settle(&self) {
        self.stack.settle(self.pool().port());
    }

    /// Gives the seat up, after [`hand_over`](Self::hand_over).
    pub(super) fn leave(&self) {
        // ORDERING: Release, pairs with Acquire in hold (T1).
        self.held.store(false, Ordering::Release);
    }

    /// Whether somebody holds the seat.
    pub(super) fn is_held(&self) -> bool {
        // ORDERING: Relaxed: a hint.
        self.held.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn id(&self) -> WorkerId {
        self.id
    }

    #[inline(always)]
    pub(super) fn pool(&self) -> &Pool<P> {
        // SAFETY: set by the holder, who is in the pool.
        unsafe { &*self.pool.get() }
    }

    /// The owner's end. The holder only.
    #[inline(always)]
    pub(super) fn own(&self) -> End<'_, Task<P>, SLOTS> {
        // SAFETY: all callers run on the holder's thread, and the holder is the only one.
        unsafe { End::of(&self.tasks) }
    }

    /// Whether a call at `address` on the stack is too deep to fork.
    #[inline(always)]
    pub(super) fn is_below_floor(&self, address: usize) -> bool {
        self.stack.is_below_floor(address)
    }

    /// Whoever enters the pool anew from the task at work must wait so.
    pub(super) fn isolation(&self) -> Wait {
        self.isolation.get()
    }

    /// Keeps in mind that a task of a scope that waits so is at work, until the guard goes.
    #[inline]
    pub(super) fn isolate(&self, wait: Wait) -> Option<Isolation<'_, P>> {
        (wait != Wait::Help).then(|| Isolation {
            worker: self,
            before: self.isolation.replace(wait),
        })
    }

    /// Goes on where there is stack.
    ///
    /// # Panics
    /// There is no memory for more of it.
    #[cold]
    pub(super) fn on_more_stack<R>(&self, body: impl FnOnce() -> R) -> R {
        let Ok(result) = self.stack.extend(self.pool().port(), body) else {
            panic!("the stack is used up, and there is no memory for more of it");
        };
        result
    }

    /// Runs `task` as soon as the one that is at work ends or suspends.
    pub(super) fn set_next(&self, task: Task<P>) {
        if let Some(before) = self.next.replace(Some(task)) {
            self.offer(before);
        }
    }

    /// Runs what has been set to run next; false if nothing was.
    pub(super) fn run_next(&self) -> bool {
        let mut any = false;
        while let Some(task) = self.next.take() {
            task.run_turn(self, self.id);
            any = true;
        }
        any
    }

    /// Whether a task is set to run next.
    pub(super) fn has_next(&self) -> bool {
        let next = self.next.take();
        let any = next.is_some();
        self.next.set(next);
        any
    }

    /// Puts what has been set to run next where a wait finds it.
    fn offer_next(&self) {
        if let Some(task) = self.next.take() {
            self.offer(task);
        }
    }

    /// Makes a task known to everybody.
    pub(super) fn offer(&self, task: Task<P>) {
        if let Err(full) = self.own().push_public(task) {
            self.overflow.push(full.0, self.pool().port());
        }
        self.offered();
    }

    /// Wakes somebody if work that has just been offered needs it.
    #[inline]
    pub(super) fn offered(&self) {
        let pool = self.pool();
        if pool.idle.wanted() {
            pool.wake(self.id);
        }
    }

    /// Takes the newest own task back.
    fn pop(&self) -> Option<Task<P>> {
        // Forks are in the deque, and nothing guards the frame of one that is being joined.
        let published = || no_unwind(|| self.offered());
        self.own().pop(self.pool().port(), published)
    }

    /// A task: bound to a place on the way from this worker's leaf to the root, own ones first; then own ones, newest
    /// first; then the others', nearest first (Chatterjee 2013, 5.2). Says from whose deque.
    fn find(&self) -> Option<(Task<P>, WorkerId)> {
        let own = || self.pop();
        let overflow = || self.overflow.pop(self.pool().port());
        match self.find_bound().or_else(own).or_else(overflow) {
            Some(task) => Some((task, self.id)),
            None => self.rob(),
        }
    }

    /// A task that is bound to a place which this worker is below.
    fn find_bound(&self) -> Option<Task<P>> {
        let (pool, seat) = (self.pool(), self.id.index());
        if pool.is_flat() {
            return None;
        }
        let mut path = pool.path(self.id);
        path.find_map(|place| pool.bins.take(place, seat, pool.port()))
    }

    /// The others' tasks, nearest first.
    fn rob(&self) -> Option<(Task<P>, WorkerId)> {
        let pool = self.pool();
        for victim in pool.victims(self.id, &self.start) {
            let from = pool.worker(victim);
            loop {
                match from.tasks.steal() {
                    Steal::Taken(task) => return Some((task, victim)),
                    Steal::Busy => {}
                    Steal::Empty => break from.tasks.starve(),
                }
            }
            if let Some(task) = from.overflow.pop(pool.port()) {
                return Some((task, victim));
            }
        }
        let task = pool.injected.pop(pool.port())?;
        Some((task, self.id))
    }

    /// Whether there is a task for this worker anywhere, settled against every offer: tasks that are pushed later wake it, if it is
    /// asleep by then. Private tasks are published first, and from here on any fork is.
    fn look_everywhere(&self) -> bool {
        let pool = self.pool();
        if self.raid(pool.workers(), true) {
            return true;
        }
        let has_tasks = |w: &Self| {
            (w.id != self.id && w.tasks.look()) || !w.overflow.is_settled_empty(pool.port())
        };
        self.look_bound()
            || pool.workers().iter().any(|w| has_tasks(w))
            || !pool.injected.is_settled_empty(pool.port())
    }

    fn look_bound(&self) -> bool {
        let pool = self.pool();
        pool.path(self.id).any(|place| pool.bins.look(place))
    }

    /// A task, however long it takes; `None` when `done`. `sleep` is asked before the worker lies down: it makes
    /// sure that whoever makes it `done` wakes this worker, and is false if it is too late for that.
    fn seek(
        &self,
        done: &impl Fn() -> bool,
        sleep: &impl Fn() -> bool,
    ) -> Option<(Task<P>, WorkerId)> {
        if let Some(found) = self.find() {
            return Some(found);
        }
        let pool = self.pool();
        let (port, idle) = (pool.port(), &pool.idle);
        idle.search();
        let found = 'search: loop {
            let start = port.now();
            let patience = port.patience(self.id);
            let mut raided = false;
            for turn in 0.. {
                if done() {
                    break 'search None;
                }
                if let Some(found) = self.find() {
                    break 'search Some(found);
                }
                if turn % TURNS_A_LOOK == TURNS_A_LOOK - 1 || cfg!(tautline_loom) {
                    let waited = port.now().wrapping_sub(start);
                    if waited >= patience {
                        break;
                    }
                    // Their owners have not answered: they are in long leaves.
                    if !raided && waited >= patience / RAID_PART && self.sees_private() {
                        raided = true;
                        _ = self.raid(pool.workers(), false);
                    }
                }
                port.relax(turn);
            }
            if sleep() {
                self.sleep(done);
            }
        };
        if idle.found() {
            pool.wake(self.id);
        }
        found
    }

    /// Sleeps until somebody offers work or makes it `done`.
    fn sleep(&self, done: &impl Fn() -> bool) {
        let pool = self.pool();
        pool.idle.lie_down(self.id);
        let stay = !done() && !self.look_everywhere();
        while pool.idle.is_asleep(self.id) {
            // Nobody may have claimed it: then it makes itself a searcher again. Else whoever has will wake it.
            if (!stay || done()) && pool.idle.claim(self.id) {
                // A task may have been announced that is not there yet.
                pool.port().relax(0);
                return;
            }
            pool.port().park(self.id);
        }
    }

    /// Runs tasks until the pool is closed.
    pub(super) fn attend(&self) {
        let pool = self.pool();
        let done = || pool.is_closed() || !pool.wants(self.id);
        while !pool.is_closed() {
            while let Some((task, from)) = self.seek(&done, &|| true) {
                task.run(self, from);
            }
            // Not wanted: only what nobody else may run.
            let on_duty = || pool.is_closed() || pool.wants(self.id);
            let bound = || self.find_bound();
            self.stand_apart(on_duty, || self.look_bound(), bound, || self.hand_over());
        }
    }

    /// Waits, and helps meanwhile.
    pub(super) fn wait(&self, awaited: &impl Awaited, help: Help<'_, P>) {
        no_unwind(|| self.wait_for(awaited, &help));
    }

    fn wait_for(&self, awaited: &impl Awaited, help: &Help<'_, P>) {
        self.offer_next();
        let inside = help.inside();
        if inside.is_none() && self.may_help() {
            return self.help_all(awaited);
        }
        // Deep in the stack first what this wait is for: others' tasks could wait in turn, and help again.
        while !awaited.is_done() && self.help_own(help) {}
        let help_all = || self.help_all(awaited);
        let may_extend = inside.is_none() && self.stack.may_extend();
        if !may_extend || self.stack.extend(self.pool().port(), help_all).is_err() {
            self.rest(awaited, help, inside);
        }
    }

    /// Whether there is stack for others' tasks, or nobody else to run them.
    fn may_help(&self) -> bool {
        self.stack.has_room() || self.pool().has_one_worker()
    }

    /// Runs one task that a wait may run, if there is one.
    pub(super) fn help_once(&self, help: &Help<'_, P>) {
        match help.inside() {
            None if self.may_help() => {
                if let Some((task, from)) = self.find() {
                    task.run(self, from);
                }
            }
            _ => _ = self.help_own(help),
        }
    }

    fn help_all(&self, awaited: &impl Awaited) {
        let done = || awaited.is_done();
        while !awaited.is_done() {
            let found = self.find();
            if found.is_none() && self.is_soon(awaited) {
                return;
            }
            match found.or_else(|| self.seek(&done, &|| awaited.sleep())) {
                Some((task, from)) => task.run(self, from),
                None => return,
            }
        }
    }

    /// Whether it comes within a few turns, as what was stolen last mostly does: then it is not worth being counted as a
    /// searcher.
    fn is_soon(&self, awaited: &impl Awaited) -> bool {
        (0..SOON_TURNS).any(|turn| {
            self.pool().port().relax(turn);
            awaited.is_done()
        })
    }

    /// Runs the newest own task, if it is above `base` and inside `scope`, and passes on one that is not; else a task inside
    /// that waits where the deque is full.
    pub(super) fn help_own(&self, help: &Help<'_, P>) -> bool {
        let (pool, port) = (self.pool(), self.pool().port());
        let is_inside = |task: &Task<P>| task.scope().is_inside(help.scope);
        let above = self.own().reaches(help.base);
        if let Some(task) = above.then(|| self.pop()).flatten() {
            self.run_if_inside(task, help);
            return true;
        }
        let beyond = self.overflow.pop_newest(port, is_inside);
        match beyond.or_else(|| pool.injected.pop_newest(port, is_inside)) {
            Some(task) => task.run(self, self.id),
            None => return false,
        }
        true
    }

    /// Runs an own task, or passes it on if the wait must not.
    fn run_if_inside(&self, task: Task<P>, help: &Help<'_, P>) {
        if help
            .inside()
            .is_none_or(|scope| task.scope().is_inside(scope))
        {
            task.run(self, self.id);
        } else {
            self.pool().inject(task);
        }
    }

    /// Passes on what is left in its queues: tasks of others' scopes, made here.
    pub(super) fn hand_over(&self) {
        let port = self.pool().port();
        self.offer_next();
        while let Some(task) = self.pop().or_else(|| self.overflow.pop(port)) {
            self.pool().inject(task);
        }
    }

    /// Waits without helping, but for tasks of the waiting scope that come from outside or are bound to a place: they may
    /// have nobody else.
    fn rest(&self, awaited: &impl Awaited, help: &Help<'_, P>, scope: Option<&Scope<P>>) {
        let pool = self.pool();
        let port = self.pool().port();
        // Nothing here pops for a while.
        if self.own().publish() == Pushed::Published {
            self.offered();
        }
        let parks = scope.is_some_and(|scope| scope.wait == Wait::Park);
        let patience = if parks { 0 } else { port.patience(self.id) };
        let (start, mut turn) = (port.now(), 0);
        while !awaited.is_done() && port.now().wrapping_sub(start) < patience {
            port.relax(turn);
            turn += 1;
        }
        if awaited.sleep() {
            let is_inside = |task: &Task<P>| task.scope().is_inside(help.scope);
            let may_run = |task: &Task<P>| scope.is_none() || is_inside(task);
            let (bins, seat) = (&pool.bins, self.id.index());
            let look_bound = || {
                pool.path(self.id)
                    .any(|p| bins.look_wanted(p, port, may_run))
            };
            let bound = || {
                let mut path = pool.path(self.id);
                path.find_map(|place| bins.take_wanted(place, seat, port, may_run))
            };
            self.stand_apart(
                || awaited.is_done(),
                || look_bound() || pool.injected.holds(port, is_inside),
                || pool.injected.pop_newest(port, is_inside).or_else(bound),
                || while !awaited.is_done() && self.help_own(help) {},
            );
        }
    }

    /// Sleeps until `done`, and runs what `take` gives whenever `look` says that there is something, and `then` does.
    fn stand_apart(
        &self,
        done: impl Fn() -> bool,
        look: impl Fn() -> bool,
        take: impl Fn() -> Option<Task<P>>,
        then: impl Fn(),
    ) {
        let port = self.pool().port();
        while !done() {
            // ORDERING: Relaxed: released by the look that follows, to any thread that binds or brings in a task after it (N2,
            // W2).
            self.apart.store(true, Ordering::Relaxed);
            if !look() {
                port.park(self.id);
            }
            // ORDERING: Relaxed: who sees it late wakes this worker for nothing.
            self.apart.store(false, Ordering::Relaxed);
            match take() {
                Some(task) => {
                    task.run(self, self.id);
                    // It may have left tasks of its own here.
                    then();
                }
                None => port.relax(u32::MAX),
            }
        }
    }

    /// Whether it sleeps without helping.
    pub(super) fn is_apart(&self) -> bool {
        // ORDERING: Relaxed: the bin's count or the queue was changed before (N2, W2).
        self.apart.load(Ordering::Relaxed)
    }

    /// Takes the fork `word` back, which was pushed at `index`, if nobody has begun to run it; else waits until
    /// it is done.
    pub(super) fn take_back(
        &self,
        word: *mut (),
        index: Index,
        fork: &Header<P>,
        help: Help<'_, P>,
    ) -> bool {
        while fork.is_pending() && self.own().reaches(index) {
            let Some(task) = self.pop() else {
                break;
            };
            if task.is(word) {
                return true;
            }
            no_unwind(|| self.run_if_inside(task, &help));
        }
        self.wait(fork, help);
        false
    }

    /// Pushes a fork at `index`, the owner's end. False if [`admit_fork`](Self::admit_fork) must follow.
    #[inline(always)]
    pub(super) fn push_fork<B, R>(&self, fork: &Fork<P, B, R>, index: Index) -> bool {
        // SAFETY: the caller joins the fork before it goes.
        let task = unsafe { fork.task() };
        self.own().push_private(index, task, self.pool().port())
    }

    /// Makes room for the next fork after the one at `index`, or takes that one off again: false; publishes if thieves want it.
    pub(super) fn admit_fork(&self, index: Index) -> bool {
        let pushed = self.own().admit(index, self.pool().port());
        if pushed == Some(Pushed::Published) {
            // The fork is in the deque, and nothing guards its frame yet.
            no_unwind(|| self.offered());
        }
        pushed.is_some()
    }

    /// A pointer for those who know that the worker is there.
    pub(super) fn pointer(&self) -> NonNull<Self> {
        NonNull::from(self)
    }
}
