//! Name spaces: values with names, each put once and read by tasks that may ask for it before.
//!
//! | part | kind | where |
//! |---|---|---|
//! | [`Table`] | words | the named cells of one rank: puts, reads, the last read of a key |
//! | [`Get`], [`Take`], [`Item`] | words | inputs of tasks, and a value that is read |
//! | [`Policy`], [`Local`] | | the declared reads, and the observer of the last one; for one rank |
//! | `Names`, `Space` | protocol | one space at several ranks |
//!
//! The table holds values, and the machine decides about messages. Over ranks, the table is to be
//! the `Memory` of the machine, which it notifies of the last read of a key and of no other.
#![deny(unsafe_code)]

mod declared;
pub mod home;
mod misuse;
#[cfg(feature = "distributed")]
mod names;
mod table;

pub use declared::Declared;
pub use misuse::Misuse;
#[cfg(feature = "distributed")]
pub use names::{
    Effect, Event, Failure, Memory, Message, Names, Refusal, Space, SpaceEffect, SpaceEvent,
    SpaceMessage, Supply,
};
pub use table::{Get, Item, Local, Policy, Put, Table, Take};
