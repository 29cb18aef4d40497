//! Observation: the states of workers, their durations, and the events that workers await.
//!
//! | part | what it is |
//! |---|---|
//! | [`State`], [`Times`] | what a worker does, and the ticks that it spent on that |
//! | [`Observer`] | receives the intervals that a worker spent in each state, its loot and its steals |
//! | [`Passage`] | loot between places, as one side observes it |
//! | [`Meter`], [`Accounts`] | measure the intervals of one worker, and of all workers of a pool |
//! | [`Activity`], [`Doing`] | the latest state of a worker, for any thread to read |
//! | [`Stall`], [`Waits`], [`Outstanding`] | what tasks wait for while nothing runs |
//!
//! The same states serve the workers of a balanced computation ([`glb`](crate::glb)) and those of a
//! pool of tasks ([`task`](crate::task)), which report their changes to their port, as [`Watch`].
//! A worker reports nothing between two tasks, forks or joins
//! of its own: only where it has found no task, or before it parks.
//!
//! A steal reports the victim after the change of state. Loot is reported before it is sent and
//! after it has left the inbox ([`Passage`]); pairs are found afterwards, since at most one answer
//! and one gift along a lifeline are in flight from a place to another. Suspended tasks occupy no
//! worker: they are counted only if anything is observed, since counting them always would take
//! some hundred instructions for each wait of a task. Decision 30 in `docs/decisions` has the
//! alternatives.
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
mod accounts;
mod activity;
mod meter;
mod passage;
mod port;
#[cfg(feature = "alloc")]
mod stall;
mod state;

#[cfg(feature = "alloc")]
pub use accounts::Accounts;
pub use activity::{Activity, Awaits, Doing};
pub use meter::{Meter, Observer};
pub use passage::Passage;
pub use port::Watch;
#[cfg(feature = "alloc")]
pub use stall::{Outstanding, Site, Stall, Waits};
pub use state::{State, Times};
