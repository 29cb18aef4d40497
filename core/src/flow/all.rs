//! AND: ready when every cell of a list is full.
//!
//! # Algorithm
//! A walker: the node waits in one cell at a time, and the put that releases it continues at the
//! next one. So one node is enough for any number of cells, and no counter is shared. (Chatterjee
//! 2013 leaves the implementation open.)
//!
//! # Words
//! `index`: accessed by the owner of the node, which is its registrar first and then each put in
//! turn; ordered by `latch.E1` and `latch.E2` of the cells.

use super::ddf::Ddf;
use super::latch::Latch;
use super::node::{NodeBox, Waiter};
use super::reference::{CellRef, Owner};
use alloc::vec::Vec;
use core::ptr::NonNull;

/// The value of [`All::index`] once the last cell was visited.
const THROUGH: usize = usize::MAX;
/// The reason why values are there.
const FULL: &str = "every cell was full when it was visited";

/// Cells that are waited for together, and what their values become: a cell by reference, an input
/// that owns its cell, a tuple of up to eight of either, and arrays, slices or `Vec`s.
///
/// Inputs are used up by the wait: [`into_values`](Self::into_values) takes them by value, so an
/// input may move the value out of a cell that it owns. A wait that is cancelled drops them.
///
/// An input that owns its cell is one end of a cycle while it waits: the cell refers to the waiter,
/// which owns the input. The cycle ends when the cell is put, or when the wait is cancelled.
///
/// ```
/// # use std::sync::Arc;
/// use tautline_core::flow::{CellRef, Ddf, Inputs, OneInput, when_all};
///
/// /// The length of a text in a cell that several waits own.
/// struct Length(Arc<Ddf<String>>);
///
/// // SAFETY: one cell, always the same; nothing panics.
/// unsafe impl<'a> Inputs<'a> for Length {
///     type Values = usize;
///
///     fn count(&self) -> usize {
///         1
///     }
///
///     fn latch_at(&self, index: usize) -> Option<CellRef<'a>> {
///         (index == 0).then(|| CellRef::shared(Arc::clone(&self.0), Ddf::latch))
///     }
///
///     fn is_full(&self) -> bool {
///         self.0.is_full()
///     }
///
///     fn into_values(self) -> usize {
///         self.0.get().map_or(0, String::len)
///     }
/// }
///
/// // SAFETY: one cell.
/// unsafe impl OneInput<'_> for Length {}
///
/// let text = Arc::new(Ddf::new());
/// let lengths = vec![Length(Arc::clone(&text)), Length(Arc::clone(&text))];
/// when_all(lengths, |lengths: Vec<usize>| assert_eq!(lengths, [5, 5]));
/// text.put("ropes".into()).unwrap();
/// assert_eq!(Arc::strong_count(&text), 1);
/// ```
///
/// # Safety
/// The implementor must ensure that no method panics but [`into_values`](Self::into_values), nor
/// the drop of a result of `latch_at` while the inputs exist, and that `count` and the cells of
/// `latch_at` stay the same. A scope refers to its waiters: a panic would drop one of them too
/// early.
pub unsafe trait Inputs<'a>: Sized {
    /// The values of all cells, in the same arrangement.
    type Values;

    /// Whether a cell may be a [`shared`](CellRef::shared) one. With false, waits are shorter by
    /// some instructions, and a share is leaked.
    const OWNS: bool = true;

    /// Returns the number of cells. Accesses none of them.
    fn count(&self) -> usize;

    /// Returns the cell at `index`; `None` past the end.
    fn latch_at(&self, index: usize) -> Option<CellRef<'a>>;

    /// Returns whether the cell at `index` is full; `None` past the end. A wait calls this before
    /// `latch_at`, so that it shares only cells in which it waits. Provided: by `latch_at`.
    #[inline]
    fn is_full_at(&self, index: usize) -> Option<bool> {
        self.latch_at(index).map(|cell| cell.is_full())
    }

    /// Returns whether every cell is full.
    fn is_full(&self) -> bool;

    /// Returns whether a cell is full without a value, as the source of values has failed: a task
    /// that waits cancels its finish then, and is not run. Called once every cell is full.
    /// Provided: returns false.
    #[inline]
    fn is_missing(&self) -> bool {
        false
    }

    /// Returns the values. Called once every cell is full, by the thread that continues.
    ///
    /// # Panics
    /// If a cell is empty, or full without a value.
    fn into_values(self) -> Self::Values;
}

/// Inputs of one cell, of which arrays and `Vec`s may consist.
///
/// # Safety
/// The implementor must ensure that [`count`](Inputs::count) is 1.
pub unsafe trait OneInput<'a>: Inputs<'a> {}

// SAFETY: the reference is to one cell; nothing panics once it is full.
unsafe impl<'a, T> Inputs<'a> for &'a Ddf<T> {
    type Values = &'a T;
    const OWNS: bool = false;

    fn count(&self) -> usize {
        1
    }

    #[inline]
    fn latch_at(&self, index: usize) -> Option<CellRef<'a>> {
        (index == 0).then(|| CellRef::borrowed(self.latch()))
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.latch().is_full()
    }

    #[inline]
    fn into_values(self) -> &'a T {
        self.get().expect(FULL)
    }
}

// SAFETY: one cell.
unsafe impl<'a, T> OneInput<'a> for &'a Ddf<T> {}

// SAFETY: an array does not change; nothing panics once its cells are full.
unsafe impl<'a, I: OneInput<'a>, const N: usize> Inputs<'a> for [I; N] {
    type Values = [I::Values; N];
    const OWNS: bool = I::OWNS;

    fn count(&self) -> usize {
        N
    }

    fn latch_at(&self, index: usize) -> Option<CellRef<'a>> {
        self.get(index)?.latch_at(0)
    }

    fn is_full_at(&self, index: usize) -> Option<bool> {
        self.get(index)?.is_full_at(0)
    }

    fn is_full(&self) -> bool {
        self.iter().all(I::is_full)
    }

    fn is_missing(&self) -> bool {
        self.iter().any(I::is_missing)
    }

    fn into_values(self) -> [I::Values; N] {
        self.map(I::into_values)
    }
}

// SAFETY: a slice does not change; nothing panics once its cells are full.
unsafe impl<'a, T> Inputs<'a> for &[&'a Ddf<T>] {
    type Values = Vec<&'a T>;
    const OWNS: bool = false;

    fn count(&self) -> usize {
        self.len()
    }

    fn latch_at(&self, index: usize) -> Option<CellRef<'a>> {
        self.get(index)?.latch_at(0)
    }

    fn is_full(&self) -> bool {
        self.iter().all(|cell| cell.latch().is_full())
    }

    fn into_values(self) -> Vec<&'a T> {
        self.iter().map(|cell| cell.into_values()).collect()
    }
}

// SAFETY: the vector is not changed; nothing panics once its cells are full.
unsafe impl<'a, I: OneInput<'a>> Inputs<'a> for Vec<I> {
    type Values = Vec<I::Values>;
    const OWNS: bool = I::OWNS;

    fn count(&self) -> usize {
        self.len()
    }

    fn latch_at(&self, index: usize) -> Option<CellRef<'a>> {
        self.get(index)?.latch_at(0)
    }

    fn is_full_at(&self, index: usize) -> Option<bool> {
        self.get(index)?.is_full_at(0)
    }

    fn is_full(&self) -> bool {
        self.iter().all(I::is_full)
    }

    fn is_missing(&self) -> bool {
        self.iter().any(I::is_missing)
    }

    fn into_values(self) -> Vec<I::Values> {
        self.into_iter().map(I::into_values).collect()
    }
}

/// Calls a method of the element of a tuple that has the cell at an index, with the index there.
macro_rules! element {
    ($tuple:ident, $index:ident, $method:ident, $($at:tt)+) => {{
        $(
            let count = $tuple.$at.count();
            if $index < count {
                return $tuple.$at.$method($index);
            }
            let $index = $index - count;
        )+
        _ = $index;
        None
    }};
}

macro_rules! tuple {
    ($($T:ident $at:tt),+) => {
        // SAFETY: the elements satisfy it.
        unsafe impl<'a, $($T: Inputs<'a>),+> Inputs<'a> for ($($T,)+) {
            type Values = ($($T::Values,)+);
            const OWNS: bool = false $(|| $T::OWNS)+;

            #[inline]
            fn count(&self) -> usize {
                0 $(+ self.$at.count())+
            }

            #[inline]
            fn latch_at(&self, index: usize) -> Option<CellRef<'a>> {
                element!(self, index, latch_at, $($at)+)
            }

            #[inline]
            fn is_full_at(&self, index: usize) -> Option<bool> {
                element!(self, index, is_full_at, $($at)+)
            }

            #[inline]
            fn is_full(&self) -> bool {
                true $(&& self.$at.is_full())+
            }

            #[inline]
            fn is_missing(&self) -> bool {
                false $(|| self.$at.is_missing())+
            }

            #[inline]
            fn into_values(self) -> Self::Values {
                ($(self.$at.into_values(),)+)
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// The continuation of a wait: a closure, or a task that becomes ready.
pub trait Ready<V>: Sized {
    /// Continues with the values. Called once: by the put that completes the wait, on its thread,
    /// or by the registration if nothing is missing.
    fn ready(self, values: V);

    /// As [`ready`](Self::ready) for AND, with the node that waited. An implementation that keeps
    /// the node (see [`NodeBox::into_raw`]) needs no other memory until it takes the values, by
    /// [`NodeBox::open`].
    fn ready_node<'a, I>(node: NodeBox<All<I, Self>>)
    where
        I: Inputs<'a, Values = V>,
    {
        let (values, ready) = node.open();
        ready.ready(values);
    }

    /// Continues the walk of a node that has waited for one cell. An implementation that may cancel
    /// the node while it waits must not [`walk`] a cancelled one: its inputs, and what it borrows,
    /// may be gone.
    ///
    /// # Safety
    /// The caller must keep what the node borrows alive until the node is ready, dropped or
    /// cancelled.
    unsafe fn go_on<'a, I>(node: NodeBox<All<I, Self>>)
    where
        I: Inputs<'a, Values = V> + Send,
        Self: Send,
    {
        // SAFETY: the node is neither ready nor dropped, so what it borrows is alive, as the caller
        // ensures.
        unsafe { walk(node) }
    }
}

impl<V, F: FnOnce(V)> Ready<V> for F {
    fn ready(self, values: V) {
        self(values);
    }
}

/// The waiter that walks over cells. `ready` is the first field, so a pointer to the walker is one
/// to it.
#[derive(Debug)]
#[repr(C)]
pub struct All<I, R> {
    /// The continuation, called at the end of the walk.
    pub ready: R,
    /// The number of cells that were visited, or [`THROUGH`]. Not a question to the inputs, which a
    /// cancelled wait may have dropped when its cell releases the node.
    index: usize,
    inputs: I,
}

impl<I, R> All<I, R> {
    /// Returns a pointer to the inputs of a waiter. Accesses nothing.
    pub(crate) fn inputs_of(this: NonNull<Self>) -> NonNull<I> {
        // SAFETY: the waiter is allocated; only an address is computed.
        unsafe { NonNull::new_unchecked(&raw mut (*this.as_ptr()).inputs) }
    }
}

impl<I, R> NodeBox<All<I, R>> {
    /// Returns whether every cell was visited. Accesses nothing of `ready`, and no input.
    pub fn is_through(&self) -> bool {
        let all = self.pointer().as_ptr();
        // SAFETY: only the owner of the node accesses this field.
        unsafe { (*all).index == THROUGH }
    }

    /// Visits the next cells, up to the first empty one; `None` past the end. Returns a pointer to
    /// it, with the share that keeps it alive if nothing else does. Accesses nothing of `ready`.
    #[inline]
    pub(crate) fn next_empty<'a>(&mut self) -> Option<(NonNull<Latch>, Option<Owner>)>
    where
        I: Inputs<'a>,
    {
        let all = self.pointer().as_ptr();
        // SAFETY: only the node's owner accesses these, and not once the inputs may be dropped.
        let (index, inputs) = unsafe { (&mut (*all).index, &(*all).inputs) };
        while let Some(is_full) = inputs.is_full_at(*index) {
            let at = *index;
            *index += 1;
            if !is_full {
                if *index >= inputs.count() {
                    *index = THROUGH;
                }
                return inputs.latch_at(at).map(|cell| match I::OWNS {
                    true => cell.into_parts(),
                    false => (cell.into_borrowed(), None),
                });
            }
        }
        *index = THROUGH;
        None
    }

    /// Returns the values and the continuation.
    ///
    /// # Panics
    /// If a cell is empty, which is impossible from [`Ready::ready_node`] on.
    #[inline]
    pub fn open<'a>(self) -> (I::Values, R)
    where
        I: Inputs<'a>,
    {
        let (inputs, ready) = self.into_parts();
        (inputs.into_values(), ready)
    }

    /// Frees the node, and returns its inputs, and what waited for them.
    #[inline]
    pub(crate) fn into_parts(self) -> (I, R) {
        let All { ready, inputs, .. } = self.into_waiter();
        (inputs, ready)
    }
}

impl<'a, I, R> Waiter for All<I, R>
where
    I: Inputs<'a> + Send,
    R: Ready<I::Values> + Send,
{
    fn released(node: NodeBox<Self>) {
        // SAFETY: the caller of `walk` ensures it for the whole walk.
        unsafe { R::go_on(node) }
    }
}

impl<'a, I, R> NodeBox<All<I, R>>
where
    I: Inputs<'a> + Send,
    R: Ready<I::Values> + Send,
{
    /// Creates the node that [`when_all`] registers, for callers that need its address.
    pub fn of_all(inputs: I, ready: R) -> Self {
        let index = 0;
        Self::new(All {
            ready,
            index,
            inputs,
        })
    }
}

/// Registers the node with its next empty cell, or makes it ready; see [`when_all_scoped`].
///
/// # Safety
/// The caller must keep what the node borrows alive until the node is ready or dropped.
pub unsafe fn walk<'a, I, R>(mut node: NodeBox<All<I, R>>)
where
    I: Inputs<'a> + Send,
    R: Ready<I::Values> + Send,
{
    // Visited before the registration, after which another thread may own the node.
    while let Some((cell, _owner)) = node.next_empty() {
        // SAFETY: what the node borrows lives until it is ready or dropped, as the caller ensures.
        // The owner keeps a cell that is not borrowed.
        match unsafe { Latch::register_scoped(cell, node) } {
            Ok(()) => return,
            Err(back) => node = back,
        }
    }
    R::ready_node(node);
}

/// Calls `ready` with the values of `inputs` once all of them are full: immediately, or in the put
/// that fills the last.
///
/// An empty list is ready immediately. If an empty cell is dropped, `ready` is dropped with it. One
/// allocation.
///
/// ```
/// use std::sync::Mutex;
/// use tautline_core::flow::{Ddf, when_all};
/// static CELLS: (Ddf<u32>, Ddf<&str>) = (Ddf::new(), Ddf::new());
/// static SEEN: Mutex<Option<(u32, &str)>> = Mutex::new(None);
/// when_all((&CELLS.0, &CELLS.1), |(n, name): (&u32, &&'static str)| {
///     *SEEN.lock().unwrap() = Some((*n, *name));
/// });
/// CELLS.1.put("ropes").unwrap();
/// assert_eq!(*SEEN.lock().unwrap(), None);
/// CELLS.0.put(3).unwrap();
/// assert_eq!(*SEEN.lock().unwrap(), Some((3, "ropes")));
/// ```
pub fn when_all<I, R>(inputs: I, ready: R)
where
    I: Inputs<'static> + Send + 'static,
    R: Ready<I::Values> + Send + 'static,
{
    // SAFETY: all borrows are `'static`.
    unsafe { when_all_scoped(inputs, ready) }
}

/// As [`when_all`], over borrowed cells.
///
/// # Safety
/// The caller must keep what `inputs` and `ready` borrow alive until `ready` was called or dropped.
pub unsafe fn when_all_scoped<'a, I, R>(inputs: I, ready: R)
where
    I: Inputs<'a> + Send,
    R: Ready<I::Values> + Send,
{
    // SAFETY: the borrows live until `ready` was called or dropped, as the caller ensures.
    unsafe { walk(NodeBox::of_all(inputs, ready)) }
}
