//! Barrier lines under one lock, right or with a fault.

use super::Broken;
use crate::{Threads, blocks, meets};
use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;
use tautline_core::port::{Barrier, Line, Relax};

/// A fault of [`Lines`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A line completes for each third thread that polls it.
    Early,
    /// A line does not notice that a thread is excluded.
    LeaveIgnored,
    /// A claimed line can be claimed again.
    ClaimedTwice,
    /// A line that was given back cannot be claimed again.
    KeptForEver,
    /// From its tenth phase on, a thread does not wait for others.
    ForgetsPhases,
    /// A thread is blocked for a millisecond at most.
    Impatient,
    /// A blocked thread does not notice that the line completes since another one is excluded.
    LeaveUnnoticed,
    /// A completion between the arrival of a thread and its block is missed.
    LostWakeUp,
    /// A line does not wait for a thread that is included again.
    NotIncludedAgain,
}

/// Two barrier lines in memory, that can be polled and that block.
#[derive(Debug)]
pub struct Lines {
    fault: Option<Fault>,
    lines: [(Mutex<State>, Condvar); 2],
}

#[derive(Debug, Default)]
struct State {
    is_claimed: bool,
    /// Completions so far.
    completed: usize,
    included: HashMap<ThreadId, Member>,
    /// Threads that were excluded.
    former: Vec<ThreadId>,
    polls: usize,
}

/// An included thread.
#[derive(Debug, Default)]
struct Member {
    has_arrived: bool,
    /// The completions that its last arrival waits for.
    waits_for: usize,
    arrivals: usize,
    /// Whether the line does not wait for it.
    is_ignored: bool,
}

impl State {
    fn complete_if_all_arrived(&mut self) {
        let is_here = |m: &Member| m.has_arrived || m.is_ignored;
        if !self.included.is_empty() && self.included.values().all(is_here) {
            self.completed += 1;
            self.included
                .values_mut()
                .for_each(|m| m.has_arrived = false);
        }
    }

    /// Returns the state of the calling thread.
    fn mine(&mut self) -> &mut Member {
        let mine = self.included.get_mut(&thread::current().id());
        mine.expect("the thread is included")
    }
}

impl Lines {
    /// Creates the lines; without a fault, they conform.
    pub fn new(fault: Option<Fault>) -> Self {
        Self {
            fault,
            lines: Default::default(),
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn state(&self, line: Line) -> MutexGuard<'_, State> {
        let state = self.lines[usize::from(line.0)].0.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relax for Lines {
    fn relax(&self, _: u32) {
        thread::yield_now();
    }
}

impl Barrier for Lines {
    fn lines(&self) -> usize {
        self.lines.len()
    }

    fn claim(&self) -> Option<Line> {
        let all = (0..self.lines.len()).map(|line| Line(line as u8));
        let mut all = all.filter(|line| {
            let was_claimed = std::mem::replace(&mut self.state(*line).is_claimed, true);
            !was_claimed || self.has(Fault::ClaimedTwice)
        });
        all.next()
    }

    fn give_back(&self, line: Line) {
        let mut state = self.state(line);
        assert!(state.included.is_empty(), "a thread is still included");
        state.is_claimed = self.has(Fault::KeptForEver);
    }

    fn include(&self, line: Line) {
        let me = thread::current().id();
        let mut state = self.state(line);
        let is_ignored = self.has(Fault::NotIncludedAgain) && state.former.contains(&me);
        let member = Member {
            is_ignored,
            ..Member::default()
        };
        let before = state.included.insert(me, member);
        assert!(before.is_none(), "a thread includes itself once");
    }

    fn exclude(&self, line: Line) {
        if self.has(Fault::LeaveIgnored) {
            return;
        }
        let me = thread::current().id();
        let mut state = self.state(line);
        state.former.push(me);
        let mine = state.included.remove(&me);
        let has_arrived = mine.expect("the thread is included").has_arrived;
        assert!(!has_arrived, "a thread that has arrived is not excluded");
        state.complete_if_all_arrived();
        if !self.has(Fault::LeaveUnnoticed) {
            self.lines[usize::from(line.0)].1.notify_all();
        }
    }

    fn arrive(&self, line: Line) {
        let mut state = self.state(line);
        let waits_for = state.completed + 1;
        let mine = state.mine();
        assert!(!mine.has_arrived, "a thread arrives once");
        (mine.has_arrived, mine.waits_for) = (true, waits_for);
        mine.arrivals += 1;
        state.complete_if_all_arrived();
        self.lines[usize::from(line.0)].1.notify_all();
    }

    fn is_done(&self, line: Line) -> bool {
        let mut state = self.state(line);
        state.polls += 1;
        let (polls, completed) = (state.polls, state.completed);
        let mine = state.mine();
        let is_early = match self.fault {
            Some(Fault::Early) => polls % 3 == 0,
            Some(Fault::ForgetsPhases) => mine.arrivals > 10,
            _ => false,
        };
        is_early || completed >= mine.waits_for
    }

    fn meet(&self, line: Line) {
        self.arrive(line);
        let me = thread::current().id();
        let waits = |state: &mut State| state.completed < state.included[&me].waits_for;
        let changed = &self.lines[usize::from(line.0)].1;
        match self.fault {
            Some(Fault::Early | Fault::ForgetsPhases) if self.is_done(line) => {}
            Some(Fault::Impatient) => {
                let limit = Duration::from_millis(1);
                drop(changed.wait_timeout_while(self.state(line), limit, waits));
            }
            Some(Fault::LostWakeUp) => {
                thread::yield_now();
                // Until the next notification.
                drop(changed.wait(self.state(line)));
            }
            _ => drop(changed.wait_while(self.state(line), waits)),
        }
    }
}

pub(super) fn broken() -> Vec<Broken> {
    use Fault::*;
    let polled = [
        Early,
        LeaveIgnored,
        ClaimedTwice,
        KeptForEver,
        ForgetsPhases,
    ];
    let polled = polled.map(|fault| {
        let judge = move || meets(&Threads, Lines::new(Some(fault)), 3, |_, body| body());
        Broken::new(("Barrier", "meets"), fault, judge)
    });
    let blocking = [
        Early,
        LeaveIgnored,
        ForgetsPhases,
        Impatient,
        LeaveUnnoticed,
        LostWakeUp,
        NotIncludedAgain,
    ];
    let blocking = blocking.map(|fault| {
        let judge = move || blocks(&Threads, Lines::new(Some(fault)), 3, |_, body| body());
        Broken::new(("Barrier", "blocks"), fault, judge)
    });
    polled.into_iter().chain(blocking).collect()
}
