//! The time of a run by state: every worker's states over time, in bounded memory.
//!
//! A [`Recorder`] observes one worker; its data becomes a [picture](internal::Picture) of the whole
//! run (the life story of Saraswat 2011) and a [trace](internal::write_trace) of its last
//! stretches, which [`Written`] writes to files. A [plot](internal::Plot) shows the results of many
//! runs over a parameter. A disabled one costs a check of an `Option` at each change of state.
#![forbid(unsafe_code)]

mod life;
mod output;
mod picture;
mod plot;
mod trace;
mod written;

pub use life::Life;
pub use trace::Trace;
#[cfg(feature = "serde")]
pub(crate) use trace::{Crossing, Ran};
pub(crate) use trace::{Placed, write_placed};
pub use written::Written;

/// Pictures and traces apart from their files, for the command.
#[doc(hidden)]
pub mod internal {
    pub use super::output::Output;
    pub use super::picture::Picture;
    pub use super::plot::{Axis, Plot, Series};
    pub use super::trace::write_trace;
}

use tautline_core::glb::Run;
use tautline_core::watch::{Observer, Passage, State};
use tautline_core::{PlaceId, WorkerId};

/// Observes one worker.
///
/// ```
/// use tautline::balance::Balancer;
/// use tautline::story::{Clock, Life, Recorder};
///
/// let watch = |_place, _worker| Recorder { life: Some(Life::default()), trace: None };
/// let run = tautline::balancer().observed(watch).sum(0..1000u64, |n, _| n)?;
/// println!("{} workers for {} s", run.observers.len(), Clock::of(&run).seconds);
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Recorder {
    /// The whole run, coarsely.
    pub life: Option<Life>,
    /// The latest stretches, exactly.
    pub trace: Option<Trace>,
}

#[cfg(feature = "serde")]
impl Recorder {
    /// Moves all that was seen in time, as from the clock of one rank to that of another.
    pub(crate) fn shift(&mut self, ticks: i64) {
        if let Some(life) = &mut self.life {
            life.shift(ticks);
        }
        if let Some(trace) = &mut self.trace {
            trace.shift(ticks);
        }
    }
}

impl Observer for Recorder {
    #[inline]
    fn span(&mut self, state: State, from: u64, to: u64) {
        if let Some(life) = &mut self.life {
            life.span(state, from, to);
        }
        if let Some(trace) = &mut self.trace {
            trace.span(state, from, to);
        }
    }

    fn loot(&mut self, passage: Passage, since: u64) {
        if let Some(trace) = &mut self.trace {
            trace.loot(passage, since);
        }
    }

    fn stole(&mut self, from: (PlaceId, WorkerId), now: u64) {
        if let Some(trace) = &mut self.trace {
            trace.stole(from, now);
        }
    }
}

/// The clock that all workers of a run were watched by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// The tick at which the run began.
    pub began: u64,
    /// Ticks a second.
    pub ticks_per_second: f64,
    /// The duration of the run, in seconds.
    pub seconds: f64,
}

impl Clock {
    /// The clock of `run`.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use tautline::story::Clock;
    ///
    /// let run = tautline::balancer().sum(0..1000u64, |n, _| n)?;
    /// assert_eq!(Clock::of(&run).seconds, run.elapsed.as_secs_f64());
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn of<T, O>(run: &Run<T, O>) -> Self {
        Self {
            began: run.began,
            ticks_per_second: run.ticks_per_second,
            seconds: run.elapsed.as_secs_f64(),
        }
    }

    /// Seconds from the beginning of the run to `tick`.
    ///
    /// ```
    /// use tautline::story::Clock;
    ///
    /// let clock = Clock { began: 500, ticks_per_second: 1000.0, seconds: 1.0 };
    /// assert_eq!(clock.seconds_at(1000), 0.5);
    /// ```
    pub fn seconds_at(&self, tick: u64) -> f64 {
        tick.saturating_sub(self.began) as f64 / self.ticks_per_second
    }
}

/// A worker's name and its observations.
pub type Watched<T> = (PlaceId, WorkerId, T);
