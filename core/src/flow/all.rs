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

use super::ddf::{Ddf, NotReady};
use super::latch::Latch;
use super::node::{NodeBox, Waiter};
use alloc::vec::Vec;
use core::array;

/// Cells that are waited for together: a cell, a tuple of up to eight, an array, a slice or a
/// `Vec`, by reference.
///
/// # Safety
/// The implementor must ensure that dropping the inputs accesses nothing that they borrow, since a
/// waiting node may outlive `'a`; that no method panics; and that [`values`](Self::values) succeeds
/// once every cell of [`latch_at`](Self::latch_at) is full.
pub unsafe trait Inputs<'a> {
    /// The values of all cells, in the same arrangement.
    type Values;

    /// Returns the number of cells. Accesses none of them.
    fn count(&self) -> usize;

    /// Returns the cell at `index`; `None` past the end.
    fn latch_at(&self, index: usize) -> Option<&'a Latch>;

    /// Returns the values.
    ///
    /// # Errors
    /// If a cell is empty.
    fn values(&self) -> Result<Self::Values, NotReady>;
}

// SAFETY: dropping a reference does nothing; a full cell has its value; nothing panics.
unsafe impl<'a, T> Inputs<'a> for &'a Ddf<T> {
    type Values = &'a T;

    fn count(&self) -> usize {
        1
    }

    fn latch_at(&self, index: usize) -> Option<&'a Latch> {
        (index == 0).then(|| self.latch())
    }

    fn values(&self) -> Result<&'a T, NotReady> {
        self.get()
    }
}

// SAFETY: dropping references does nothing; full cells stay full, so `values` neither fails nor
// panics.
unsafe impl<'a, T, const N: usize> Inputs<'a> for [&'a Ddf<T>; N] {
    type Values = [&'a T; N];

    fn count(&self) -> usize {
        N
    }

    fn latch_at(&self, index: usize) -> Option<&'a Latch> {
        self.get(index).map(|cell| cell.latch())
    }

    fn values(&self) -> Result<[&'a T; N], NotReady> {
        if self.iter().any(|cell| !cell.is_full()) {
            return Err(NotReady);
        }
        let full = |at: usize| self[at].get().expect("a full cell stays full");
        Ok(array::from_fn(full))
    }
}

// SAFETY: dropping a reference does nothing; a full cell has its value; nothing panics.
unsafe impl<'a, T> Inputs<'a> for &[&'a Ddf<T>] {
    type Values = Vec<&'a T>;

    fn count(&self) -> usize {
        self.len()
    }

    fn latch_at(&self, index: usize) -> Option<&'a Latch> {
        self.get(index).map(|cell| cell.latch())
    }

    fn values(&self) -> Result<Vec<&'a T>, NotReady> {
        self.iter().map(|cell| cell.get()).collect()
    }
}

// SAFETY: dropping a vector of references does not access their targets; a full cell has its value;
// nothing panics.
unsafe impl<'a, T> Inputs<'a> for Vec<&'a Ddf<T>> {
    type Values = Vec<&'a T>;

    fn count(&self) -> usize {
        self.len()
    }

    fn latch_at(&self, index: usize) -> Option<&'a Latch> {
        self.as_slice().latch_at(index)
    }

    fn values(&self) -> Result<Vec<&'a T>, NotReady> {
        self.as_slice().values()
    }
}

macro_rules! tuple {
    ($($T:ident $at:tt),+) => {
        // SAFETY: dropping references does nothing; a full cell has its value; nothing panics.
        unsafe impl<'a, $($T: 'a),+> Inputs<'a> for ($(&'a Ddf<$T>,)+) {
            type Values = ($(&'a $T,)+);

            fn count(&self) -> usize {
                [$($at),+].len()
            }

            fn latch_at(&self, index: usize) -> Option<&'a Latch> {
                match index {
                    $($at => Some(self.$at.latch()),)+
                    _ => None,
                }
            }

            fn values(&self) -> Result<Self::Values, NotReady> {
                Ok(($(self.$at.get()?,)+))
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
    /// the node while it waits must not [`walk`] a cancelled one: what it borrows may be gone.
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
    /// The number of cells that were visited.
    index: usize,
    inputs: I,
}

impl<I, R> NodeBox<All<I, R>> {
    /// Returns whether every cell was visited. Accesses nothing of `ready`.
    pub fn is_through<'a>(&self) -> bool
    where
        I: Inputs<'a>,
    {
        let all = self.pointer().as_ptr();
        // SAFETY: only the owner of the node accesses these fields.
        let (index, inputs) = unsafe { ((*all).index, &(*all).inputs) };
        index >= inputs.count()
    }

    /// Returns the next cell and counts it as visited; `None` past the end. Accesses nothing of
    /// `ready`.
    fn advance<'a>(&mut self) -> Option<&'a Latch>
    where
        I: Inputs<'a>,
    {
        let all = self.pointer().as_ptr();
        // SAFETY: only the owner of the node accesses these fields.
        let (index, inputs) = unsafe { (&mut (*all).index, &(*all).inputs) };
        let latch = inputs.latch_at(*index)?;
        *index += 1;
        Some(latch)
    }

    /// Returns the values and the continuation.
    ///
    /// # Panics
    /// If a cell is empty, which is impossible from [`Ready::ready_node`] on.
    pub fn open<'a>(self) -> (I::Values, R)
    where
        I: Inputs<'a>,
    {
        let All { ready, inputs, .. } = self.into_waiter();
        let values = inputs
            .values()
            .expect("every cell was full when it was visited");
        (values, ready)
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
    // Advanced before the registration, after which another thread may own the node.
    while let Some(latch) = node.advance() {
        // SAFETY: what the node borrows lives until it is ready or dropped, as the caller ensures.
        match unsafe { latch.register_scoped(node) } {
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
