//! Global load balancing: a program gives a [`Bag`], the runtime keeps everybody busy.
#![forbid(unsafe_code)]

mod bag;
mod config;
mod control;
mod protocol;
mod stats;
mod team;
mod worker;

pub use bag::{Bag, Share};
pub use config::{Config, Fairness, Steal};
pub use control::Control;
pub use protocol::{Actions, Message, Protocol};
pub use stats::{Loot, Meter, Observer, State, Steals, Tally, Times};
pub use team::Team;
pub use worker::{Account, Worker};
