//! Loops over ranks: balancing by messages, as state machines without I/O.
//!
//! | part | what it is |
//! |---|---|
//! | [`Epochs`] | self-scheduling by tokens (SS, FAC, GSS, TAPER) without a central queue |
//! | [`Deferred`] | deferred load balancing: iterations move between the instances of a loop |
//! | [`Choice`] | which of them balances the next instance |
//! | [`Predict`] | the work of iterations: [`Count`]ed, of a [`Table`] of times, or of a cost function |
//! | [`Stock`] | the iterations of a rank that have not begun |
//! | [`Refusal`] | what is wrong with a message that no correct rank sends |
//!
//! The first two are a [`Machine`](crate::machine::Machine) at each rank, and a [`Scheduler`] to a
//! driver of any of them, as are the methods that they are compared with, in the crate
//! `tautline-exhibits`.
//!
//! Each iteration is executed at one rank, and only iterations that have not begun move. Messages
//! may overtake each other. [`Deferred`] does not move the state that iterations leave for the next
//! instance: a transfer is announced before its sender executes them for the last time. No driver
//! of these machines is part of the library yet.
//!
//! A deferred plan is up to two instances old and costs an instance nothing. Self-scheduling from
//! the placement of the instance before ([`Epochs::placed`]) knows the last instance and corrects
//! while it runs. [`Choice`] takes the first where times are stable, or iterations communicate.
//!
//! The one import among protocols is the tree of [`collective`](crate::collective): `Branch` is
//! arithmetic on ranks. Decisions 45 to 47 in `docs/decisions` have the alternatives.
#![forbid(unsafe_code)]

mod choice;
mod conditions;
mod epoch;
mod error;
mod instances;
mod phase;
mod predict;
mod scheduler;
mod stock;

pub use choice::Choice;
pub use conditions::{Conditions, Geometry};
pub use epoch::{Epoch, Epochs, Message, Order, Progress};
pub use error::Refusal;
pub use instances::{Account, Deferred, Move, Notice};
pub use predict::{Count, Predict, Table};
pub use scheduler::Scheduler;
pub use stock::Stock;

use alloc::vec::Vec;
use core::ops::Range;

/// Events at a rank. `T` is what a machine records of an executed chunk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event<T> {
    /// The loop begins.
    Begin,
    /// The chunk was executed.
    Executed(T),
}

/// A request of a machine to the driver of its rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// To execute these iterations, and report [`Event::Executed`].
    Execute(Vec<Range<u64>>),
    /// The loop has ended at this rank: no iteration arrives any more. Once.
    End,
}
