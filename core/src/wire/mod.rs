//! Values between processes: encoding, and all channels of a process over one link.
//!
//! | part | what it does |
//! |---|---|
//! | [`pack`], [`unpack`] | encode a value by serde, decode it with bounds |
//! | [`Bulk`], [`BulkRef`] | a vector of plain data, encoded by one copy |
//! | [`Exchange`] | the channels of a process: opened alike by every rank, filled as values, sent as parcels |
//!
//! # Algorithm
//! A parcel is a header of 16 bytes (channel, sending place, receiving place, kind, check) and a
//! body. The check covers the header, the body, and the number of the parcel among those of its
//! sender for its receiver, which does not travel: a parcel that a link corrupts, loses, doubles or
//! reorders is an error at the latest when the next parcel arrives.
//!
//! Channels are opened in the same order by every rank. A rank announces each channel that it
//! opens, with its kind, the call that opened it and the type of its messages: to all ranks if they
//! are few, else to its neighbours in a tree, and to any other rank before its first message. Each
//! announcement is compared with what the receiver has opened, so that programs that diverge end
//! with an error that names both calls.
//!
//! A message is put into its channel's outbox as a value, which may be done under a lock.
//! [`Exchange::turn`] encodes it, outside of that lock, and passes it to the link; any thread may
//! run it, one at a time does. Short messages of a channel that wait for the same rank share a
//! parcel of up to 1 KiB; no message is held back for that.
//!
//! Decisions 31 to 33 and 38 in `docs/decisions` have the alternatives: values in outboxes, turns
//! run by computing threads, announced channels, the codec.
//!
//! # Bounds
//! | what | bound |
//! |---|---|
//! | a body | [`Limits::body`]; longer ones are errors, at the sender before they exist |
//! | bytes in the link, for each rank | [`Limits::window`] and one message, or several of 1 KiB together; more stay in the outbox, as values |
//! | an outbox | [`Limits::waiting`] messages for each rank with [`Channel::try_send`]; the protocol's own bound with [`Channel::send`] |
//! | messages for a channel that is not open here yet, for each rank | [`Limits::early`] and one message; the sender holds more back until it knows the channel to be open |
//! | announcements of channels that are not open here yet, for each rank | 1 MiB, of which each takes 640 bytes and its strings; more are an error |
//!
//! # Words
//! `End::waiting`: changed under the lock of the outboxes. `End::is_closed`: set by the thread that
//! drops the channel. `Shared::news`: incremented by every thread that sends, opens or closes.
//! `Shared::sleeps`: written by the thread that waits. `Shared::attendants`: counts the threads
//! that run turns while they compute; they spare senders the bell. `Shared::is_dead`: written by
//! the thread that holds the link.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | X1 | `announce` increments `news` | `news` loads it | the message in `End::waiting`, which a turn loads then | `news_without_message` in `verify/litmus/wire.toml` |
//! | X2 | `announce` increments `news`, then fences and tries the link's lock, or loads `sleeps` | the link is released, or `sleeps` set, then `recent_news` fences and loads `news` | one of them observes the other's store | `wire_*` in `verify/tests/wire.rs` |
//! | X3 | `retire` decrements `attendants`, fences and loads `sleeps`; `announce` fences and loads `attendants` | `sleeps` is set, then `recent_news` fences, then `is_attended` | the thread that waits sees the announcement, or the last attendant or the announcer wakes it | `wire_attended` in `verify/tests/wire.rs`, `verify/litmus/wire.toml` |
//! | X4 | a dropped channel sets `End::is_closed` | `is_closed` loads it, then `is_over` loads `End::waiting` | the messages that were sent before | `wire_closed` in `verify/tests/wire.rs`, `verify/litmus/wire.toml` |
#![forbid(unsafe_code)]

mod any_end;
mod channel;
mod codec;
mod driver;
mod error;
mod exchange;
mod limits;
mod shared;
mod terms;

pub(crate) use channel::Sender;
pub use channel::{Channel, Receiver, Traffic};
pub use codec::{
    Bulk, BulkRef, Encoding, Malformed, Plain, Portable, Unencodable, Unfit, Why, pack,
    pack_within, unpack, unpack_first,
};
pub(crate) use codec::{Sink, pack_onto};
#[doc(hidden)]
pub use driver::seal;
pub use error::{BegunCall, Cause, Error, Fault, Name};
pub use exchange::{Attendance, Exchange};
pub use limits::Limits;
pub use terms::Terms;
pub(crate) use terms::{OneLine, first_chars};
