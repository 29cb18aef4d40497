//! Declared accesses of a loop, and its body.

use super::super::super::concurrent::{Declared, Outline};
use super::{Columns, ColumnsMut, ColumnsRef, Granted, Part};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// The arrays that a loop accesses, as a tuple of [`Reads`] and [`Writes`], in the order of the
/// declarations.
///
/// Sealed: the iterations that it takes can neither be named nor made outside.
pub trait Accesses: Sync {
    /// The arguments of the body.
    type Views<'v>;

    /// Returns the views of an iteration.
    fn views<'v>(&self, granted: &Granted<'v>) -> Self::Views<'v>;
}

/// A tuple of declarations to which one more is added.
pub trait Push<X> {
    /// The tuple with one more.
    type Out;

    /// Adds it.
    fn push(self, access: X) -> Self::Out;
}

/// The columns of an array that a loop reads.
#[derive(Debug)]
pub struct Reads<'s, T>(Columns<'s, T>);

/// The columns of an array that a loop writes.
#[derive(Debug)]
pub struct Writes<'s, T>(Columns<'s, T>);

/// A declaration of a loop: [`Reads`] or [`Writes`]. Sealed, as [`Accesses`] is.
pub trait Access: Sync {
    /// The arguments of an iteration.
    type View<'v>;

    /// Returns the columns that an iteration accesses.
    fn view<'v>(&self, columns: Range<usize>, granted: &Granted<'v>) -> Self::View<'v>;
}

impl<T: Send + Sync> Access for Reads<'_, T> {
    type View<'v> = ColumnsRef<'v, T>;

    fn view<'v>(&self, columns: Range<usize>, granted: &Granted<'v>) -> ColumnsRef<'v, T> {
        let part = Part::new(&self.0, columns, granted);
        ColumnsRef { part }
    }
}

impl<T: Send + Sync> Access for Writes<'_, T> {
    type View<'v> = ColumnsMut<'v, T>;

    fn view<'v>(&self, columns: Range<usize>, granted: &Granted<'v>) -> ColumnsMut<'v, T> {
        let part = Part::new(&self.0, columns, granted);
        ColumnsMut { part }
    }
}

impl Accesses for () {
    type Views<'v> = ();

    #[inline]
    fn views<'v>(&self, _: &Granted<'v>) {}
}

macro_rules! accesses {
    ($($A:ident $at:tt),*) => {
        impl<$($A: Access),*> Accesses for ($($A,)*) {
            type Views<'v> = ($($A::View<'v>,)*);

            #[inline]
            fn views<'v>(&self, granted: &Granted<'v>) -> Self::Views<'v> {
                ($(self.$at.view(granted.columns($at), granted),)*)
            }
        }
    };
}

accesses!(A 0);
accesses!(A 0, B 1);
accesses!(A 0, B 1, C 2);
accesses!(A 0, B 1, C 2, D 3);

macro_rules! push {
    ($($A:ident $at:tt),*) => {
        impl<X, $($A),*> Push<X> for ($($A,)*) {
            type Out = ($($A,)* X,);

            fn push(self, access: X) -> Self::Out {
                ($(self.$at,)* access,)
            }
        }
    };
}

push!();
push!(A 0);
push!(A 0, B 1);
push!(A 0, B 1, C 2);

/// The arrays that a loop accesses, each with the columns of its iterations.
#[derive(Debug)]
pub(crate) struct Accessed<A> {
    arrays: A,
    /// One for each of `arrays`.
    declared: Vec<Declared>,
}

impl Accessed<()> {
    pub(crate) const NONE: Self = Self {
        arrays: (),
        declared: Vec::new(),
    };
}

impl<A> Accessed<A> {
    /// Adds an array that the iterations read; `of` returns the columns of each.
    pub(crate) fn reads<'s, T>(
        self,
        array: &Columns<'s, T>,
        iterations: Range<usize>,
        of: impl Fn(usize) -> Range<usize>,
    ) -> Accessed<A::Out>
    where
        A: Push<Reads<'s, T>>,
    {
        let declared = Declared::new(array.number, false, iterations, of);
        self.push(Reads(*array), declared)
    }

    /// Adds an array that the iterations write; `of` returns the columns of each.
    pub(crate) fn writes<'s, T>(
        self,
        array: &Columns<'s, T>,
        iterations: Range<usize>,
        of: impl Fn(usize) -> Range<usize>,
    ) -> Accessed<A::Out>
    where
        A: Push<Writes<'s, T>>,
    {
        let declared = Declared::new(array.number, true, iterations, of);
        self.push(Writes(*array), declared)
    }

    fn push<X>(mut self, access: X, declared: Declared) -> Accessed<A::Out>
    where
        A: Push<X>,
    {
        self.declared.push(declared);
        Accessed {
            arrays: self.arrays.push(access),
            declared: self.declared,
        }
    }

    /// Adds the body.
    pub(crate) fn with<'s, F>(self, body: F) -> Box<dyn Run + 's>
    where
        A: Accesses + 's,
        F: for<'v> Fn(usize, A::Views<'v>) + Sync + 's,
    {
        Box::new(Body {
            accessed: self,
            body,
        })
    }
}

/// The body of a loop, with what it accesses.
struct Body<A, F> {
    accessed: Accessed<A>,
    body: F,
}

/// A body, whatever it accesses.
pub(crate) trait Run: Sync {
    /// Returns the accesses of the iterations.
    fn declared(&self) -> &[Declared];

    /// Runs consecutive positions of the loop that `outline` describes.
    ///
    /// # Safety
    /// While a position runs, the caller must run no other position of any loop with the same
    /// arrays that accesses a column which one of the two writes, nor this one a second time. The
    /// earlier run of such a position must happen-before the call.
    unsafe fn run(&self, outline: &Outline, positions: Range<usize>);
}

impl<A, F> Run for Body<A, F>
where
    A: Accesses,
    F: for<'v> Fn(usize, A::Views<'v>) + Sync,
{
    fn declared(&self) -> &[Declared] {
        &self.accessed.declared
    }

    unsafe fn run(&self, outline: &Outline, positions: Range<usize>) {
        let declared = &*self.accessed.declared;
        for position in positions {
            let at = outline.at(position);
            let granted = Granted {
                index: outline.index(at),
                at,
                of: outline.name(),
                declared,
            };
            (self.body)(granted.index, self.accessed.arrays.views(&granted));
        }
    }
}

impl fmt::Debug for dyn Run + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.declared()).finish()
    }
}
