//! What can be iterated over in parallel.

use super::super::raw::{Indexed, Owned, SliceMut};
use super::source::Integers;
use alloc::vec::Vec;
use core::ops::Range;

/// What [`Cx::par`](crate::task::Cx::par) iterates over: ranges of `u32`, `u64`, `usize`, `i32` and `i64`; slices, arrays and
/// vectors by reference; and vectors by value, whose items are moved out.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be iterated over in parallel",
    note = "`par` takes ranges `a..b`, slices, arrays and vectors; collect other iterators first"
)]
pub trait IntoPar {
    /// The source of the items.
    type Source: Indexed;

    /// Makes a source of this value.
    fn into_source(self) -> Self::Source;
}

macro_rules! ranges {
    ($($int:ty)*) => {$(
        impl IntoPar for Range<$int> {
            type Source = Integers<$int>;

            fn into_source(self) -> Integers<$int> {
                Integers::<$int>::new(self)
            }
        }
    )*};
}

ranges!(u32 u64 usize i32 i64);

impl<'a, T: Sync> IntoPar for &'a [T] {
    type Source = &'a [T];

    fn into_source(self) -> &'a [T] {
        self
    }
}

impl<'a, T: Sync> IntoPar for &'a Vec<T> {
    type Source = &'a [T];

    fn into_source(self) -> &'a [T] {
        self
    }
}

impl<'a, T: Sync, const N: usize> IntoPar for &'a [T; N] {
    type Source = &'a [T];

    fn into_source(self) -> &'a [T] {
        self
    }
}

impl<'a, T: Send> IntoPar for &'a mut [T] {
    type Source = SliceMut<'a, T>;

    fn into_source(self) -> SliceMut<'a, T> {
        SliceMut::new(self)
    }
}

impl<'a, T: Send> IntoPar for &'a mut Vec<T> {
    type Source = SliceMut<'a, T>;

    fn into_source(self) -> SliceMut<'a, T> {
        SliceMut::new(self)
    }
}

impl<'a, T: Send, const N: usize> IntoPar for &'a mut [T; N] {
    type Source = SliceMut<'a, T>;

    fn into_source(self) -> SliceMut<'a, T> {
        SliceMut::new(self)
    }
}

impl<T: Send> IntoPar for Vec<T> {
    type Source = Owned<T>;

    fn into_source(self) -> Owned<T> {
        Owned::new(self)
    }
}
