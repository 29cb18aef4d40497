//! Waiting for a fork or a scope by running other tasks.

use super::Worker;
use super::queues::{Queue, Queues};
use crate::deque::split::{Index, Pushed};
use crate::port::Host;
use crate::task::job::{Header, Task};
use crate::task::pool::TaskScope;
use crate::task::wait::{Awaited, Awaits, Wait, no_unwind};
use crate::watch::State;

/// Spin iterations of a wait before it counts as a search.
const SPINS: u32 = if cfg!(tautline_loom) { 0 } else { 32 };

/// The tasks that a waiting worker may run: all, or, if the `scope` of the waiting task restricts
/// it, only tasks inside that scope and own ones from `base` on.
pub(in crate::task) struct Help<'x, P: Host> {
    scope: &'x TaskScope<P>,
    base: Index,
}

impl<'x, P: Host> Help<'x, P> {
    /// Returns the tasks that a task of `scope` may run while it waits for those pushed from `base`
    /// on.
    pub(crate) fn of(scope: &'x TaskScope<P>, base: Index) -> Self {
        Self { scope, base }
    }

    /// Returns whether only tasks inside the scope may run.
    fn is_restricted(&self) -> bool {
        self.scope.wait != Wait::Help
    }
}

impl<P: Host> Worker<P> {
    /// Waits for an event, and runs tasks until then.
    pub(in crate::task) fn wait(&self, awaited: &impl Awaited, help: Help<'_, P>) {
        let wait = || self.awaiting(awaited.awaits(), || self.wait_for(awaited, &help));
        no_unwind(|| self.in_wait(help.scope, wait));
        // A blocking wait for a future ends for each question, too, and reports its end itself.
        if awaited.awaits() != Awaits::Future && self.pool().stalls.asking() != 0 {
            self.pool().wait_ended(self.id);
        }
    }

    fn wait_for(&self, awaited: &impl Awaited, help: &Help<'_, P>) {
        self.offer_next();
        let is_restricted = help.is_restricted();
        if !is_restricted && self.may_help() {
            return self.help_all(awaited);
        }
        // Deep in the stack, own tasks first: other tasks could wait in turn, and help again.
        while !awaited.is_done() && self.help_own(help) {}
        let mut help_all = || self.help_all(awaited);
        let may_extend = !is_restricted && self.stack.may_extend();
        if !may_extend || !self.stack.extend(self.pool().port(), &mut help_all) {
            self.wait_without_helping(awaited, help);
        }
    }

    /// Returns whether any task may be run in a wait: there is stack for it, or no other worker.
    fn may_help(&self) -> bool {
        self.stack.has_room() || self.pool().has_one_worker()
    }

    /// Runs one task that a wait may run, if there is one.
    pub(in crate::task) fn help_once(&self, help: &Help<'_, P>) {
        if help.is_restricted() || !self.may_help() {
            self.help_own(help);
        } else if let Some((task, from)) = self.find() {
            task.run(self, from);
        }
    }

    fn help_all(&self, awaited: &impl Awaited) {
        let done = || awaited.is_done();
        while !awaited.is_done() {
            let found = self.find();
            if found.is_none() && self.spin(awaited) {
                return;
            }
            match found.or_else(|| self.search(&done, &|| awaited.sleep())) {
                Some((task, from)) => task.run(self, from),
                None => return,
            }
        }
    }

    /// Spins for a while, and returns whether the event has happened. The fork that was stolen last
    /// mostly ends soon, so it does not pay to count this worker as a searcher first. Other work of
    /// the port, such as receiving, may be what the event waits for, or give this worker a task.
    fn spin(&self, awaited: &impl Awaited) -> bool {
        let port = self.pool().port();
        for turn in 0..SPINS {
            if port.idle(self.id) {
                return awaited.is_done();
            }
            port.relax(turn);
            if awaited.is_done() {
                return true;
            }
        }
        false
    }

    /// Runs the newest own task if it is above `base` and inside `scope`, and injects one that is
    /// not inside; else runs a task inside `scope` from the overflow or the pool's queue. Returns
    /// whether it ran one.
    pub(in crate::task) fn help_own(&self, help: &Help<'_, P>) -> bool {
        self.help_newest(help) || self.help_queued(help.scope)
    }

    /// Runs a task inside `scope` that is not in the deque. Returns whether it ran one.
    pub(in crate::task) fn help_queued(&self, scope: &TaskScope<P>) -> bool {
        match Queues::take_inside(self, scope) {
            Some(task) => task.run(self, self.id),
            None => return false,
        }
        true
    }

    /// Runs the newest own task if it is above `base`, or injects it if the wait must not run it.
    /// Returns false if there is none. A future that yields is not there: other tasks come first.
    pub(in crate::task) fn help_newest(&self, help: &Help<'_, P>) -> bool {
        let above = self.own().reaches(help.base);
        let Some(task) = above.then(|| self.pop()).flatten() else {
            return false;
        };
        self.run_if_inside(task, help);
        true
    }

    /// Runs an own task, or injects it if the wait must not run it.
    fn run_if_inside(&self, task: Task<P>, help: &Help<'_, P>) {
        if !help.is_restricted() || task.scope().is_inside(help.scope) {
            task.run(self, self.id);
        } else {
            self.pool().inject(task);
        }
    }

    /// Waits without helping, except with tasks of the waiting scope that are injected or bound to
    /// a domain: it may be that no other worker can run them.
    fn wait_without_helping(&self, awaited: &dyn Awaited, help: &Help<'_, P>) {
        let port = self.pool().port();
        // Nothing pops from this deque for a while.
        if self.own().publish() == Pushed::Published {
            self.notify_offer();
        }
        let patience = if help.scope.wait == Wait::Park {
            0
        } else {
            port.patience(self.id)
        };
        self.rest();
        let (start, mut turn) = (port.now(), 0);
        while !awaited.is_done() && port.now().wrapping_sub(start) < patience {
            port.relax(turn);
            turn += 1;
        }
        if awaited.sleep() {
            self.stand_by(
                || awaited.is_done(),
                Some(help.scope),
                || while !awaited.is_done() && self.help_own(help) {},
            );
        }
        self.enter(State::Computing);
    }

    /// Reclaims the fork `word`, which was pushed at `index`, and returns true; or, if another
    /// worker runs it, waits until it is done.
    pub(in crate::task) fn reclaim(
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
}
