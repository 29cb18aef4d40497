//! Names of objects, and messages about them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::coherence::Message;

/// The name of an object among those of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct ObjectId {
    pub(super) home: Rank,
    /// Its number among the objects that all ranks have created, or among those that its home has
    /// published.
    pub(super) number: u32,
    /// Of an array with this number, the block; else 0.
    pub(super) block: u32,
}

/// In the numbers of published objects.
const PUBLISHED: u32 = 1 << 31;

impl ObjectId {
    pub(super) fn created(home: Rank, number: u32) -> Self {
        assert!(number < PUBLISHED, "at most 2^31 objects");
        let block = 0;
        Self {
            home,
            number,
            block,
        }
    }

    /// Returns the name of a block of an array.
    pub(super) fn of_block(home: Rank, number: u32, block: usize) -> Self {
        let block = u32::try_from(block).expect("at most 2^32 blocks");
        let Self { number, .. } = Self::created(home, number);
        Self {
            home,
            number,
            block,
        }
    }

    pub(super) fn published(home: Rank, number: u32) -> Self {
        let mut id = Self::created(home, number);
        id.number |= PUBLISHED;
        id
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

/// The call that has created an object, and the object in it: for errors.
#[derive(Clone)]
pub(super) struct Origin {
    site: &'static Location<'static>,
    home: Rank,
    /// An array of which the object is a block, and the number of that.
    block: Option<(Arc<Layout>, usize)>,
}

/// The blocks of an array.
pub(super) struct Layout {
    pub(super) length: usize,
    pub(super) block_length: usize,
    /// The home of each block.
    pub(super) homes: Box<[Rank]>,
}

impl Layout {
    /// Returns the indices of the elements of a block.
    pub(super) fn range(&self, block: usize) -> Range<usize> {
        let first = block * self.block_length;
        first..self.length.min(first + self.block_length)
    }
}

impl Origin {
    pub(super) fn new(site: &'static Location<'static>, home: Rank) -> Self {
        let block = None;
        Self { site, home, block }
    }

    /// Returns the origin of the whole array, to be restricted to a [block](Self::at).
    pub(super) fn of_array(site: &'static Location<'static>, layout: &Arc<Layout>) -> Self {
        let block = Some((Arc::clone(layout), layout.homes.len()));
        let home = Rank(0);
        Self { site, home, block }
    }

    /// Returns the origin of a block; of an object on its own, that itself.
    pub(super) fn at(&self, block: u32) -> Self {
        let mut origin = self.clone();
        if let Some((layout, at)) = &mut origin.block {
            *at = block as usize;
            origin.home = *layout.homes.get(*at).unwrap_or(&Rank(0));
        }
        origin
    }
}

/// With `#`, also where its values are.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { site, home, block } = self;
        write!(f, "{site}")?;
        let Some((layout, block)) = block else {
            return match f.alternate() {
                true => write!(f, " with its home at {home}"),
                false => Ok(()),
            };
        };
        let Layout {
            length,
            block_length,
            homes,
        } = &**layout;
        match block < &homes.len() {
            true => write!(f, " as elements {:?} of {length}", layout.range(*block))?,
            false => write!(f, " as an array of {length} elements")?,
        }
        write!(f, " in blocks of {block_length}")?;
        if f.alternate() {
            let (shown, more) = homes.split_at(homes.len().min(SHOWN));
            let shown: Vec<_> = shown.iter().map(|home| home.0).collect();
            write!(f, " at the ranks {shown:?}")?;
            if !more.is_empty() {
                write!(f, " and {} more", more.len())?;
            }
        }
        Ok(())
    }
}

/// The homes of blocks that an error names, at most.
const SHOWN: usize = 64;

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

/// A message about an object. Its payload follows, encoded on its own: the value, the arguments of
/// a call, or its result.
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

/// A message of the machine without its payload. A call is named by the position of its operation.
pub(super) type Encoded = Message<(), u32, EncodedOutput>;

/// The output of an operation without its result.
#[derive(Serialize, Deserialize)]
pub(super) enum EncodedOutput {
    Value,
    /// It panicked at this rank, with this text.
    Panicked(Rank, String),
    /// Its result cannot be encoded.
    Unencodable(String),
}
