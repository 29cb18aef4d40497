//! A machine that any thread steps: events of the program and messages of other ranks, processed
//! one at a time.
//!
//! | part | kind | what it is |
//! |---|---|---|
//! | [`Service`] | driver | a [`Machine`](crate::machine::Machine), its inputs, and the effects that it requires |
//! | [`Carrier`], [`Handler`] | trait | the way of its messages, and of its effects |
//! | [`Ranks`] | carrier | a channel of an exchange, on which every rank has a machine (feature `wire`) |
//! | [`Operations`] | driver | operations of groups of ranks, each a number on one channel (feature `wire`) |
//! | [`Operation`] | carrier | one of them, in which every rank of a group has a machine (feature `wire`) |
//!
//! # Algorithm
//! A thread that gives an input takes the machine, and processes what waits before its own. A
//! thread that finds the machine taken puts its input into a queue, and leaves it to the holder
//! ([`Combiner`](crate::comm::Combiner)). Messages are sent within a step. Effects are the
//! program's code: they wait in a second queue, and are carried out in order, one at a time, by a
//! thread that has released the machine. So an effect may submit events, and stop the service, and
//! no thread blocks.
//!
//! # Proved
//! By loom (`verify/tests/service.rs`): each input is processed once, those of a thread in order;
//! effects are carried out once, in the order of the steps; what an effect submits is processed;
//! nothing is left when all threads have returned.
//!
//! # Not proved
//! A panic in a step reaches the thread that steps; the machine is dropped then, and later inputs
//! have no effect. A panic of an effect reaches the thread that carries it out, and ends no other.
#![forbid(unsafe_code)]

#[cfg(feature = "wire")]
mod operations;
#[cfg(feature = "wire")]
mod ranks;
mod steps;

#[cfg(feature = "wire")]
pub use operations::{Calls, Kind, OpenOperation, Operation, OperationCounts, Operations};
#[cfg(feature = "wire")]
pub use ranks::{Ranks, WireHandler, WireMachine};
pub use steps::{Carrier, Handler, Service};
