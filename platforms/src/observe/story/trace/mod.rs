//! The latest stretches and steals of a worker.

mod arrows;
mod events;
mod json;
#[cfg(feature = "serde")]
mod runs;

pub(crate) use events::write_placed;
pub use events::write_trace;
#[cfg(feature = "serde")]
pub(crate) use runs::{Crossing, Ran};

use super::Clock;
use std::collections::VecDeque;
use std::fmt;
use tautline_core::watch::{Observer, Passage, State};
use tautline_core::{PlaceId, WorkerId};

/// A stretch of time in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Span {
    pub(super) state: State,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// An event of a steal, as a worker reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum Steal {
    /// A task from the queues of this worker.
    Task((PlaceId, WorkerId)),
    /// One side of the passage of loot.
    Loot(Passage),
}

/// Keeps the latest stretches of one worker and counts those it had to drop.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Trace {
    pub(super) spans: VecDeque<Span>,
    /// The latest steals, each with its tick.
    pub(super) steals: VecDeque<(Steal, u64)>,
    most: usize,
    pub(super) dropped: u64,
    /// Not encoded: it refers to the text of the program.
    #[cfg(feature = "serde")]
    #[serde(skip)]
    runs: runs::Runs,
}

/// The rank of a trace among those whose traces are put together. Numbers of processes, threads and
/// steals are distinct among them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    /// The most by which the times may differ from those of rank 0, in nanoseconds; `None` if the
    /// clocks were not compared.
    pub(crate) clock_error: Option<u64>,
}

impl Placed {
    /// The only rank.
    pub(crate) const ALONE: Self = Self {
        rank: 0,
        ranks: 1,
        clock_error: Some(0),
    };

    fn pid(self, place: PlaceId) -> u64 {
        self.nth(place.index())
    }

    /// Returns the number of thing `index` of this rank, from 1.
    fn nth(self, index: usize) -> u64 {
        index as u64 * u64::from(self.ranks) + u64::from(self.rank) + 1
    }
}

impl Trace {
    /// All workers together keep about this many stretches: some 100 MB of trace.
    const TOTAL: usize = 1 << 20;

    /// Keeps the latest `most` stretches, at least one.
    ///
    /// ```
    /// use tautline::story::Trace;
    /// use tautline::watch::{Observer, State};
    ///
    /// let mut trace = Trace::new(2);
    /// for (at, state) in [State::Computing, State::Idle, State::Computing].into_iter().enumerate() {
    ///     trace.span(state, at as u64, at as u64 + 1);
    /// }
    /// assert_eq!((trace.len(), trace.dropped()), (2, 1));
    /// ```
    pub fn new(most: usize) -> Self {
        Self {
            spans: VecDeque::new(),
            steals: VecDeque::new(),
            most: most.max(1),
            dropped: 0,
            #[cfg(feature = "serde")]
            runs: runs::Runs::default(),
        }
    }

    /// One worker's share when this number is watched.
    ///
    /// ```
    /// use tautline::story::Trace;
    ///
    /// let traces = vec![Trace::for_workers(8); 8];
    /// assert!(traces.iter().all(Trace::is_empty));
    /// ```
    pub fn for_workers(workers: usize) -> Self {
        Self::new((Self::TOTAL / workers.max(1)).clamp(64, 1 << 16))
    }

    /// Returns the number of stretches kept.
    ///
    /// ```
    /// use tautline::story::Trace;
    /// use tautline::watch::{Observer, State};
    ///
    /// let mut trace = Trace::new(2);
    /// for (at, state) in [State::Computing, State::Idle, State::Computing].into_iter().enumerate() {
    ///     trace.span(state, at as u64, at as u64 + 1);
    /// }
    /// assert_eq!(trace.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether nothing was recorded.
    ///
    /// ```
    /// use tautline::story::Trace;
    /// use tautline::watch::{Observer, State};
    ///
    /// let mut trace = Trace::new(2);
    /// for (at, state) in [State::Computing, State::Idle, State::Computing].into_iter().enumerate() {
    ///     trace.span(state, at as u64, at as u64 + 1);
    /// }
    /// assert!(!trace.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns the number of stretches that later ones have displaced.
    ///
    /// ```
    /// use tautline::story::Trace;
    /// use tautline::watch::{Observer, State};
    ///
    /// let mut trace = Trace::new(2);
    /// for (at, state) in [State::Computing, State::Idle, State::Computing].into_iter().enumerate() {
    ///     trace.span(state, at as u64, at as u64 + 1);
    /// }
    /// assert_eq!(trace.dropped(), 1);
    /// ```
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Moves all of it in time.
    #[cfg(feature = "serde")]
    pub(crate) fn shift(&mut self, ticks: i64) {
        for span in &mut self.spans {
            span.from = span.from.saturating_add_signed(ticks);
            span.to = span.to.saturating_add_signed(ticks);
        }
        for (_, at) in &mut self.steals {
            *at = at.saturating_add_signed(ticks);
        }
        self.runs.shift(ticks);
    }

    /// Keeps a steal. Those that are dropped lie mostly before the stretches that are kept, and
    /// would not be drawn.
    fn keep(&mut self, steal: Steal, at: u64) {
        if self.steals.len() == self.most {
            self.steals.pop_front();
        }
        self.steals.push_back((steal, at));
    }
}

impl Observer for Trace {
    fn span(&mut self, state: State, from: u64, to: u64) {
        if from >= to {
            return;
        }
        if let Some(last) = self.spans.back_mut() {
            if last.state == state && last.to == from {
                last.to = to;
                return;
            }
        }
        if self.spans.len() == self.most {
            self.spans.pop_front();
            self.dropped += 1;
        }
        self.spans.push_back(Span { state, from, to });
    }

    fn loot(&mut self, passage: Passage, since: u64) {
        self.keep(Steal::Loot(passage), since);
    }

    fn stole(&mut self, from: (PlaceId, WorkerId), now: u64) {
        self.keep(Steal::Task(from), now);
    }
}

/// Whole nanoseconds from the beginning of the run to `tick`.
pub(super) fn nanoseconds(clock: Clock, tick: u64) -> u64 {
    (clock.seconds_at(tick) * 1e9).round() as u64
}

/// Nanoseconds, written as microseconds with three decimals.
pub(super) struct Micro(pub(super) u64);

impl fmt::Display for Micro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alternating(trace: &mut Trace, count: u64) {
        for turn in 0..count {
            let state = [State::Computing, State::Probing][(turn % 2) as usize];
            trace.span(state, 1_000 + turn * 10, 1_010 + turn * 10);
        }
    }

    #[test]
    fn the_ring_is_bounded_and_keeps_the_latest() {
        let mut trace = Trace::new(8);
        alternating(&mut trace, 20);
        assert_eq!((trace.len(), trace.dropped()), (8, 12));
        assert_eq!(trace.spans.back().unwrap().to, 1_200);
        assert_eq!(trace.spans.front().unwrap().from, 1_120);
    }

    #[test]
    fn stretches_that_continue_are_one() {
        let mut trace = Trace::new(8);
        trace.span(State::Idle, 0, 5);
        trace.span(State::Idle, 5, 5);
        trace.span(State::Idle, 5, 9);
        assert_eq!((trace.len(), trace.dropped()), (1, 0));
    }
}
