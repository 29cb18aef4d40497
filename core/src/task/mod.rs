//! Tasks inside a node: fork and join, scopes with spawned tasks, and the workers that run them.
//!
//! # Algorithm
//! Habanero's async and finish (Chatterjee 2013, 4.1) in help-first order over work stealing; a two-way fork is
//! work-first. Forks are stored on the stack of the forking task, in a [split deque](crate::deque::split).

mod cx;
mod future;
mod handle;
mod hold;
mod job;
mod pool;
mod scope;
mod seat;
mod token;
mod wait;
mod worker;

pub use cx::Cx;
pub use future::TaskCx;
pub use handle::{Handle, JoinError};
pub use hold::Hold;
pub use pool::{Idle, Inspection, Outside, Pool};
pub use scope::Cancelled;
pub(crate) use scope::ScopeId;
pub use seat::Seat;
pub use token::CancelToken;
pub use wait::Wait;
#[doc(hidden)]
pub use worker::{Block, Blocks};
