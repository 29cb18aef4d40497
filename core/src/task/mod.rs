//! Tasks inside a node: fork and join, scopes with spawned tasks, and the workers that run them.
//!
//! # Algorithm
//! Habanero's async and finish (Chatterjee 2013, 4.1) in help-first order over work stealing; a
//! two-way fork is work-first. Forks are stored on the stack of the forking task, in a [split
//! deque](crate::deque::split).
//!
//! | folder | what it is |
//! |---|---|
//! | `job` | the kinds of tasks: forks, spawned closures, futures, tasks that wait for cells |
//! | `cx` | the context by which a task forks, spawns and opens scopes |
//! | `scope` | live tasks, aborts, members that are in no queue; independent of workers and pools |
//! | `worker` | a seat of the pool: its queues, search, waits, raids, blocks of memory |
//! | `pool` | seats, shared queues, sleepers, victims, bound tasks, detection of a deadlock |
//! | `future` | async code: each poll is a task |
//!
//! The module starts no threads and knows no balancer: a thread that holds a seat of a [`Pool`] is
//! a worker, and systems above keep their values in the pool's extensions, by type.
//!
//! Forks and plain `spawn` belong to the root domain. Bound to the spawner's leaf, as in the
//! source, they would be balanced over the workers of one leaf only, which on most machines is one
//! worker; victims are robbed nearest first anyway. Tasks bound to a domain are in deques of that
//! domain and the worker that bound them, or, from outside, in its inbox.
//!
//! # Hot path
//! A fork takes no fence and, before a thief comes, no atomic read-modify-write; nothing is
//! published. `top` and `split` of the deque are one word: a worker about to sleep reads the deques
//! by a read-modify-write that leaves the word unchanged, and a publication is one, too, so that
//! the second of the two observes the first. A spawned task allocates nothing in the steady state.
//!
//! # Imports between files
//! In one direction, except between `job/mod.rs`, `worker/mod.rs` and `pool/mod.rs`, which
//! ARCHITECTURE.md argues. Decisions 12 to 17 in `docs/decisions` have the alternatives to seats,
//! private forks, blocks, aborts, helping and this circle.

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
pub use scope::{Cancelled, ScopeId};
pub use seat::Seat;
pub use token::CancelToken;
pub use wait::Wait;
#[doc(hidden)]
pub use worker::{Block, Blocks};
