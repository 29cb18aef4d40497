//! The machine of a space: named values, each put once at some rank and read at others.
//!
//! # Algorithm
//! Distributed data-driven futures of Chatterjee (HAPGNS, 2013), with declared readers in addition.
//! A function of the program gives each key a *home*, which is a rank. There are three messages: a
//! *put* takes a value to its home, a *fetch* requests it there, *data* is the value from there.
//!
//! | key here | event | key then | actions |
//! |---|---|---|---|
//! | absent | read, at the home | wanted | |
//! | absent | read, elsewhere | wanted | a fetch to the home, or in its turn; none if readers are declared |
//! | wanted | further read | same | |
//! | absent, wanted | put, at the home | full | reads are ready; data to the ranks that have fetched, or to all that are declared to read |
//! | absent, wanted | put, elsewhere | full | reads are ready; a put to the home |
//! | absent, wanted; at the home | a put arrives | full | as a put at the home, but no data to its sender |
//! | absent, wanted; at the home | a fetch arrives | same | none: the put answers it |
//! | full; at the home | a fetch arrives | same | data |
//! | wanted, or absent with declared readers | data arrives | full | reads are ready |
//! | full | read | same | the read is ready; no message |
//! | full, gone | second put, here or by message | | the space ends at all ranks, with both ranks; at the rank of the first one the put is refused |
//! | full here by a put, or gone | data arrives | | another put was first: the same |
//! | full, with declared readers | last declared read ends | gone | the value is dropped |
//! | full, with declared readers, not here | | gone | at once |
//! | wanted | the home is lost | absent | reads end with the loss |
//!
//! So a value travels at most once to each rank, a put at most once to the home, and a rank fetches
//! a key at most once. Readers are a property of the space, not of a message: with them there is no
//! fetch. A put elsewhere passes through the home then, too, which is where second puts meet.
//!
//! A rank that has put a key has the value; so the home sends it none, although a fetch of that
//! rank may have crossed its put. This needs channels that deliver the messages of one rank to
//! another in order. Data that arrives at such a rank nevertheless is of another put.
//!
//! # Fetching ahead
//! With a bound, a rank fetches a further value when one that it has fetched was read by all tasks
//! that wait for it, or is [idle](Event::Idle). An idle rank must fetch although earlier fetches
//! are not answered: the put that answers them may wait for a task here that needs the next value.
//!
//! # Ends
//! A rank passes the first error that it learns of to its [neighbours](crate::group::neighbours).
//! A [`Space`] is the machine of a rank, with the detection of quiescence in addition. Once all
//! ranks are at rest and no message is in flight, reads that wait are for keys that no rank will
//! put, and a space that all ranks have closed can be dropped.
//!
//! # Not proved
//! Of the keys whose values were dropped, the last are remembered: a second put of an older one is
//! taken for the first.

mod ahead;
mod cell;
mod machine;
mod memory;
mod message;
mod rest;
mod supply;

pub use machine::{Effect, Event, Names, Supply};
pub use memory::Memory;
pub use message::{Failure, Message, Refusal};
pub use rest::{Space, SpaceEffect, SpaceEvent, SpaceMessage};
