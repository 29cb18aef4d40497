//! Tautline in virtual time: thousands of places on one thread.
//!
//! | module | what |
//! |---|---|
//! | [`engine`] | discrete events: any [`Actor`](engine::Actor)s on a [`Cluster`] |
//! | [`Simulation`] | balanced computations: the workers that ship, as actors on a [`Machine`] |
//! | [`protocol`] | any protocol: a [machine](tautline_core::machine) at each peer, as an actor, with the cost of its events |
//! | [`loops`] | loops over ranks: the machines of `defer`, by that |
//! | [`teams`] | programs over ranks: calls of a team, finishes, phases of the tasks of all ranks |
//! | [`Program`] | loops with the shapes of applications |
//! | [`memory`] | hardware threads that share memory, one level below |
#![forbid(unsafe_code)]

pub mod engine;
mod glb;
pub mod loops;
mod machine;
pub mod memory;
mod programs;
pub mod protocol;
pub mod teams;

pub use engine::{Cluster, Ranks, Shape};
pub use glb::{Bound, Interim, Outcome, Phases, Simulation, Worked};
pub use machine::Machine;
pub use programs::Program;
