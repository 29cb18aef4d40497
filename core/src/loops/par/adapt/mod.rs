//! Adaptors: loops over the results of functions of the items.
//!
//! | part | what it has |
//! |---|---|
//! | here | adaptors of any source |
//! | `functions` | the sources of these |
//! | `positions` | adaptors of sources whose items have positions |

mod functions;
mod positions;

use super::super::raw::{Chain, Source};
use super::source::IntoPar;
use super::{Par, Try};
use crate::port::Host;
use crate::sync::AtomicUsize;
use functions::{Filter, FilterMap, FlatMap, Map, MapInit, UntilFailure};

impl<'x, 's, 'e, P: Host, S: Source> Par<'x, 's, 'e, P, S> {
    /// Replaces each item by what `f` returns for it.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let even: Vec<_> = cx.par(0..4).map(|i| 2 * i).collect();
    /// assert_eq!(even, [0, 2, 4, 6]);
    /// # }
    /// ```
    pub fn map<R, F: Fn(S::Item) -> R + Sync>(self, f: F) -> Par<'x, 's, 'e, P, Map<S, F>> {
        self.with(|source| Map { source, f })
    }

    /// Replaces each item by what `f` returns for it and a value made by `init`, such as a buffer
    /// or a generator of random numbers. A worker that takes part in the loop makes one before its
    /// first item, keeps it for its further ones, and drops it. Which items share a value is not
    /// defined.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let spell = |buffer: &mut String, n: u32| {
    ///     buffer.clear();
    ///     buffer.extend((0..n).map(|_| 'I'));
    ///     buffer.len()
    /// };
    /// assert_eq!(cx.par(0..100u32).map_init(String::new, spell).sum::<usize>(), 4950);
    /// # }
    /// ```
    #[doc(alias = "map_with")]
    pub fn map_init<T, R, N, F>(self, init: N, f: F) -> Par<'x, 's, 'e, P, MapInit<S, T, N, F>>
    where
        N: Fn() -> T + Sync,
        F: Fn(&mut T, S::Item) -> R + Sync,
    {
        self.with(|source| MapInit::new(source, init, f))
    }

    /// Leaves out the items for which `f` returns false.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let thirds: Vec<_> = cx.par(0..10).filter(|i| i % 3 == 0).collect();
    /// assert_eq!(thirds, [0, 3, 6, 9]);
    /// # }
    /// ```
    pub fn filter<F: Fn(&S::Item) -> bool + Sync>(self, f: F) -> Par<'x, 's, 'e, P, Filter<S, F>> {
        self.with(|source| Filter { source, f })
    }

    /// Replaces each item by what `f` returns for it, and leaves out those for which that is
    /// `None`.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let numbers = cx.par(&["7", "seven", "8"]).filter_map(|text| text.parse::<u32>().ok());
    /// assert_eq!(numbers.sum::<u32>(), 15);
    /// # }
    /// ```
    pub fn filter_map<R, F>(self, f: F) -> Par<'x, 's, 'e, P, FilterMap<S, F>>
    where
        F: Fn(S::Item) -> Option<R> + Sync,
    {
        self.with(|source| FilterMap { source, f })
    }

    /// Replaces each item by all items of what `f` returns for it. These are produced by one
    /// worker; where they should be divided, too, a loop [in the loop](Par::with_cx) does so.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let pairs: Vec<_> = cx.par(0..3).flat_map(|i| (0..i).map(move |k| (i, k))).collect();
    /// assert_eq!(pairs, [(1, 0), (2, 0), (2, 1)]);
    /// # }
    /// ```
    #[doc(alias = "flat_map_iter")]
    pub fn flat_map<R, F>(self, f: F) -> Par<'x, 's, 'e, P, FlatMap<S, F>>
    where
        R: IntoIterator,
        F: Fn(S::Item) -> R + Sync,
    {
        self.with(|source| FlatMap { source, f })
    }

    /// Replaces each item, which is a collection, by its items.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let lists = vec![vec![1, 2], vec![], vec![3]];
    /// let numbers: Vec<i32> = cx.par(lists).flatten().collect();
    /// assert_eq!(numbers, [1, 2, 3]);
    /// # }
    /// ```
    #[doc(alias = "flatten_iter")]
    #[expect(clippy::type_complexity, reason = "an alias cannot contain `impl`")]
    pub fn flatten(self) -> Par<'x, 's, 'e, P, FlatMap<S, impl Fn(S::Item) -> S::Item + Sync>>
    where
        S::Item: IntoIterator,
    {
        self.flat_map(|items| items)
    }

    /// Calls `f` with a reference to each item before it is passed on.
    ///
    /// ```
    /// # use core::sync::atomic::{AtomicUsize, Ordering};
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let seen = AtomicUsize::new(0);
    /// let sum: u64 = cx.par(0..10u64).inspect(|_| _ = seen.fetch_add(1, Ordering::Relaxed)).sum();
    /// assert_eq!((sum, seen.into_inner()), (45, 10));
    /// # }
    /// ```
    #[expect(clippy::type_complexity, reason = "an alias cannot contain `impl`")]
    pub fn inspect<F: Fn(&S::Item) + Sync>(
        self,
        f: F,
    ) -> Par<'x, 's, 'e, P, Map<S, impl Fn(S::Item) -> S::Item + Sync>> {
        self.map(move |item| {
            f(&item);
            item
        })
    }

    /// Changes each item before it is passed on.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let words = vec!["a".to_string(), "b".to_string()];
    /// let words: Vec<_> = cx.par(words).update(|word| word.push('!')).collect();
    /// assert_eq!(words, ["a!", "b!"]);
    /// # }
    /// ```
    #[expect(clippy::type_complexity, reason = "an alias cannot contain `impl`")]
    pub fn update<F: Fn(&mut S::Item) + Sync>(
        self,
        f: F,
    ) -> Par<'x, 's, 'e, P, Map<S, impl Fn(S::Item) -> S::Item + Sync>> {
        self.map(move |mut item| {
            f(&mut item);
            item
        })
    }

    /// Iterates over the items, then over those of `other`.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let numbers: Vec<u32> = cx.par(0..3).chain(7..9).collect();
    /// assert_eq!(numbers, [0, 1, 2, 7, 8]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// If there are more than `usize::MAX` items.
    pub fn chain<I>(self, other: I) -> Par<'x, 's, 'e, P, Chain<S, I::Source>>
    where
        I: IntoPar<Source: Source<Item = S::Item>>,
    {
        self.with(|source| Chain::new(source, other.into_source()))
    }

    /// Leaves out items after one that has failed.
    pub(super) fn until_failure(self) -> Par<'x, 's, 'e, P, UntilFailure<S>>
    where
        S::Item: Try,
    {
        let failed = AtomicUsize::new(usize::MAX);
        self.with(|source| UntilFailure { source, failed })
    }
}

impl<'x, 's, 'e, 'a, P: Host, T: 'a, S: Source<Item = &'a T>> Par<'x, 's, 'e, P, S> {
    /// Copies the items, which are references.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(&[3, 1, 2]).copied().max(), Some(3));
    /// # }
    /// ```
    pub fn copied(self) -> Par<'x, 's, 'e, P, Map<S, impl Fn(&'a T) -> T + Sync>>
    where
        T: Copy,
    {
        self.map(|item: &T| *item)
    }

    /// Clones the items, which are references.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let words = ["a".to_string(), "b".to_string()];
    /// let again: Vec<String> = cx.par(&words).cloned().collect();
    /// assert_eq!(again, words);
    /// # }
    /// ```
    pub fn cloned(self) -> Par<'x, 's, 'e, P, Map<S, impl Fn(&'a T) -> T + Sync>>
    where
        T: Clone,
    {
        self.map(|item: &T| item.clone())
    }
}
