//! Deques of ready work: the owner works at one end while thieves take from the other.
//!
//! | deque | shared with thieves | memory | when full | for |
//! |---|---|---|---|---|
//! | `SplitDeque<T, N>` | the public part; the private part is accessed by the owner without fences | inside the deque, no allocation | returns the item ([`Full`]) | the task scheduler's default: most tasks are never stolen |
//! | [`FixedDeque<T, N>`](FixedDeque) | yes, lock-free | inside the deque, no allocation | returns the item ([`Full`]) | bare metal, workers with bounded spawning |
//! | [`GrowableDeque<T>`](GrowableDeque) | yes, lock-free | doubles and copies, feature `alloc` | grows | workers of a node |
//! | [`BucketDeque<T>`](BucketDeque) | yes, lock-free | adds buckets without copying, reuses drained ones, feature `alloc` | grows | many deques that start small, one for each worker at each place of a tree |
//! | [`Local<T>`](Local) | no: one thread | doubles, feature `alloc` | grows | bags, places that answer requests themselves |
//! | [`Inbox<M>`](Inbox) | any thread fills, any thread empties, under a lock | doubles, feature `alloc` | grows | the messages of a place |
//!
//! Fixed, growable and bucket deque are one algorithm, [`chase_lev`], over three kinds of ring.
//! Code written against [`WorkDeque`] runs on any deque with thieves.
//!
//! # From crossbeam-deque
//! | crossbeam-deque | here |
//! |---|---|
//! | `Worker::new_lifo()`, `worker.push`, `worker.pop` | [`owner()`](Deque::owner) of a [`GrowableDeque`], of which there is one at a time; [`Owner::push`], [`Owner::pop`] |
//! | `Worker::new_fifo()` | an [`Inbox`]: an owner pops its newest item |
//! | `worker.stealer()` | [`thief()`](Deque::thief), which borrows the deque: share that, in an `Arc` or a scope |
//! | `Injector` | [`Inbox`] |
//! | `Steal::Success(item)`, `Steal::Empty` | [`Steal::Taken`], [`Steal::Empty`] |
//! | `Steal::Retry` | [`Steal::Busy`]: another thread took that item; try again |
//! | `steal_batch`, `steal_batch_and_pop` | [`steal`](Thief::steal), an item at a time; a [bag](crate::glb::Bag) of tasks is divided instead |
//!
//! A push to a deque of fixed size may return the item. That to a `SplitDeque` returns
//! [`split::Pushed`], which must be used: after `Published`, wake a thief that sleeps.

#[cfg(feature = "alloc")]
mod bucket;
pub mod chase_lev;
mod ends;
#[cfg(feature = "alloc")]
mod inbox;
#[cfg(feature = "alloc")]
mod local;
mod ring;
pub mod split;
mod word;

#[cfg(feature = "alloc")]
pub use bucket::{BucketDeque, Buckets};
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

/// A deque that one owner shares with any number of thieves.
///
/// ```
/// use tautline_core::deque::{FixedDeque, OwnerEnd, Steal, ThiefEnd, WorkDeque};
///
/// fn oldest_first(deque: &impl WorkDeque<u32>) {
///     let owner = deque.owner().expect("it has no owner yet");
///     owner.push(1).expect("there is room");
///     owner.push(2).expect("there is room");
///     assert_eq!(deque.thief().steal(), Steal::Taken(1));
///     assert_eq!(owner.pop(), Some(2));
/// }
///
/// oldest_first(&FixedDeque::<u32, 2>::new());
/// ```
pub trait WorkDeque<T>: Sync {
    /// The end of the newest items.
    type Owner<'a>: OwnerEnd<T> + Send
    where
        Self: 'a;
    /// The end of the oldest items.
    type Thief<'a>: ThiefEnd<T>
    where
        Self: 'a;

    /// Claims ownership; returns `None` if the deque has an owner. Dropping the owner releases it.
    ///
    /// ```
    /// # use tautline_core::deque::{FixedDeque, OwnerEnd, WorkDeque};
    /// let deque = FixedDeque::<u32, 4>::new();
    /// let owner = WorkDeque::owner(&deque).unwrap();
    /// OwnerEnd::push(&owner, 1).unwrap();
    /// assert!(WorkDeque::owner(&deque).is_none()); // one at a time
    /// ```
    fn owner(&self) -> Option<Self::Owner<'_>>;

    /// Returns a thief's end; there may be any number of them.
    ///
    /// ```
    /// # use tautline_core::deque::{FixedDeque, OwnerEnd, Steal, ThiefEnd, WorkDeque};
    /// let deque = FixedDeque::<u32, 4>::new();
    /// let owner = WorkDeque::owner(&deque).unwrap();
    /// OwnerEnd::push(&owner, 1).unwrap();
    /// assert_eq!(ThiefEnd::steal(&WorkDeque::thief(&deque)), Steal::Taken(1));
    /// ```
    fn thief(&self) -> Self::Thief<'_>;

    /// Returns the number of items: exact while no other thread uses the deque, otherwise a hint.
    fn len(&self) -> usize;

    /// Whether [`len`](Self::len) is 0.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The owner's end of a deque: pushes and pops.
///
/// ```
/// # use tautline_core::deque::{FixedDeque, OwnerEnd, WorkDeque};
/// let deque = FixedDeque::<u32, 4>::new();
/// let owner = WorkDeque::owner(&deque).unwrap();
/// OwnerEnd::push(&owner, 1).unwrap();
/// assert_eq!(OwnerEnd::pop(&owner), Some(1));
/// assert!(OwnerEnd::is_empty(&owner));
/// ```
pub trait OwnerEnd<T> {
    /// Adds the newest item, or returns it if there is no room.
    fn push(&self, item: T) -> Result<(), Full<T>>;

    /// Takes the newest item.
    fn pop(&self) -> Option<T>;

    /// Returns the maximum number of items: thieves may be taking some.
    fn len(&self) -> usize;

    /// Whether there is no item left.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The right to steal the oldest item.
///
/// ```
/// # use tautline_core::deque::{Steal, ThiefEnd};
/// /// Takes all that there is.
/// fn raid<T>(thief: &impl ThiefEnd<T>) -> Vec<T> {
///     let mut taken = vec![];
///     loop {
///         match thief.steal() {
///             Steal::Taken(item) => taken.push(item),
///             Steal::Busy => {}
///             Steal::Empty => return taken,
///         }
///     }
/// }
/// ```
pub trait ThiefEnd<T>: Clone + Send + Sync {
    /// Tries once to take the oldest item. Does not wait.
    fn steal(&self) -> Steal<T>;

    /// Returns the number of items; a hint.
    fn len(&self) -> usize;

    /// Whether there is nothing to steal; a hint.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The outcome of an attempt to steal.
///
/// ```
/// # use tautline_core::deque::{FixedDeque, Steal};
/// let deque = FixedDeque::<u32, 4>::new();
/// assert_eq!(deque.thief().steal(), Steal::Empty);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Steal<T> {
    /// The oldest item, now owned by the thief.
    Taken(T),
    /// Another thread took that item first; there may be more.
    Busy,
    /// No item to steal.
    Empty,
}

impl<T> Steal<T> {
    /// Returns the item, if one was taken.
    ///
    /// ```
    /// # use tautline_core::deque::Steal;
    /// assert_eq!(Steal::Taken(1).taken(), Some(1));
    /// assert_eq!(Steal::<u32>::Busy.taken(), None);
    /// ```
    pub fn taken(self) -> Option<T> {
        match self {
            Self::Taken(item) => Some(item),
            Self::Busy | Self::Empty => None,
        }
    }
}

/// The error of a push to a full deque; contains the item.
///
/// ```
/// # use tautline_core::deque::{FixedDeque, Full};
/// let deque = FixedDeque::<u32, 1>::new();
/// let owner = deque.owner().unwrap();
/// owner.push(1).unwrap();
/// assert_eq!(owner.push(2), Err(Full(2)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> core::fmt::Display for Full<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the deque is full")
    }
}

impl<T: core::fmt::Debug> core::error::Error for Full<T> {}
