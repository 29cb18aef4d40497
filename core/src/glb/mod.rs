//! Global load balancing: a program provides a [`Bag`], and the runtime distributes its tasks among
//! all workers.
//!
//! | part | what it is |
//! |---|---|
//! | [`Bag`], [`Share`] | the work of a program, and the amount taken from it |
//! | [`laws`] | what the balancer relies on, and a check of it for tests |
//! | [`Task`], [`Tasks`], [`IntoBag`] | a predefined bag for programs that have single tasks |
//! | [`Sum`] | a predefined bag whose tasks are done by one function |
//! | [`Config`], [`Control`], [`Reason`] | parameters, control of a run, and reasons for its early end |
//! | [`Protocol`] | one place among others: a state machine, driven by threads, simulator and explorer |
//! | [`Team`], [`Worker`] | inside one place: the state that its workers share, and each worker, step by step |
//! | [`Run`], [`collect`] | the outcome of a computation |
//! | [`Tally`], [`Times`], [`Meter`], [`Observer`] | statistics, and the times of the workers |
#![forbid(unsafe_code)]

mod bag;
mod config;
pub mod laws;
mod protocol;
mod run;
mod stats;
mod team;
mod worker;

pub use crate::finish::Reason;
pub use crate::watch::{Meter, Observer, State, Times};
pub use bag::{Bag, IntoBag, Share, Sum, Task, Tasks};
pub use config::{Config, Control, Fairness, Grain, Steal};
pub use protocol::{Effect, Event, Message, Protocol, Refusal};
pub use run::{Collected, Gathered, PlaceRun, Run, WorkerRun, collect, gather};
pub use stats::{Loot, Steals, Tally};
#[cfg(feature = "wire")]
pub(crate) use team::Lender;
pub use team::Team;
pub use worker::{Account, Pile, Step, Worker};
