//! Verbs that leave out the rest of a loop: searches, and bodies that may fail.
//!
//! # Algorithm
//! All of these fold items by a function that may *break* with a value. Where any such value will
//! do, the loop ends with the first that is found. Where it is to be the first in the order of the
//! source, a part that has found one publishes the first index of its block, and ends; so does a
//! part whose next block is above that index, since its further ones are, too. Parts below it go
//! on, and may find an earlier one. At the end, the one of the lowest block is returned.
//!
//! # Orderings
//! Relaxed: the published index is a hint. A value that is out of date is higher than the current
//! one, and leaves out less. The joins of the loop publish what was found.

mod attempt;

pub use attempt::Try;

use super::super::body::LeaveOut;
use super::super::raw::{Consumer, Driven, Indexed, Source};
use super::Par;
use super::accumulate::Accumulate;
use crate::port::Host;
use crate::sync::{AtomicUsize, Ordering};
use crate::task::Cx;
use core::ops::{ControlFlow, Range};

impl<P: Host, S: Source> Par<'_, '_, '_, P, S> {
    /// Returns whether `f` returns true for any item. As soon as it does, the rest of the loop is
    /// left out.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert!(cx.par(0..u64::MAX).any(|i| i * i == 144));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `f`.
    pub fn any(self, f: impl Fn(S::Item) -> bool + Sync) -> bool {
        self.find_map_any(|item| f(item).then_some(())).is_some()
    }

    /// Returns whether `f` returns true for all items. As soon as it does not, the rest of the loop
    /// is left out.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert!(!cx.par(0..u64::MAX).all(|i| i < 1000));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `f`.
    pub fn all(self, f: impl Fn(S::Item) -> bool + Sync) -> bool {
        !self.any(|item| !f(item))
    }

    /// Returns an item for which `f` returns true, not necessarily the first. As soon as there is
    /// one, the rest of the loop is left out.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(&[3, 4, 5]).find_any(|n| **n % 2 == 0), Some(&4));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `f`.
    pub fn find_any(self, f: impl Fn(&S::Item) -> bool + Sync) -> Option<S::Item>
    where
        S::Item: Send,
    {
        self.find_map_any(|item| f(&item).then_some(item))
    }

    /// Returns the first item, in the order of the source, for which `f` returns true. As soon as
    /// there is one, items after it are left out.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(0..u64::MAX).find_first(|i| i % 1000 == 999), Some(999));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `f`.
    pub fn find_first(self, f: impl Fn(&S::Item) -> bool + Sync) -> Option<S::Item>
    where
        S::Item: Send,
    {
        self.find_map_first(|item| f(&item).then_some(item))
    }

    /// Returns the result of `f` for an item if it is not `None`, not necessarily for the first. As
    /// soon as there is one, the rest of the loop is left out.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let number = cx.par(&["a", "7", "b"]).find_map_any(|text| text.parse::<u32>().ok());
    /// assert_eq!(number, Some(7));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `f`.
    pub fn find_map_any<R: Send>(self, f: impl Fn(S::Item) -> Option<R> + Sync) -> Option<R> {
        self.breaking(&Finding(f), Wanted::Any)?.break_value()
    }

    /// Returns the result of `f` for the first item, in the order of the source, for which that is
    /// not `None`. As soon as there is one, items after it are left out.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let number = cx.par(&["a", "7", "8"]).find_map_first(|text| text.parse::<u32>().ok());
    /// assert_eq!(number, Some(7));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `f`.
    pub fn find_map_first<R: Send>(self, f: impl Fn(S::Item) -> Option<R> + Sync) -> Option<R> {
        self.breaking(&Finding(f), Wanted::First)?.break_value()
    }

    /// Folds items until one breaks. Returns `None` without items.
    fn breaking<A, T, B>(self, how: &A, wanted: Wanted) -> Option<ControlFlow<B, T>>
    where
        A: Accumulate<S::Item, Value = ControlFlow<B, T>>,
        T: Send,
        B: Send,
    {
        let breaking = Breaking {
            how,
            wanted,
            found: AtomicUsize::new(usize::MAX),
        };
        Driven::run(self.cx, &self.settings, self.source, breaking).value
    }
}

impl<P: Host, S: Indexed> Par<'_, '_, '_, P, S> {
    /// Returns the position of an item for which `f` returns true, not necessarily of the first. As
    /// soon as there is one, the rest of the loop is left out.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(&['a', 'b', 'c']).position_any(|c| *c == 'c'), Some(2));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `f`.
    pub fn position_any(self, f: impl Fn(S::Item) -> bool + Sync) -> Option<usize> {
        let items = self.enumerate();
        items.find_map_any(|(at, item)| f(item).then_some(at))
    }

    /// Returns the position of the first item for which `f` returns true. As soon as there is one,
    /// items after it are left out.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(&['a', 'b', 'b']).position_first(|c| *c == 'b'), Some(1));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `f`.
    pub fn position_first(self, f: impl Fn(S::Item) -> bool + Sync) -> Option<usize> {
        let items = self.enumerate();
        items.find_map_first(|(at, item)| f(item).then_some(at))
    }
}

/// The value with which a loop ends if several items break.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// The value of any item.
    Any,
    /// The value of the first item in the order of the source.
    First,
}

/// Breaks with what a function makes of an item.
struct Finding<F>(F);

impl<I, R: Send, F: Fn(I) -> Option<R> + Sync> Accumulate<I> for Finding<F> {
    type Value = ControlFlow<R>;

    #[inline]
    fn add(
        &self,
        _: Option<ControlFlow<R>>,
        mut items: impl Iterator<Item = I>,
    ) -> Option<ControlFlow<R>> {
        items.find_map(&self.0).map(ControlFlow::Break)
    }

    fn merge(&self, left: ControlFlow<R>, _: ControlFlow<R>) -> ControlFlow<R> {
        left
    }
}

/// Folds items until one breaks.
struct Breaking<'a, A> {
    how: &'a A,
    wanted: Wanted,
    /// The lowest first index of a block that has broken.
    found: AtomicUsize,
}

/// The accumulation of a part.
struct Folded<V> {
    value: Option<V>,
    /// The first index of the block that has broken.
    broken: usize,
}

impl<'s, 'e, P, I, A, T, B> Consumer<'s, 'e, P, I> for Breaking<'_, A>
where
    P: Host,
    A: Accumulate<I, Value = ControlFlow<B, T>>,
    T: Send,
    B: Send,
{
    type Part = Folded<A::Value>;

    fn begin(&self) -> Self::Part {
        Folded {
            value: None,
            broken: usize::MAX,
        }
    }

    #[inline]
    fn take(
        &self,
        _: &mut Cx<'s, 'e, P>,
        part: &mut Self::Part,
        indices: Range<usize>,
        items: impl Iterator<Item = I>,
    ) -> ControlFlow<LeaveOut> {
        // ORDERING: Relaxed: a hint, see the head.
        if indices.start > self.found.load(Ordering::Relaxed) {
            return ControlFlow::Break(LeaveOut::Higher);
        }
        part.value = self.how.add(part.value.take(), items);
        if !matches!(part.value, Some(ControlFlow::Break(_))) {
            return ControlFlow::Continue(());
        }
        part.broken = indices.start;
        if self.wanted == Wanted::Any {
            return ControlFlow::Break(LeaveOut::All);
        }
        // ORDERING: Relaxed: a hint, see the head.
        self.found.fetch_min(indices.start, Ordering::Relaxed);
        ControlFlow::Break(LeaveOut::Higher)
    }

    fn combine(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        // With the lower break, if there is one, to the left: it is kept by the merge.
        let (left, right) = match right.broken < left.broken {
            true => (right, left),
            false => (left, right),
        };
        Folded {
            value: self.how.merge_some(left.value, right.value),
            broken: left.broken,
        }
    }
}
