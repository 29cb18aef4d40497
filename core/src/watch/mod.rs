//! Observation: what a worker does, for how long, and what it waits for.
//!
//! | part | what it is |
//! |---|---|
//! | [`State`], [`Times`] | what a worker does, and the ticks that it spent on that |
//! | [`Observer`] | receives the intervals that a worker spent in each state, its loot and its steals |
//! | [`Passage`] | loot between places, as one side observes it |
//! | [`Meter`], [`Accounts`] | measure the intervals of one worker, and of all workers of a pool |
//! | [`Activity`], [`Doing`] | the latest state of a worker, for any thread to read |
//! | [`Stall`], [`Waits`] | what tasks wait for while nothing runs |
//!
//! The same states serve the workers of a balanced computation ([`glb`](crate::glb)) and those of a
//! pool of tasks ([`task`](crate::task)), which report their changes to their port, as [`Watch`].
//! A worker reports nothing between two tasks, forks or joins
//! of its own: only where it has found no task, or before it parks.
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
pub use stall::{Site, Stall, Waits};
pub use state::{State, Times};
