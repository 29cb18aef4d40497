//! Searching for work, and parking when nothing is found.

use super::Worker;
use super::queues::{Queue, Queues, announce_then_look};
use crate::id::WorkerId;
use crate::port::Host;
use crate::sync::Ordering;
use crate::task::job::Task;
use crate::task::pool::TaskScope;
use crate::watch::State;

/// Searches between two readings of the clock.
const SEARCHES_PER_CLOCK: u32 = 16;

/// The fraction of its patience after which a searching worker first fences the others to publish
/// their private tasks.
const RAID_PART: u64 = 8;

impl<P: Host> Worker<P> {
    /// Runs tasks until the pool is closed.
    pub(in crate::task) fn attend(&self) {
        let pool = self.pool();
        let done = || pool.is_closed() || !pool.wants(self.id);
        while !pool.is_closed() {
            while let Some((task, from)) = self.search(&done, &|| true) {
                task.run(self, from);
            }
            // While the pool wants fewer workers, only bound tasks are run: other workers may be
            // unable to.
            let on_duty = || pool.is_closed() || pool.wants(self.id);
            self.stand_by(on_duty, None, || self.inject_all());
            self.enter(State::Computing);
        }
    }

    /// Searches for a task until it finds one or `done` returns true; then returns `None`. Calls
    /// `sleep` before the worker parks, which must ensure that the worker is unparked once it is
    /// `done`; false if it is too late for that.
    pub(super) fn search(
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
        self.enter(State::Stealing);
        let mut elapsed = false;
        let found = 'search: loop {
            let begin = port.now();
            // The last time that the port had something to do.
            let mut start = begin;
            let patience = port.patience(self.id);
            let mut raid_at = patience / RAID_PART;
            for turn in 0.. {
                if done() {
                    break 'search None;
                }
                if let Some(found) = self.find() {
                    break 'search Some(found);
                }
                let has_moved = port.idle(self.id);
                // If it continued to search, it would appear busy to workers whose limits elapse at
                // the same time.
                if elapsed && !has_moved {
                    break;
                }
                let is_turn = turn % SEARCHES_PER_CLOCK == SEARCHES_PER_CLOCK - 1;
                if has_moved || is_turn || cfg!(tautline_loom) {
                    let now = port.now();
                    if has_moved {
                        start = now;
                    } else if now.wrapping_sub(start) >= patience {
                        break;
                    }
                    // The owners of private tasks have not answered the requests: they run long
                    // leaves.
                    let waited = now.wrapping_sub(begin);
                    if waited >= raid_at && self.sees_private() {
                        raid_at = waited + patience;
                        _ = self.raid(pool.workers(), false);
                    }
                }
                if !has_moved {
                    port.relax(turn);
                }
            }
            elapsed = sleep() && self.sleep(done);
        };
        if idle.found() {
            pool.wake(self.id);
        }
        self.enter(State::Computing);
        found.inspect(|&(_, from)| self.stole(from))
    }

    /// Parks until another thread offers work or makes it `done`, or until the limit of a wait
    /// elapses: then returns true.
    fn sleep(&self, done: &impl Fn() -> bool) -> bool {
        self.rest();
        let elapsed = self.doze(done);
        self.check_wait(elapsed);
        if !elapsed {
            self.enter(State::Stealing);
        }
        elapsed
    }

    fn doze(&self, done: &impl Fn() -> bool) -> bool {
        let pool = self.pool();
        let announce = || {
            pool.idle.announce_sleep(self.id);
            !done()
        };
        let is_empty = || !self.raid(pool.workers(), true) && Queues::is_settled_empty(self);
        let stay = announce_then_look(announce, is_empty);
        let mut elapsed = false;
        while pool.idle.is_asleep(self.id) {
            // Unless another thread has claimed this worker, it claims itself and becomes a
            // searcher again. Otherwise that thread wakes it.
            let rises = elapsed || !stay || done() || self.is_to_end() || self.is_asked();
            if rises && pool.idle.claim(self.id) {
                // The announced task may not be in its queue yet.
                pool.port().relax(0);
                break;
            }
            elapsed |= self.park();
        }
        elapsed
    }

    /// Parks until `done`. Whenever a queue has a task for which the worker leaves standby, runs
    /// it, and calls `then`.
    pub(super) fn stand_by(
        &self,
        done: impl Fn() -> bool,
        wait: Option<&TaskScope<P>>,
        then: impl Fn(),
    ) {
        let port = self.pool().port();
        while !done() {
            let announce = || {
                // ORDERING: Relaxed: released by the poll that follows, towards threads that bind
                // or inject a task after it (`affinity.Y2`, `idle.Q2`).
                self.standby.store(true, Ordering::Relaxed);
                true
            };
            let mut elapsed = false;
            if announce_then_look(announce, || Queues::is_settled_uncalled(self, wait)) {
                self.rest();
                elapsed = self.park();
            }
            // ORDERING: Relaxed: a thread that sees it late causes a spurious wake-up.
            self.standby.store(false, Ordering::Relaxed);
            match Queues::take_called(self, wait) {
                Some(task) => {
                    self.enter(State::Computing);
                    task.run(self, self.id);
                    // It may have left tasks in this worker's queues.
                    then();
                }
                None if elapsed || self.is_to_end() || self.is_asked() => {
                    self.check_wait(elapsed);
                    // Futures that were woken are in this worker's queues.
                    then();
                }
                None => port.relax(u32::MAX),
            }
        }
    }

    /// Returns whether the worker is on standby.
    pub(in crate::task) fn is_on_standby(&self) -> bool {
        // ORDERING: Relaxed: the count of the domain, or the queue, was changed before
        // (`affinity.Y2`, `idle.Q2`).
        self.standby.load(Ordering::Relaxed)
    }
}
