//! Peers behind one trait: each deque is measured on the same work, by the same code.

use crossbeam_deque as crossbeam;
use st3::lifo as st3;
use std::num::NonZero;
use tautline_core::deque::split::{self, SplitDeque};
use tautline_core::deque::{BucketDeque, FixedDeque, GrowableDeque, Local, Owner, Ring, Thief};

/// Room that every rival starts with.
const ROOM: usize = 256;

/// The owner's end.
pub(crate) trait OwnerEnd {
    /// Adds the newest item; there is room.
    fn push(&mut self, item: usize);
    /// Takes the newest item.
    fn pop(&mut self) -> Option<usize>;
    /// Takes the oldest item, as a thief would.
    fn steal_own(&mut self) -> Option<usize>;
}

/// A thief's end.
pub(crate) trait ThiefEnd {
    /// Tries once to take the oldest item.
    fn steal(&mut self) -> Option<usize>;
}

/// A deque that an owner shares with thieves.
pub(crate) trait Rival: Default {
    /// Its name in reports.
    const NAME: &'static str;
    /// Its owner's end.
    type Owner<'a>: OwnerEnd
    where
        Self: 'a;
    /// Its thieves' end.
    type Thief<'a>: ThiefEnd + Send
    where
        Self: 'a;
    /// Both ends.
    fn ends(&self) -> (Self::Owner<'_>, Self::Thief<'_>);
}

/// Ours, of fixed size.
#[derive(Default)]
pub(crate) struct Fixed(FixedDeque<usize, ROOM>);

/// Ours, growing.
pub(crate) struct Growable(GrowableDeque<usize>);

impl Default for Growable {
    fn default() -> Self {
        Self(GrowableDeque::with_capacity(ROOM))
    }
}

impl<R: Ring> OwnerEnd for Owner<'_, usize, R> {
    #[inline]
    fn push(&mut self, item: usize) {
        assert!(self.try_push(item).is_ok(), "there is room");
    }

    #[inline]
    fn pop(&mut self) -> Option<usize> {
        Owner::pop(self)
    }

    #[inline]
    fn steal_own(&mut self) -> Option<usize> {
        self.thief().steal().taken()
    }
}

impl<R: Ring> ThiefEnd for Thief<'_, usize, R> {
    #[inline]
    fn steal(&mut self) -> Option<usize> {
        Thief::steal(self).taken()
    }
}

impl Rival for Fixed {
    const NAME: &'static str = "fixed";
    type Owner<'a> = Owner<'a, usize, tautline_core::deque::Fixed<ROOM>>;
    type Thief<'a> = Thief<'a, usize, tautline_core::deque::Fixed<ROOM>>;
    fn ends(&self) -> (Self::Owner<'_>, Self::Thief<'_>) {
        (self.0.owner().expect("one owner"), self.0.thief())
    }
}

impl Rival for Growable {
    const NAME: &'static str = "growable";
    type Owner<'a> = Owner<'a, usize, tautline_core::deque::Growable>;
    type Thief<'a> = Thief<'a, usize, tautline_core::deque::Growable>;
    fn ends(&self) -> (Self::Owner<'_>, Self::Thief<'_>) {
        (self.0.owner().expect("one owner"), self.0.thief())
    }
}

/// Ours, in buckets: of the usual size, so that a batch crosses boundaries.
#[derive(Default)]
pub(crate) struct Bucket(BucketDeque<usize>);

impl Rival for Bucket {
    const NAME: &'static str = "bucket";
    type Owner<'a> = Owner<'a, usize, tautline_core::deque::Buckets>;
    type Thief<'a> = Thief<'a, usize, tautline_core::deque::Buckets>;
    fn ends(&self) -> (Self::Owner<'_>, Self::Thief<'_>) {
        (self.0.owner().expect("one owner"), self.0.thief())
    }
}

/// Ours, with a private part.
#[derive(Default)]
pub(crate) struct Split(SplitDeque<NonZero<usize>, ROOM>);

/// The owner's end of the split deque.
pub(crate) struct SplitOwner<'a>(&'a Split, split::Owner<'a, NonZero<usize>, ROOM>);

impl OwnerEnd for SplitOwner<'_> {
    #[inline]
    fn push(&mut self, item: usize) {
        let word = NonZero::new(item + 1).expect("items are small");
        _ = self.1.push(word).expect("there is room");
    }

    #[inline]
    fn pop(&mut self) -> Option<usize> {
        Some(self.1.pop()?.get() - 1)
    }

    #[inline]
    fn steal_own(&mut self) -> Option<usize> {
        ThiefEnd::steal(&mut &self.0.0)
    }
}

impl ThiefEnd for &SplitDeque<NonZero<usize>, ROOM> {
    #[inline]
    fn steal(&mut self) -> Option<usize> {
        let stolen = SplitDeque::steal(self).taken();
        if stolen.is_none() {
            // As a worker that finds nothing: the owner's next push publishes.
            self.starve();
        }
        Some(stolen?.get() - 1)
    }
}

impl Rival for Split {
    const NAME: &'static str = "split";
    type Owner<'a> = SplitOwner<'a>;
    type Thief<'a> = &'a SplitDeque<NonZero<usize>, ROOM>;
    fn ends(&self) -> (Self::Owner<'_>, Self::Thief<'_>) {
        let owner = self.0.owner().expect("one owner");
        (SplitOwner(self, owner), &self.0)
    }
}

/// Ours, of one thread: no rival, since it has no thieves, but measured on the same work.
impl OwnerEnd for Local<usize> {
    #[inline]
    fn push(&mut self, item: usize) {
        Self::push(self, item);
    }

    #[inline]
    fn pop(&mut self) -> Option<usize> {
        Self::pop(self)
    }

    #[inline]
    fn steal_own(&mut self) -> Option<usize> {
        self.steal(1).pop()
    }
}

/// crossbeam-deque, last in first out.
pub(crate) struct Crossbeam(crossbeam::Worker<usize>);

impl Default for Crossbeam {
    fn default() -> Self {
        Self(crossbeam::Worker::new_lifo())
    }
}

/// The owner's end of crossbeam's deque.
pub(crate) struct CrossbeamOwner<'a>(&'a crossbeam::Worker<usize>, crossbeam::Stealer<usize>);

impl OwnerEnd for CrossbeamOwner<'_> {
    #[inline]
    fn push(&mut self, item: usize) {
        self.0.push(item);
    }

    #[inline]
    fn pop(&mut self) -> Option<usize> {
        self.0.pop()
    }

    #[inline]
    fn steal_own(&mut self) -> Option<usize> {
        self.1.steal().success()
    }
}

impl ThiefEnd for crossbeam::Stealer<usize> {
    #[inline]
    fn steal(&mut self) -> Option<usize> {
        Self::steal(self).success()
    }
}

impl Rival for Crossbeam {
    const NAME: &'static str = "crossbeam";
    type Owner<'a> = CrossbeamOwner<'a>;
    type Thief<'a> = crossbeam::Stealer<usize>;
    fn ends(&self) -> (Self::Owner<'_>, Self::Thief<'_>) {
        let stealer = self.0.stealer();
        (CrossbeamOwner(&self.0, stealer), self.0.stealer())
    }
}

/// st3, last in first out, of fixed size.
pub(crate) struct St3(st3::Worker<usize>);

impl Default for St3 {
    fn default() -> Self {
        Self(st3::Worker::new(ROOM))
    }
}

/// The owner's end of st3's queue.
pub(crate) struct St3Owner<'a>(&'a st3::Worker<usize>, St3Thief);

/// The thief's end; st3 steals into a queue of the thief.
pub(crate) struct St3Thief(st3::Stealer<usize>, st3::Worker<usize>);

impl OwnerEnd for St3Owner<'_> {
    #[inline]
    fn push(&mut self, item: usize) {
        self.0.push(item).expect("there is room");
    }

    #[inline]
    fn pop(&mut self) -> Option<usize> {
        self.0.pop()
    }

    #[inline]
    fn steal_own(&mut self) -> Option<usize> {
        self.1.steal()
    }
}

impl ThiefEnd for St3Thief {
    #[inline]
    fn steal(&mut self) -> Option<usize> {
        let (item, _) = self.0.steal_and_pop(&self.1, |_| 1).ok()?;
        Some(item)
    }
}

impl Rival for St3 {
    const NAME: &'static str = "st3";
    type Owner<'a> = St3Owner<'a>;
    type Thief<'a> = St3Thief;
    fn ends(&self) -> (Self::Owner<'_>, Self::Thief<'_>) {
        let thief = || St3Thief(self.0.stealer(), st3::Worker::new(1));
        (St3Owner(&self.0, thief()), thief())
    }
}
