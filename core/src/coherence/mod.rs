//! Shared objects: one value that all ranks read and change, kept coherent by messages.
//!
//! # Algorithm
//! The protocols of Paudel, Tardieu and Amaral for X10 (`X10Protocol`, `DirCoPX`, augmented
//! `DirCoPX`), one object at a time. An object has a home, which serves requests one at a time:
//!
//! | mode | access of another rank | messages |
//! |---|---|---|
//! | [`Home`](Mode::Home) | a read, an operation | 2 |
//! | | a closure, which borrows the value | 3 |
//! | [`Directory`](Mode::Directory) | on a copy | 0 |
//! | | without a copy that suffices; `k` other ranks share the value | 2; a write 2 + 2 k |
//! | | the same, another rank has the only copy | 4 |
//! | [`Migratory`](Mode::Migratory) | a read that obtains the only copy from another rank | 5 |
//!
//! Differences to the publication: a write without a copy is answered with the value, an upgrade of
//! a copy that was invalidated meanwhile is a write, and a recall that arrives before the value
//! waits for it. Operations and closures work in any mode, and the home changes the mode of an
//! object while no other rank has a copy: a request that does not fit is refused, and sent again.
//!
//! The home keeps the ranks that share the value as a [`Sharing`] has it: with more than 4096 ranks
//! it may invalidate copies that do not exist.
//!
//! An object needs channels that deliver the messages of one rank to another in order. All accesses
//! of a rank that wait for a value are performed when it arrives, before the copy can be recalled.
//!
//! An [`Object`] is the machine of one rank, and has no value: that is in a [`Memory`].
#![forbid(unsafe_code)]

mod convert;
mod home;
mod memory;
mod message;
mod object;
mod place;
mod sharers;

pub use memory::Memory;
pub use message::{
    Access, Answer, CopyState, Grant, Kind, Message, Mode, Recall, Refusal, Request,
};
pub use object::{Event, Object};
pub use sharers::Sharing;
