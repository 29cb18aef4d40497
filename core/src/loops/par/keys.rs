//! Extremes and sorts by keys and comparisons.

use super::super::raw::{SliceMut, Source};
use super::Par;
use crate::port::Host;
use alloc::vec::Vec;
use core::cmp::Ordering;

impl<P: Host, S: Source<Item: Send>> Par<'_, '_, '_, P, S> {
    /// Returns a smallest item by a comparison; of several as [`min`](Self::min).
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(&[2.5, 0.5]).copied().min_by(f64::total_cmp), Some(0.5));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `compare`.
    pub fn min_by(
        self,
        compare: impl Fn(&S::Item, &S::Item) -> Ordering + Sync,
    ) -> Option<S::Item> {
        self.reduce_with(|a, b| match compare(&a, &b).is_gt() {
            true => b,
            false => a,
        })
    }

    /// Returns a largest item by a comparison; of several as [`max`](Self::max).
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(&[2.5, 0.5]).copied().max_by(f64::total_cmp), Some(2.5));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `compare`.
    pub fn max_by(
        self,
        compare: impl Fn(&S::Item, &S::Item) -> Ordering + Sync,
    ) -> Option<S::Item> {
        self.reduce_with(|a, b| match compare(&a, &b).is_gt() {
            true => a,
            false => b,
        })
    }

    /// Returns an item whose key is smallest; of several as [`min`](Self::min).
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(&["ccc", "a", "bb"]).min_by_key(|word| word.len()), Some(&"a"));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `key` or of a comparison.
    pub fn min_by_key<K: Ord + Send>(self, key: impl Fn(&S::Item) -> K + Sync) -> Option<S::Item> {
        let keyed = self.map(|item| (key(&item), item));
        Some(keyed.min_by(|(a, _), (b, _)| a.cmp(b))?.1)
    }

    /// Returns an item whose key is largest; of several as [`max`](Self::max).
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(&["ccc", "a", "bb"]).max_by_key(|word| word.len()), Some(&"ccc"));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `key` or of a comparison.
    pub fn max_by_key<K: Ord + Send>(self, key: impl Fn(&S::Item) -> K + Sync) -> Option<S::Item> {
        let keyed = self.map(|item| (key(&item), item));
        Some(keyed.max_by(|(a, _), (b, _)| a.cmp(b))?.1)
    }
}

impl<P: Host, T: Send> Par<'_, '_, '_, P, SliceMut<'_, T>> {
    /// Sorts the slice as [`sort`](Self::sort), by keys. `key` is called for each comparison.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut words = ["ccc", "a", "bb", "b"];
    /// cx.par(&mut words).sort_by_key(|word| word.len());
    /// assert_eq!(words, ["a", "b", "bb", "ccc"]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`sort_unstable`](Self::sort_unstable).
    pub fn sort_by_key<K: Ord>(self, key: impl Fn(&T) -> K + Sync) {
        self.sort_by(|a, b| key(a).cmp(&key(b)));
    }

    /// Sorts the slice as [`sort_unstable`](Self::sort_unstable), by keys. `key` is called for each
    /// comparison.
    ///
    /// ```
    /// # use core::cmp::Reverse;
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut numbers = [2, 3, 1];
    /// cx.par(&mut numbers).sort_unstable_by_key(|n| Reverse(*n));
    /// assert_eq!(numbers, [3, 2, 1]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`sort_unstable`](Self::sort_unstable).
    pub fn sort_unstable_by_key<K: Ord>(self, key: impl Fn(&T) -> K + Sync) {
        self.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    }

    /// Sorts the slice as [`sort`](Self::sort), by keys, of which each is computed once. Allocates
    /// the keys.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut numbers = [10, 9, -3, 2];
    /// cx.par(&mut numbers).sort_by_cached_key(|n: &i32| n.to_string());
    /// assert_eq!(numbers, [-3, 10, 2, 9]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`sort_unstable`](Self::sort_unstable).
    pub fn sort_by_cached_key<K: Ord + Send>(self, key: impl Fn(&T) -> K + Sync) {
        let (cx, slice, settings) = (self.cx, self.source.into_slice(), self.settings);
        let keys = cx.par(&mut *slice).of(settings).enumerate();
        let mut keys: Vec<(K, usize)> = keys.map(|(at, item)| (key(item), at)).collect();
        // By key and position, so the order of equal keys is kept.
        cx.par(&mut keys).sort_unstable();
        for to in 0..slice.len() {
            // An item whose place was taken before has moved to where the item of that place came
            // from.
            let mut from = keys[to].1;
            while from < to {
                from = keys[from].1;
            }
            keys[to].1 = from;
            slice.swap(to, from);
        }
    }
}
