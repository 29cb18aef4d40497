//! Balanced computations: give a [`Balancer`] tasks or a [`Bag`], and call [`sum`](Balancer::sum)
//! or [`run`](Balancer::run).
//!
//! | a computation | is created by | and ends with |
//! |---|---|---|
//! | on a runtime | [`Runtime::balancer`](crate::Runtime::balancer), or [`balancer`](crate::balancer()) on the global one | [`Balancer::run`], [`Balancer::sum`], [`Balancer::run_with`] |
//! | in a task | [`Cx::balancer`](tautline_core::task::Cx::balancer) | the same |
//! | over ranks | [`Balancer::across`] | [`Across::run`], [`Across::sum`] |
//! | in virtual time | [`Balancer::simulated`] | [`Simulated::run`], [`Simulated::sum`] |
//!
//! A place is a share of the machine with its own workers; places request work from each other at
//! random and then along lifelines. On one machine as few places as possible are best; more places
//! show how the program would perform on many machines. A search whose tasks are positions in a
//! tree of choices is a [`backtrack`].
#![forbid(unsafe_code)]

pub mod backtrack;
mod balancer;

#[cfg(feature = "serde")]
pub use balancer::Across;
#[cfg(feature = "sim")]
pub use balancer::Simulated;
pub use balancer::{Balancer, Progress, Unobserved, balancer};

pub use tautline_core::balance::TaskBalancer;
pub use tautline_core::deque::Local;
pub use tautline_core::glb::{
    Bag, Config, Control, Fairness, Grain, IntoBag, Loot, PlaceRun, Reason, Run, Share, Steal,
    Steals, Tally, Task, Tasks, WorkerRun, laws,
};
pub use tautline_core::grain::{Rule, Tuning};
pub use tautline_core::lifeline::{AnyBound, Best, Bound, Bounding, Graph, Key, Traffic};
#[doc(no_inline)]
pub use tautline_core::watch::{Observer, State, Times};
pub use tautline_core::{PlaceId, WorkerId};
#[cfg(feature = "sim")]
pub use tautline_sim::{Bound as GreedyBound, Outcome};
