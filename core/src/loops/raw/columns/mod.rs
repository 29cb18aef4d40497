//! Arrays that several loops share, column by column.
//!
//! | part | what it is |
//! |---|---|
//! | [`Columns`] | a mutable slice, cut into columns of equal width; gives no access itself |
//! | [`ColumnsRef`], [`ColumnsMut`] | what an iteration may read or write: the columns that it declares |
//! | `access` | the declarations of a loop, and its body |
//! | `checked` | loops whose declarations were checked: what runs the bodies |
//!
//! # Algorithm
//! A view is made of a [`Granted`] iteration. Two positions of loops conflict if one writes a
//! column that the other one accesses. `checked` runs the positions that its dispatcher hands out:
//! each once, and none while one that conflicts with it runs. This follows from the check of the
//! declarations, which makes the dispatcher order any two positions that conflict, or fails. The
//! lock of the dispatcher, taken before and after each chunk, makes the one happen-before the
//! other.

mod access;
mod checked;

pub use access::{Access, Accesses, Push, Reads, Writes};
pub(crate) use access::{Accessed, Run};
pub(crate) use checked::Checked;

use super::super::concurrent::{Declared, Name};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut, Range};
use core::slice;

/// An array of columns that the loops of one scope share. Made by
/// [`LoopScope::columns`](crate::loops::LoopScope::columns).
///
/// A handle, without access to the columns: loops declare what they
/// [read](crate::loops::ConcurrentLoop::reads) and [write](crate::loops::ConcurrentLoop::writes).
///
/// It cannot be used in another scope, which would not know what the loops of this one access:
/// ```compile_fail,E0521
/// # use tautline_core::{loops::Columns, port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     let (mut data, mut kept) = ([0; 8], None);
///     _ = cx.concurrent(|loops| kept = Some(loops.columns("data", &mut data, 1)));
/// }
/// ```
/// The items are borrowed while the loops may run:
/// ```compile_fail,E0499
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     let mut data = [0; 8];
///     _ = cx.concurrent(|loops| {
///         let one = loops.columns("one", &mut data, 1);
///         let two = loops.columns("two", &mut data, 1);
///     });
/// }
/// ```
/// A view does not outlive its iteration:
/// ```compile_fail
/// # use std::sync::Mutex;
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     let (mut data, kept) = ([0; 8], Mutex::new(None));
///     _ = cx.concurrent(|loops| {
///         let data = loops.columns("data", &mut data, 1);
///         let each = loops.par_for(0..8).writes(&data, |c| c..c + 1);
///         each.run(|_, (view,)| *kept.lock().unwrap() = Some(view));
///     });
/// }
/// ```
/// Without these errors it compiles:
/// ```
/// # use std::sync::Mutex;
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     let (mut data, kept) = ([0; 8], Mutex::new(None));
///     _ = cx.concurrent(|loops| {
///         let data = loops.columns("data", &mut data, 1);
///         let each = loops.par_for(0..8).writes(&data, |c| c..c + 1);
///         each.run(|c, (view,)| *kept.lock().unwrap() = Some(view[c][0]));
///     });
/// }
/// ```
pub struct Columns<'s, T> {
    base: *mut T,
    count: usize,
    width: usize,
    number: usize,
    name: &'static str,
    /// Invariant, so that a handle stays with its scope.
    scope: PhantomData<fn(&'s ()) -> &'s ()>,
}

// SAFETY: a handle gives no access. Views of it move items between threads and share them, for
// which `columns` requires `T: Send + Sync`.
unsafe impl<T: Send + Sync> Send for Columns<'_, T> {}
// SAFETY: as for Send: a shared handle gives no access, and its views require `T: Send + Sync`.
unsafe impl<T: Send + Sync> Sync for Columns<'_, T> {}

impl<T> Clone for Columns<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Columns<'_, T> {}

impl<T> fmt::Debug for Columns<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, width, name) = (self.count, self.width, self.name);
        write!(f, "Columns({name}: {count} of {width})")
    }
}

impl<T> Columns<'_, T> {
    /// Returns the number of columns.
    pub fn count(&self) -> usize {
        self.count
    }
}

/// An array of a scope, as messages name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    pub(crate) name: &'static str,
    /// Its columns.
    pub(crate) count: usize,
}

/// The arrays of one scope. Each is borrowed mutably while the scope lives, so no two overlap.
#[derive(Debug, Default)]
pub(crate) struct Arrays<'s> {
    all: alloc::vec::Vec<Array>,
    scope: PhantomData<fn(&'s ()) -> &'s ()>,
}

impl<'s> Arrays<'s> {
    pub(crate) fn all(&self) -> &[Array] {
        &self.all
    }

    /// Adds an array, cut into columns of `width` items.
    pub(crate) fn add<'env: 's, T: Send + Sync>(
        &mut self,
        name: &'static str,
        data: &'env mut [T],
        width: usize,
    ) -> Columns<'s, T> {
        let len = data.len();
        assert!(
            width > 0 && len % width == 0,
            "`{name}`: {len} items are no columns of {width}: the width must be positive and divide the items"
        );
        let (number, count) = (self.all.len(), len / width);
        self.all.push(Array { name, count });
        Columns {
            base: data.as_mut_ptr(),
            count,
            width,
            number,
            name,
            scope: PhantomData,
        }
    }
}

/// An iteration that runs. Made by `Run::run` only, whose caller excludes other accesses to what
/// the iteration accesses.
#[derive(Debug)]
pub struct Granted<'g> {
    index: usize,
    /// Its place in the declarations.
    at: usize,
    of: &'g Name,
    declared: &'g [Declared],
}

impl Granted<'_> {
    /// Returns the columns of the array that was declared as the `access`th.
    #[inline]
    fn columns(&self, access: usize) -> Range<usize> {
        self.declared[access].columns(self.at)
    }
}

/// The columns that an iteration reads; `view[c]` is column `c` of the array.
pub struct ColumnsRef<'v, T> {
    part: Part<'v, T>,
}

/// The columns that an iteration writes; `view[c]` is column `c` of the array.
pub struct ColumnsMut<'v, T> {
    part: Part<'v, T>,
}

/// Some columns of an array.
struct Part<'v, T> {
    array: Columns<'v, T>,
    columns: Range<usize>,
    index: usize,
    of: &'v Name,
}

impl<'v, T> Part<'v, T> {
    /// Returns these columns for the iteration that was granted.
    fn new(array: &Columns<'_, T>, columns: Range<usize>, granted: &Granted<'v>) -> Self {
        let (count, name) = (array.count, array.name);
        assert!(
            columns.end <= count,
            "columns {columns:?} of `{name}`, which has {count}"
        );
        Self {
            array: Columns {
                scope: PhantomData,
                ..*array
            },
            columns,
            index: granted.index,
            of: granted.of,
        }
    }

    /// Returns the start of a column.
    #[inline]
    fn column(&self, column: usize, verb: &str) -> *mut T {
        if !self.columns.contains(&column) {
            self.refuse(column, verb);
        }
        // SAFETY: the column is one of the part, which `new` has found to be inside of the array.
        unsafe { self.array.base.add(column * self.array.width) }
    }

    #[cold]
    fn refuse(&self, column: usize, verb: &str) -> ! {
        let (of, index, declared, name) = (self.of, self.index, &self.columns, self.array.name);
        panic!(
            "loop {of}: iteration {index} {verb} column {column} of `{name}`, but declares columns {declared:?}"
        );
    }
}

impl<T> ColumnsRef<'_, T> {
    /// Returns the numbers of the columns.
    pub fn columns(&self) -> Range<usize> {
        self.part.columns.clone()
    }
}

impl<T> Index<usize> for ColumnsRef<'_, T> {
    type Output = [T];

    #[inline]
    fn index(&self, column: usize) -> &[T] {
        let base = self.part.column(column, "reads");
        // SAFETY: the column is inside of the array, and the view was made for a granted iteration
        // that reads it: no conflicting one, which could write it, runs while the view exists.
        unsafe { slice::from_raw_parts(base, self.part.array.width) }
    }
}

impl<T> ColumnsMut<'_, T> {
    /// Returns the numbers of the columns.
    pub fn columns(&self) -> Range<usize> {
        self.part.columns.clone()
    }
}

impl<T> Index<usize> for ColumnsMut<'_, T> {
    type Output = [T];

    #[inline]
    fn index(&self, column: usize) -> &[T] {
        let base = self.part.column(column, "writes");
        // SAFETY: the column is inside of the array, and the view was made for a granted iteration
        // that writes it: no other iteration accesses it while the view exists.
        unsafe { slice::from_raw_parts(base, self.part.array.width) }
    }
}

impl<T> IndexMut<usize> for ColumnsMut<'_, T> {
    #[inline]
    fn index_mut(&mut self, column: usize) -> &mut [T] {
        let base = self.part.column(column, "writes");
        // SAFETY: the column is inside of the array, and the view, which is borrowed mutably, was
        // made for a granted iteration that writes it: no other iteration accesses it, nor another
        // view of this one.
        unsafe { slice::from_raw_parts_mut(base, self.part.array.width) }
    }
}

impl<T> fmt::Debug for ColumnsRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.part.columns, self.part.array)
    }
}

impl<T> fmt::Debug for ColumnsMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.part.columns, self.part.array)
    }
}
