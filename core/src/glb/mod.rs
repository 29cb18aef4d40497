//! Global load balancing: a program gives a [`Bag`], the runtime keeps everybody busy.
//!
//! | part | what it is |
//! |---|---|
//! | [`Bag`], [`Share`] | what a program implements, and how much is taken from it |
//! | [`Task`], [`Tasks`] | a ready bag for programs that have single tasks |
//! | [`Config`], [`Control`], [`Reason`] | what can be set before, and done during, a run |
//! | [`Protocol`] | one place to the others: a state machine, driven by threads, simulator and explorer |
//! | [`Team`], [`Worker`] | one place inside: what its workers share, and what each of them does, step by step |
//! | [`Run`], [`collect`] | what an ended computation leaves behind |
//! | [`Tally`], [`Times`], [`Meter`], [`Observer`] | what is counted, and where the time goes |
#![forbid(unsafe_code)]

mod bag;
mod config;
mod protocol;
mod run;
mod stats;
mod team;
mod worker;

pub use crate::finish::Reason;
pub use crate::watch::{Meter, Observer, State, Times};
pub use bag::{Bag, Share, Task, Tasks};
pub use config::{Config, Control, Fairness, Grain, Steal};
pub use protocol::{Actions, Message, Protocol};
pub use run::{Collected, PlaceRun, Run, collect};
pub use stats::{Loot, Steals, Tally};
pub use team::Team;
pub use worker::{Account, Pile, Step, Worker};
