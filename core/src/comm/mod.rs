//! Communication as tasks: any thread submits operations, one worker performs them.
//!
//! | part | kind | what it does |
//! |---|---|---|
//! | [`Tasks`] | word | takes operations from any thread; tasks are recycled |
//! | [`Worker`] | driver | starts tasks in order and completes them, step by step, by a machine |
//! | [`Combiner`] | word | lets one thread at a time step a worker, also for threads that find it taken |
//! | [`Matching`] | protocol | which receive takes which message |
//! | [`Messenger`] | machine | matching, with credits and offers |
//! | [`Bodies`] | port | moves the bodies of offers from memory to memory |
//! | [`PacketLink`] | port | carries packets, in addition to the parcels of a link |
//!
//! # Algorithm
//! The communication worker of Chatterjee 2013 (section 4.3, HC-COMM): the only thread of a rank
//! that communicates; every call of the other threads is a task for it. What differs:
//! - Tasks wait in a queue, so that the messages of a thread are sent in its order (`slot`).
//! - Nothing blocks the worker, so it serves other ranks while an operation of this one is
//!   outstanding.
//! - Operations end by [`Complete`], whatever carries them; how a task waits for that is not
//!   decided here.
//!
//! - A message that can leave at once needs no task: the sending thread gets the worker, lets it
//!   start what was submitted before, and sends. If the receiver has no room, or another thread has
//!   the worker, the message is submitted as all others. A waiting thread takes a message likewise.
//!
//! Decisions 48 to 52 in `docs/decisions`: which thread communicates, the two lists, offers instead
//! of errors, contained panics, the end of a world.
//!
//! # Completion
//! In this order: the outcome is known; [`Complete::complete`] puts the request and releases the
//! share of the enclosing scope; then the slot is available.
#![deny(unsafe_code)]

mod combiner;
mod error;
mod matching;
mod message;
mod operation;
mod outcome;
mod packet_link;
#[allow(
    unsafe_code,
    reason = "slots that the lists pass between threads: see its head"
)]
mod slot;
mod tasks;
mod worker;

pub use combiner::Combiner;
pub use error::Error;
pub use matching::{
    Bodies, End, Incoming, Limits, Matching, Messenger, News, Packet, Unexpected, Unreceived,
};
pub use message::{Body, CommId, Envelope, Pattern, Tag};
pub use operation::{Complete, Done, Effect, Event, Operation, Outcome, Status};
#[cfg(feature = "wire")]
pub use packet_link::Number;
pub use packet_link::{Collective, Element, Matched, Operator, PacketLink, Recipient};
pub use slot::{State, Ticket};
pub use tasks::Tasks;
pub use worker::Worker;
