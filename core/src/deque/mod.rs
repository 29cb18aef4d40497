//! Where ready work waits: deques whose owner works at one end while thieves take from the other.
//!
//! | deque | shared with thieves | memory | when full | for |
//! |---|---|---|---|---|
//! | [`FixedDeque<T, N>`](FixedDeque) | yes, lock-free | inside the deque, no allocation | gives the item back ([`Full`]) | bare metal, workers with bounded spawning |
//! | [`GrowableDeque<T>`](GrowableDeque) | yes, lock-free | doubles, feature `alloc` | grows | workers of a node |
//! | [`Local<T>`](Local) | no: one thread | doubles, feature `alloc` | grows | bags, places that answer steal requests themselves |
//! | [`Inbox<M>`](Inbox) | any thread fills, any thread empties, under a lock | doubles, feature `alloc` | grows | the messages of a place |
//!
//! The first two are one algorithm, [`chase_lev`], over two kinds of ring.

pub mod chase_lev;
#[cfg(feature = "alloc")]
mod inbox;
#[cfg(feature = "alloc")]
mod local;
mod ring;
pub mod split;
mod word;

#[cfg(feature = "alloc")]
pub use chase_lev::GrowableDeque;
pub use chase_lev::{Deque, FixedDeque, Owner, Thief};
#[cfg(feature = "alloc")]
pub use inbox::Inbox;
#[cfg(feature = "alloc")]
pub use local::Local;
#[cfg(feature = "alloc")]
pub use ring::Growable;
pub use ring::{Fixed, Ring};
pub use split::{NonNullWord, SplitDeque};
pub use word::Word;

/// What came of an attempt to steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Steal<T> {
    /// The oldest item; it is the thief's now.
    Taken(T),
    /// Somebody else took that item first; there may be more.
    Busy,
    /// Nothing to steal.
    Empty,
}

impl<T> Steal<T> {
    /// The item, if one was taken.
    pub fn taken(self) -> Option<T> {
        match self {
            Self::Taken(item) => Some(item),
            Self::Busy | Self::Empty => None,
        }
    }
}

/// The deque was full; here is the item back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> core::fmt::Display for Full<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the deque is full")
    }
}

impl<T: core::fmt::Debug> core::error::Error for Full<T> {}
