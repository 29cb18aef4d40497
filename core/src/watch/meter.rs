//! Observers, and the account of one worker's time.

use super::passage::Passage;
use super::state::{State, Times};
use crate::id::{PlaceId, WorkerId};

/// Receives the intervals of time that a worker spends in each state.
pub trait Observer: Send {
    /// The worker was in `state` from tick `from` to tick `to`. Intervals come in order, without
    /// gaps while its thread is a worker.
    fn span(&mut self, state: State, from: u64, to: u64);

    /// The worker is in `state` from tick `now` on.
    #[inline(always)]
    fn begin(&mut self, _state: State, _now: u64) {}

    /// At tick `now` the worker changed the grain of its place.
    fn grain(&mut self, _tasks: usize, _now: u64) {}

    /// The worker sends or receives loot, in the state that it is in since tick `since`. Called
    /// under the lock of its place: must not block.
    fn loot(&mut self, _passage: Passage, _since: u64) {}

    /// At tick `now` a search of the worker ended with a task of that other worker.
    fn stole(&mut self, _from: (PlaceId, WorkerId), _now: u64) {}
}

/// Ignores everything, at no cost.
impl Observer for () {
    #[inline(always)]
    fn span(&mut self, _: State, _: u64, _: u64) {}
}

/// Adds up a worker's time by state. The clock is read only when the state changes.
#[derive(Debug)]
pub struct Meter<O> {
    state: State,
    since: u64,
    times: Times,
    observer: O,
}

impl<O: Observer> Meter<O> {
    /// Begins the account of a worker that is in `state` from tick `now` on.
    pub fn new(state: State, now: u64, observer: O) -> Self {
        Self {
            state,
            since: now,
            times: Times::default(),
            observer,
        }
    }

    /// Returns the worker's state.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Records that the worker is in `state` from tick `now` on.
    pub fn enter(&mut self, state: State, now: u64) {
        // A clock may differ a little between processors.
        let now = now.max(self.since);
        self.times.add(self.state, now - self.since);
        self.observer.span(self.state, self.since, now);
        self.observer.begin(state, now);
        self.state = state;
        self.since = now;
    }

    /// Returns the time in each state until tick `now`.
    pub fn times(&self, now: u64) -> Times {
        let mut times = self.times;
        times.add(self.state, now.saturating_sub(self.since));
        times
    }

    /// Records that the worker changed the grain of its place at tick `now`.
    pub fn grain(&mut self, tasks: usize, now: u64) {
        self.observer.grain(tasks, now);
    }

    /// Records that the worker sends or receives loot.
    pub fn loot(&mut self, passage: Passage) {
        self.observe(|observer, since| observer.loot(passage, since));
    }

    /// Calls `event` with the observer and the tick since which the worker is in its state.
    pub(super) fn observe(&mut self, event: impl FnOnce(&mut O, u64)) {
        event(&mut self.observer, self.since);
    }

    /// Ends the account at tick `now`.
    pub fn finish(mut self, now: u64) -> (Times, O) {
        self.enter(self.state, now);
        (self.times, self.observer)
    }
}
