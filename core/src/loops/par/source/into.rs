//! The values that a loop can be made of.

use super::super::super::raw::{Owned, SliceMut, Source};
use super::text::Text;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// Sources of [`Cx::par`](crate::task::Cx::par): ranges of integers and characters, with or without
/// their ends; slices, arrays, boxed slices and vectors by reference; arrays, boxed slices and
/// vectors by value, whose items are moved out; and strings by reference.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be iterated over in parallel",
    note = "`par` takes ranges `a..b` and `a..=b`, slices, arrays, vectors and strings; collect other iterators first"
)]
pub trait IntoPar {
    /// The source of the items.
    type Source: Source;

    /// Makes a source of this value.
    fn into_source(self) -> Self::Source;
}

macro_rules! shared {
    ($([$($const:tt)*] $slice:ty;)*) => {$(
        impl<'a, T: Sync $($const)*> IntoPar for &'a $slice {
            type Source = &'a [T];

            fn into_source(self) -> &'a [T] {
                self
            }
        }
    )*};
}

shared! {
    [] [T];
    [] Vec<T>;
    [] Box<[T]>;
    [, const N: usize] [T; N];
}

macro_rules! unique {
    ($([$($const:tt)*] $slice:ty;)*) => {$(
        impl<'a, T: Send $($const)*> IntoPar for &'a mut $slice {
            type Source = SliceMut<'a, T>;

            fn into_source(self) -> SliceMut<'a, T> {
                SliceMut::new(self)
            }
        }
    )*};
}

unique! {
    [] [T];
    [] Vec<T>;
    [] Box<[T]>;
    [, const N: usize] [T; N];
}

macro_rules! owned {
    ($([$($const:tt)*] $slice:ty;)*) => {$(
        impl<T: Send $($const)*> IntoPar for $slice {
            type Source = Owned<T>;

            fn into_source(self) -> Owned<T> {
                Owned::new(self.into())
            }
        }
    )*};
}

owned! {
    [] Vec<T>;
    [] Box<[T]>;
    [, const N: usize] [T; N];
}

impl<'a> IntoPar for &'a str {
    type Source = Text<'a>;

    fn into_source(self) -> Text<'a> {
        Text(self)
    }
}

impl<'a> IntoPar for &'a String {
    type Source = Text<'a>;

    fn into_source(self) -> Text<'a> {
        Text(self)
    }
}
