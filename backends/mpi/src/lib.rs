//! Processes that an MPI launcher has started, as ranks of a program: a
//! [link](tautline_core::port::Link) over MPI.
//!
//! | part | what it does |
//! |---|---|
//! | [`Session`] | starts the MPI library of this process, ends it |
//! | [`MpiLink`] | the link of this process to the others, and the way of [packets](MpiLink::packets) |
//!
//! # Algorithm
//! A parcel shorter than [`SHORT`] is one message. A longer one is announced by such a message,
//! which has its length, and follows as another one that is received into a buffer of exactly its
//! own, so that the library moves it by whatever its rendezvous is. Each rank has posted [`SLOTS`]
//! receives for short messages, from any rank: MPI matches them in the order in which they were
//! posted, so testing the oldest one is enough.
//!
//! A packet of a communicator is sent outside of the parcels: its head and a short body are one
//! message, with the number of the communicator; a long body follows as a message of its own, out
//! of the sender's memory and into that which the receiver has provided.
//!
//! MPI accepts short messages without limit, whether or not their receiver takes them. For each
//! rank, one message in [`UNACKNOWLEDGED`] bytes is therefore a synchronous send, which is complete
//! once it is received: until then, all bytes before it count as unsent.
//!
//! A rank that ends its link sends a last message to each other one, which is how those observe its
//! loss. A rank that ends without it is noticed by the launcher, which ends the job: killed, or by
//! `exit`, whose status is then a failure in any case.
//!
//! MPI has no wait that sleeps. A link that waits naps, each time for an eighth of the time since
//! anything has moved, at most 4 ms.
//!
//! # Threads
//! Calls of MPI are made by one thread at a time, whichever holds the link. The library must
//! therefore grant at least `MPI_THREAD_SERIALIZED`; one that does not is refused. At most one link
//! exists at a time in a process, with a communicator of its own.
//!
//! # Decisions
//! 39 to 41 in `docs/decisions`: packets without parcels, posted receives and synchronous sends,
//! the promise that MPI's own collective operations need.

mod calls;
mod error;
mod exit;
mod link;
mod nap;
mod native;
mod packets;
mod session;
mod shared;
mod wire;

pub use error::Error;
pub use link::MpiLink;
pub use session::{Joined, Session};
pub use wire::{SHORT, SLOTS, UNACKNOWLEDGED};
