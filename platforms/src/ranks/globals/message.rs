//! Names of objects, and messages about them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::marker::PhantomData;
use tautline_core::Rank;
use tautline_core::coherence::Message;
use tautline_core::wire::Bulk;

/// The name of an object among those of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct ObjectId {
    pub(super) home: Rank,
    /// Its number among the objects that all ranks have created, or among those that its home has
    /// published.
    number: u32,
}

/// In the numbers of published objects.
const PUBLISHED: u32 = 1 << 31;

impl ObjectId {
    pub(super) fn created(home: Rank, number: u32) -> Self {
        assert!(number < PUBLISHED, "at most 2^31 objects");
        Self { home, number }
    }

    pub(super) fn published(home: Rank, number: u32) -> Self {
        let number = Self::created(home, number).number | PUBLISHED;
        Self { home, number }
    }

    pub(super) fn is_published(self) -> bool {
        self.number & PUBLISHED != 0
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let published = if self.is_published() {
            "published "
        } else {
            ""
        };
        write!(
            f,
            "{published}object {} of {}",
            self.number & !PUBLISHED,
            self.home
        )
    }
}

/// The name of a shared object of type `T`, which is valid at all ranks: it may lie in values,
/// messages and other objects. [`Globals::open`](super::Globals::open) returns the
/// object.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct GlobalRef<T> {
    pub(super) id: ObjectId,
    /// The check of its creation, as in [`Envelope`].
    pub(super) check: u32,
    #[serde(skip)]
    of: PhantomData<fn() -> T>,
}

impl<T> GlobalRef<T> {
    pub(super) fn new(id: ObjectId, check: u32) -> Self {
        let of = PhantomData;
        Self { id, check, of }
    }
}

impl<T> Clone for GlobalRef<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for GlobalRef<T> {}

impl<T> PartialEq for GlobalRef<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.id, self.check) == (other.id, other.check)
    }
}

impl<T> Eq for GlobalRef<T> {}

impl<T> fmt::Debug for GlobalRef<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)
    }
}

/// A message about an object.
#[derive(Serialize, Deserialize)]
pub(super) struct Envelope {
    pub(super) id: ObjectId,
    /// Differs, almost always, between objects of other types or created by another call.
    pub(super) check: u32,
    pub(super) body: Body,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Body {
    Message(Encoded),
    /// No access of the sender can use the object any more.
    Ended(Ending),
}

/// The reason for which an object has ended at a rank.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Ending {
    /// It is another object at the other rank: its type and creation there.
    Differs(String),
    /// A value cannot travel.
    Unusable(String),
    /// This rank has sent what no correct rank sends.
    Violated(Rank),
    /// Its home has freed it.
    Freed,
}

/// A message of the machine, with encoded values.
pub(super) type Encoded = Message<Bulk<u8>, EncodedCall, EncodedOutput>;

/// A call of an operation.
#[derive(Serialize, Deserialize)]
pub(super) struct EncodedCall {
    pub(super) position: u32,
    pub(super) args: Bulk<u8>,
}

/// The output of an operation.
#[derive(Serialize, Deserialize)]
pub(super) enum EncodedOutput {
    Value(Bulk<u8>),
    /// It panicked at this rank, with this text.
    Panicked(Rank, String),
    /// Its result cannot be encoded.
    Unencodable(String),
}
