//! Detection of a deadlock: no task of the pool can continue. Reports the events that they await.
//!
//! # Algorithm
//! A worker that parks in a wait does so for a limited time, if the port has one. Where that
//! elapses, the worker checks whether all workers rest. If they did twice, and no worker was
//! unparked in between, the waiting tasks are queried: suspended futures are woken, and polled once
//! more with a [`Probe`]; tasks that wait for cells, and holds, are members of their scope, with
//! the call that spawned or took them. Every worker that waits puts the question to the tasks of
//! its caller, which others may not access. If the workers rest again in two checks afterwards,
//! without an unpark in between, the port is given the result: a thread from outside that acts
//! in between is noticed. The port may request that the waits end: then every worker that waits
//! aborts the scope of its wait with a panic. A runtime without waits has no such checks, and one
//! that does not wait for long pays one load at a wait.
//!
//! No wait is ended because it seems endless: a cell may be put by a thread that the pool does not
//! know. Waits keep no register of themselves, so a wait costs no more.
//!
//! # Words
//! `asking`: the number of the running inquiry, else 0; `round`: the inquiries after which the
//! waits were ended. Both are written by the worker that inquires. `stage`, `answers`: under their
//! locks.
//!
//! # Not found
//! A task that blocks its thread, in a lock or in a blocking wait for a phase on every worker: it
//! counts as running.

use super::{Pool, TaskScope};
use crate::id::WorkerId;
use crate::port::Host;
use crate::sync::{AtomicUsize, Lock, Ordering, Probe};
use crate::watch::{Awaits, Stall, State};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;

/// The inquiries of a pool.
pub(in crate::task) struct Stalls {
    stage: Lock<Suspicion>,
    asking: AtomicUsize,
    answers: Lock<Answers>,
    round: AtomicUsize,
}

/// The answers of the waiting tasks.
#[derive(Default)]
struct Answers {
    /// The number of inquiries.
    inquiries: usize,
    /// The outermost scopes whose tasks were asked in the last one, as addresses.
    asked: Vec<usize>,
    /// The suspended tasks of other callers than that of the worker that inquires, which were
    /// woken.
    woken: usize,
    /// The tasks that answered.
    tasks: usize,
    /// Their answers, at most one for each call that waits, however often tasks are polled.
    stall: Stall,
    /// The report that was made when the waits were ended last.
    last: Stall,
}

/// The progress of a suspicion. Takes events, and returns what to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Suspicion {
    #[default]
    None,
    /// `by` has asked the waiting tasks.
    Asking { by: WorkerId },
    /// All workers rested again when `by` checked; the port's count of unparks then.
    Answered { by: WorkerId, unparks: u64 },
}

/// The action of a worker after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Nothing,
    Ask,
    StopAsking,
    Report,
}

impl Suspicion {
    /// The limit of a wait of `by` has elapsed. If all workers rest, `quiet` is the number of
    /// unparks; `before` is what it was in the last check of `by`.
    fn elapsed(&mut self, by: WorkerId, before: Option<u64>, quiet: Option<u64>) -> Act {
        let (next, act) = match (*self, quiet) {
            (Self::Asking { by: asks } | Self::Answered { by: asks, .. }, _) if asks != by => {
                return Act::Nothing;
            }
            (Self::Asking { .. }, Some(unparks)) => (Self::Answered { by, unparks }, Act::Nothing),
            (Self::Answered { unparks, .. }, Some(now)) if unparks == now => {
                (Self::None, Act::Report)
            }
            (Self::Asking { .. } | Self::Answered { .. }, _) => (Self::None, Act::StopAsking),
            (Self::None, Some(now)) if before == Some(now) => (Self::Asking { by }, Act::Ask),
            (Self::None, _) => (Self::None, Act::Nothing),
        };
        *self = next;
        act
    }

    /// The wait of `by` has ended.
    fn ended(&mut self, by: WorkerId) -> Act {
        match *self {
            Self::Asking { by: asks } | Self::Answered { by: asks, .. } if asks == by => {
                *self = Self::None;
                Act::StopAsking
            }
            _ => Act::Nothing,
        }
    }
}

impl Stalls {
    pub(super) fn new() -> Self {
        Self {
            stage: Lock::new(Suspicion::None),
            asking: AtomicUsize::new(0),
            answers: Lock::new(Answers::default()),
            round: AtomicUsize::new(0),
        }
    }

    /// Returns the number of the running inquiry, else 0. The models have ports without a limit.
    #[inline]
    pub(in crate::task) fn asking(&self) -> usize {
        if cfg!(any(tautline_loom, tautline_shuttle)) {
            return 0;
        }
        // ORDERING: Relaxed: a task that misses it reads it in its next poll, after the wake-up
        // that follows.
        self.asking.load(Ordering::Relaxed)
    }

    /// Returns a number that changes when all waits are to end.
    #[inline]
    pub(in crate::task) fn round(&self) -> usize {
        if cfg!(any(tautline_loom, tautline_shuttle)) {
            return 0;
        }
        // ORDERING: Relaxed: what was found is under a lock; the permits that follow publish the
        // number.
        self.round.load(Ordering::Relaxed)
    }
}

impl<P: Host> Pool<P> {
    /// Returns whether no worker runs a task or searches for one.
    fn rests(&self) -> bool {
        let rests = |state| matches!(state, None | Some(State::Idle | State::Waiting));
        self.workers.iter().all(|w| rests(w.doing().state))
    }

    /// Continues an inquiry: the limit of a wait of worker `by`, which is the caller, for `scope`
    /// has elapsed.
    #[cold]
    pub(in crate::task) fn suspect(&self, by: WorkerId, scope: &TaskScope<P>) {
        let quiet = self.rests().then(|| self.port.unparks());
        let before = self.workers[by.index()].quiet.replace(quiet);
        let act = self
            .stalls
            .stage
            .lock(&self.port)
            .elapsed(by, before, quiet);
        self.act(act, Some(scope));
    }

    /// Ends the inquiry of worker `by`, if one of it is running.
    #[cold]
    pub(in crate::task) fn wait_ended(&self, by: WorkerId) {
        let act = self.stalls.stage.lock(&self.port).ended(by);
        self.act(act, None);
    }

    fn act(&self, act: Act, scope: Option<&TaskScope<P>>) {
        match (act, scope) {
            (Act::Ask, Some(scope)) => self.ask(scope),
            (Act::Report, Some(scope)) => {
                let stall = self.answered(scope);
                if self.port.stalled(&stall) {
                    self.stalls.answers.lock(&self.port).last = stall;
                    // ORDERING: Relaxed: published by the permits.
                    self.stalls.round.fetch_add(1, Ordering::Relaxed);
                    self.unpark_all();
                }
            }
            (Act::StopAsking, _) => _ = self.stop_asking(),
            _ => {}
        }
    }

    /// Asks the tasks of all callers of the pool; those of the caller of `scope` at once.
    fn ask(&self, scope: &TaskScope<P>) {
        let inquiries = {
            let mut answers = self.stalls.answers.lock(&self.port);
            let last = core::mem::take(&mut answers.last);
            *answers = Answers {
                inquiries: answers.inquiries + 1,
                asked: Vec::from([scope.root_address()]),
                last,
                ..Answers::default()
            };
            answers.inquiries
        };
        // ORDERING: Relaxed: the wake-ups publish the number.
        self.stalls.asking.store(inquiries, Ordering::Relaxed);
        scope.wake_suspended();
        // Blocking waits for a future, and the waits of other callers.
        self.unpark_all();
    }

    /// Asks the tasks of `scope`, and of all scopes around it, for another worker, unless they were
    /// asked before.
    #[cold]
    pub(in crate::task) fn pass_question(&self, scope: &TaskScope<P>) {
        let root = scope.root_address();
        let (woken, waits) = scope.waits();
        {
            let mut answers = self.stalls.answers.lock(&self.port);
            if answers.asked.contains(&root) {
                return;
            }
            answers.asked.push(root);
            answers.woken += woken;
            for (on, site) in waits {
                answers.stall.add(on, Some(site));
            }
        }
        scope.wake_suspended();
    }

    fn unpark_all(&self) {
        for worker in &self.workers {
            self.port.unpark(worker.id());
        }
    }

    /// Returns the answers of the tasks, and the number of tasks of other callers that have not
    /// answered, less those that have answered of the worker's own.
    fn stop_asking(&self) -> (Stall, isize) {
        // ORDERING: Relaxed: a task that answers later adds to the answers, which the next inquiry
        // discards.
        self.stalls.asking.store(0, Ordering::Relaxed);
        let mut answers = self.stalls.answers.lock(&self.port);
        let missing = answers.woken as isize - answers.tasks as isize;
        (core::mem::take(&mut answers.stall), missing)
    }

    /// Polls a future that is pending, by `poll`, so that it states what it waits for; `waker` is
    /// that of its task. Returns what `poll` does.
    #[cold]
    pub(in crate::task) fn probe<R>(&self, waker: &Waker, poll: impl FnOnce(&Waker) -> R) -> R {
        let probe = Probe::new(waker);
        let polled = poll(&probe.waker());
        let mut notes = Arc::clone(&probe).take();
        if notes.is_empty() {
            notes.push((Stall::FUTURE, None));
        }
        let mut answers = self.stalls.answers.lock(&self.port);
        answers.tasks += 1;
        for (on, site) in notes {
            answers.stall.add(on, site);
        }
        polled
    }

    /// Collects the events that the tasks of all callers await; `scope` is one of the worker that
    /// inquires.
    fn answered(&self, scope: &TaskScope<P>) -> Stall {
        let (suspended, waits) = scope.waits();
        let (mut stall, missing) = self.stop_asking();
        for (on, site) in waits {
            stall.add(on, Some(site));
        }
        // Those that no worker could poll.
        for _ in 0..suspended as isize + missing {
            stall.add(Stall::FUTURE, None);
        }
        let is_blocked = |awaits| awaits == Awaits::Phase;
        let blocked = self.workers.iter().filter_map(|w| w.doing().awaits);
        for _ in blocked.filter(|awaits| is_blocked(*awaits)) {
            stall.add(Stall::PHASE, None);
        }
        if stall.waits.is_empty() {
            for awaits in self.workers.iter().filter_map(|w| w.doing().awaits) {
                stall.add(awaits.name(), None);
            }
        }
        stall
    }

    /// Returns the panic that ends a wait, after [`Stalls::round`] has changed.
    #[cold]
    pub(in crate::task) fn stalled_payload(&self) -> P::Payload {
        let stall = self.stalls.answers.lock(&self.port).last.clone();
        match self.port.catch(|| panic!("{stall}")) {
            Err(payload) => payload,
            Ok(()) => unreachable!("it has panicked"),
        }
    }
}

#[cfg(all(test, not(any(tautline_loom, tautline_shuttle))))]
mod tests {
    use super::*;

    const A: WorkerId = WorkerId(0);
    const B: WorkerId = WorkerId(1);

    /// Two quiet checks of one worker without an unpark in between lead to the question, two more
    /// to the report.
    #[test]
    fn a_report_takes_four_quiet_checks_of_one_worker() {
        let mut suspicion = Suspicion::default();
        let mut before = [None; 2];
        let events = [
            (A, None, Act::Nothing),
            (A, Some(5), Act::Nothing),
            // Another worker's check is no second one, and does not hinder this one's.
            (B, Some(5), Act::Nothing),
            (A, Some(6), Act::Nothing),
            (A, Some(6), Act::Ask),
            (B, None, Act::Nothing),
            (A, None, Act::StopAsking),
            (A, Some(6), Act::Nothing),
            (A, Some(6), Act::Ask),
            (B, Some(9), Act::Nothing),
            (A, Some(9), Act::Nothing),
            // A thread from outside has acted after the answers.
            (A, Some(10), Act::StopAsking),
            (A, Some(10), Act::Ask),
            (A, Some(12), Act::Nothing),
            (B, Some(12), Act::Nothing),
            (A, Some(12), Act::Report),
            (B, Some(12), Act::Ask),
        ];
        for (step, (by, quiet, act)) in events.into_iter().enumerate() {
            let before = core::mem::replace(&mut before[by.index()], quiet);
            assert_eq!(suspicion.elapsed(by, before, quiet), act, "event {step}");
        }
    }

    /// A worker whose wait ends takes its question back.
    #[test]
    fn the_end_of_a_wait_ends_its_inquiry() {
        let mut suspicion = Suspicion::Asking { by: A };
        assert_eq!(suspicion.ended(B), Act::Nothing);
        assert_eq!(suspicion.ended(A), Act::StopAsking);
        assert_eq!(suspicion, Suspicion::None);
    }
}
