//! Collections of the items of a loop.

use super::super::body::LeaveOut;
use super::super::raw::{Consumer, Driven, PerIndex, Source, collect, try_collect};
use super::{Par, Try};
use crate::port::Host;
use crate::task::Cx;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::{ControlFlow, Range};

impl<P: Host, S: Source<Item: Send>> Par<'_, '_, '_, P, S> {
    /// Returns a collection of the items, in the order of the source.
    ///
    /// The workers write a vector. If `C` is one, it is returned; other collections are made of it
    /// by the calling thread, as of an iterator: so `C` is whatever [`FromIterator`] makes, in std
    /// and in other crates.
    ///
    /// ```
    /// # use std::collections::{BTreeMap, HashSet};
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let words = ["bc", "a", "bc"];
    /// let loud: Vec<String> = cx.par(&words).map(|word| word.to_uppercase()).collect();
    /// assert_eq!(loud, ["BC", "A", "BC"]);
    /// let distinct: HashSet<&str> = cx.par(&words).copied().collect();
    /// assert_eq!(distinct.len(), 2);
    /// let lengths: BTreeMap<_, _> = cx.par(&words).map(|word| (*word, word.len())).collect();
    /// assert!(lengths.into_iter().eq([("a", 1), ("bc", 2)]));
    /// let text: String = cx.par(&words).copied().collect();
    /// assert_eq!(text, "bcabc");
    /// # }
    /// ```
    ///
    /// Of items that are `Result` or `Option`, a collection of their values is made, or the first
    /// failure in the order of the source is returned. All items are produced before that;
    /// [`try_collect`](Self::try_collect) leaves out those after a failure.
    ///
    /// # Panics
    /// With a panic of an adaptor's function; items that were made by then are dropped.
    pub fn collect<C: FromIterator<S::Item>>(self) -> C {
        // std returns the same memory if `C` is a vector.
        self.into_vec().into_iter().collect()
    }

    /// Returns a collection of the items as [`collect`](Self::collect), but leaves out items after
    /// one that has failed: an `Err`, a `None`, or a `Break`. The failure that is returned is the
    /// first in the order of the source.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let parse = |text: &'static str| text.parse::<i32>().map_err(|_| text);
    /// let numbers: Result<Vec<_>, _> = cx.par(&["1", "2", "3"]).copied().map(parse).try_collect();
    /// assert_eq!(numbers, Ok(vec![1, 2, 3]));
    /// let numbers: Result<Vec<_>, _> = cx.par(&["1", "b", "c"]).copied().map(parse).try_collect();
    /// assert_eq!(numbers, Err("b"));
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`collect`](Self::collect).
    pub fn try_collect<C: FromIterator<S::Item>>(self) -> C
    where
        S::Item: Try,
    {
        self.until_failure().collect()
    }

    /// Adds the items to a collection, in the order of the source.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut squares = vec![0, 1];
    /// cx.par(2..5).map(|i| i * i).collect_into(&mut squares);
    /// assert_eq!(squares, [0, 1, 4, 9, 16]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`collect`](Self::collect). The collection is unchanged then.
    #[doc(alias("par_extend", "collect_into_vec"))]
    pub fn collect_into(self, collection: &mut impl Extend<S::Item>) {
        collection.extend(self.into_vec());
    }

    /// Returns two collections, of the items for which `f` returns true and of the others, in the
    /// order of the source.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let (even, odd): (Vec<_>, Vec<_>) = cx.par(0..7).partition(|i| i % 2 == 0);
    /// assert_eq!((even, odd), (vec![0, 2, 4, 6], vec![1, 3, 5]));
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`collect`](Self::collect).
    pub fn partition<A, B>(self, f: impl Fn(&S::Item) -> bool + Sync) -> (A, B)
    where
        A: FromIterator<S::Item>,
        B: FromIterator<S::Item>,
    {
        let put = |item, first: &mut Vec<_>, second: &mut Vec<_>| match f(&item) {
            true => first.push(item),
            false => second.push(item),
        };
        self.divide(put)
    }

    /// Returns two collections, of the first and of the second values of the items, which are
    /// pairs, in the order of the source.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let (quotients, rests): (Vec<_>, Vec<_>) = cx.par(&[7, 12]).map(|n| (n / 5, n % 5)).unzip();
    /// assert_eq!((quotients, rests), (vec![1, 2], vec![2, 2]));
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`collect`](Self::collect).
    pub fn unzip<T, U, A, B>(self) -> (A, B)
    where
        S: Source<Item = (T, U)>,
        T: Send,
        U: Send,
        A: FromIterator<T>,
        B: FromIterator<U>,
    {
        self.divide(|(left, right), first: &mut Vec<_>, second: &mut Vec<_>| {
            first.push(left);
            second.push(right);
        })
    }

    /// Returns two collections of what `put` adds to two vectors.
    fn divide<T, U, A, B>(self, put: impl Fn(S::Item, &mut Vec<T>, &mut Vec<U>) + Sync) -> (A, B)
    where
        T: Send,
        U: Send,
        A: FromIterator<T>,
        B: FromIterator<U>,
    {
        let pieces = Pieces::new(put);
        let (first, second) = Driven::run(self.cx, &self.settings, self.source, pieces);
        let first = concatenate(first).into_iter().collect();
        (first, concatenate(second).into_iter().collect())
    }

    /// Returns a vector of the items.
    fn into_vec(self) -> Vec<S::Item> {
        let source = match S::PER_INDEX {
            PerIndex::One => return collect(self.cx, &self.settings, self.source),
            PerIndex::AtMostOne => match try_collect(self.cx, &self.settings, self.source) {
                Ok(items) => return items,
                Err(source) => source,
            },
            PerIndex::Any => self.source,
        };
        let pieces = Pieces::new(|item, items: &mut Vec<_>, _: &mut Vec<()>| items.push(item));
        concatenate(Driven::run(self.cx, &self.settings, source, pieces).0)
    }
}

/// The elements that the items of consecutive indices have added to a vector.
struct Piece<T> {
    start: usize,
    end: usize,
    items: Vec<T>,
}

/// Collects in two vectors at most, if it is not known how many items there will be, or if there is
/// no memory for an item of each index.
struct Pieces<F, T, U> {
    put: F,
    collected: PhantomData<fn() -> (T, U)>,
}

impl<F, T, U> Pieces<F, T, U> {
    fn new<I>(put: F) -> Self
    where
        F: Fn(I, &mut Vec<T>, &mut Vec<U>) + Sync,
    {
        let collected = PhantomData;
        Self { put, collected }
    }
}

impl<'s, 'e, P, I, T, U, F> Consumer<'s, 'e, P, I> for Pieces<F, T, U>
where
    P: Host,
    T: Send,
    U: Send,
    F: Fn(I, &mut Vec<T>, &mut Vec<U>) + Sync,
{
    type Part = (Vec<Piece<T>>, Vec<Piece<U>>);

    fn begin(&self) -> Self::Part {
        (Vec::new(), Vec::new())
    }

    #[inline]
    fn take(
        &self,
        _: &mut Cx<'s, 'e, P>,
        (first, second): &mut Self::Part,
        indices: Range<usize>,
        items: impl Iterator<Item = I>,
    ) -> ControlFlow<LeaveOut> {
        let (first, second) = (open(first, &indices), open(second, &indices));
        items.for_each(|item| (self.put)(item, first, second));
        ControlFlow::Continue(())
    }

    fn combine(&self, mut left: Self::Part, mut right: Self::Part) -> Self::Part {
        left.0.append(&mut right.0);
        left.1.append(&mut right.1);
        left
    }
}

/// Returns the vector to which the items of `indices` are added.
fn open<'p, T>(pieces: &'p mut Vec<Piece<T>>, indices: &Range<usize>) -> &'p mut Vec<T> {
    let is_next = pieces
        .last()
        .is_some_and(|piece| piece.end == indices.start);
    if !is_next {
        pieces.push(Piece {
            start: indices.start,
            end: indices.end,
            items: Vec::new(),
        });
    }
    let last = pieces.len() - 1;
    pieces[last].end = indices.end;
    &mut pieces[last].items
}

/// Returns the items of all pieces in the order of their indices.
fn concatenate<T>(mut pieces: Vec<Piece<T>>) -> Vec<T> {
    pieces.sort_unstable_by_key(|piece| piece.start);
    let len: usize = pieces.iter().map(|piece| piece.items.len()).sum();
    let mut pieces = pieces.into_iter();
    let mut all = pieces.next().map_or_else(Vec::new, |piece| piece.items);
    all.reserve_exact(len - all.len());
    for mut piece in pieces {
        all.append(&mut piece.items);
    }
    all
}
