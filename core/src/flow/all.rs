//! AND: ready when every cell of a list is full.
//!
//! # Algorithm
//! A walker: the node waits in one cell at a time, and the put that releases it walks on at the next one. So one
//! node is enough for any number of cells, and no count is shared. (Chatterjee 2013 leaves the way to do it open.)
//!
//! # Words
//! `index`: whoever has the node, which is its registrar first and then each put in turn; ordered by C1 and C2 of
//! the cells.

use super::{Ddf, Latch, NodeBox, NotReady, Waiter};
use alloc::vec::Vec;
use core::array;

/// Cells that are waited for together: a cell, a tuple of up to eight, an array, a slice or a `Vec`, by reference.
///
/// # Safety
/// A node that waits may outlive `'a`: dropping the inputs must not touch what they borrow. Nothing here panics, and once every
/// cell of [`latch_at`](Self::latch_at) is full, [`values`](Self::values) has them.
pub unsafe trait Inputs<'a> {
    /// The values of all cells, in the same form.
    type Values;

    /// How many cells there are, without a look at any.
    fn count(&self) -> usize;

    /// The cell at `index`; `None` behind the last.
    fn latch_at(&self, index: usize) -> Option<&'a Latch>;

    /// The values.
    ///
    /// # Errors
    /// If a cell is empty.
    fn values(&self) -> Result<Self::Values, NotReady>;
}

// SAFETY: references, whose drop does nothing.
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

// SAFETY: as above.
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
        let full = |at: usize| self[at].get().expect("full is for ever");
        Ok(array::from_fn(full))
    }
}

// SAFETY: as above.
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

// SAFETY: a vector of references touches none of what they lead to when it is dropped.
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
        // SAFETY: as above.
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

/// What is called when what was waited for is there: a closure, or a task on its way to a queue.
pub trait Ready<V>: Sized {
    /// Called once, by the put that makes it ready or by whoever registers it when nothing is missing, on that thread.
    fn ready(self, values: V);

    /// The same for AND, with the node that did the waiting: whoever keeps it (see [`NodeBox::into_raw`]) needs no
    /// other memory until the values are wanted, by [`NodeBox::open`].
    fn ready_node<'a, I>(node: NodeBox<All<I, Self>>)
    where
        I: Inputs<'a, Values = V>,
    {
        let (values, ready) = node.open();
        ready.ready(values);
    }

    /// What a put does with a node that has waited for one cell and may have to wait for others. Whoever may forget about
    /// the node while it waits must not [`walk`] on with one that is forgotten: what it borrows may be gone.
    ///
    /// # Safety
    /// What the node borrows lives as long as `ready` wants it.
    unsafe fn go_on<'a, I>(node: NodeBox<All<I, Self>>)
    where
        I: Inputs<'a, Values = V> + Send,
        Self: Send,
    {
        // SAFETY: `ready` was not called yet, so it wants it.
        unsafe { walk(node) }
    }
}

impl<V, F: FnOnce(V)> Ready<V> for F {
    fn ready(self, values: V) {
        self(values);
    }
}

/// The waiter that walks over cells. `ready` comes first, so a pointer to the walker is one to it.
#[derive(Debug)]
#[repr(C)]
pub struct All<I, R> {
    /// What is called at the end of the walk.
    pub ready: R,
    /// How many cells need not be looked at again.
    index: usize,
    inputs: I,
}

impl<I, R> NodeBox<All<I, R>> {
    /// Whether it has been in every cell, or found it full. Accesses nothing of `ready`.
    pub fn is_through<'a>(&self) -> bool
    where
        I: Inputs<'a>,
    {
        let all = self.pointer().as_ptr();
        // SAFETY: these fields are touched by the owner of the node only.
        let (index, inputs) = unsafe { ((*all).index, &(*all).inputs) };
        index >= inputs.count()
    }

    /// The cell to wait in next, `None` behind the last. Accesses nothing of `ready`.
    fn advance<'a>(&mut self) -> Option<&'a Latch>
    where
        I: Inputs<'a>,
    {
        let all = self.pointer().as_ptr();
        // SAFETY: these fields are touched by the owner of the node only.
        let (index, inputs) = unsafe { (&mut (*all).index, &(*all).inputs) };
        let latch = inputs.latch_at(*index)?;
        *index += 1;
        Some(latch)
    }

    /// The values, and what wanted them.
    ///
    /// # Panics
    /// If a cell is empty. After [`Ready::ready_node`] none is.
    pub fn open<'a>(self) -> (I::Values, R)
    where
        I: Inputs<'a>,
    {
        let All { ready, inputs, .. } = self.into_waiter();
        let values = inputs.values().expect("the walk came past every cell");
        (values, ready)
    }
}

impl<'a, I, R> Waiter for All<I, R>
where
    I: Inputs<'a> + Send,
    R: Ready<I::Values> + Send,
{
    fn released(node: NodeBox<Self>) {
        // SAFETY: whoever registered the node first promised it for the whole walk.
        unsafe { R::go_on(node) }
    }
}

impl<'a, I, R> NodeBox<All<I, R>>
where
    I: Inputs<'a> + Send,
    R: Ready<I::Values> + Send,
{
    /// What [`when_all`] begins with, for one who must know where it is.
    pub fn of_all(inputs: I, ready: R) -> Self {
        let index = 0;
        Self::new(All {
            ready,
            index,
            inputs,
        })
    }
}

/// Lets the node wait; see [`when_all_scoped`].
///
/// # Safety
/// What the node borrows lives until it was released for the last time, or dropped.
pub unsafe fn walk<'a, I, R>(mut node: NodeBox<All<I, R>>)
where
    I: Inputs<'a> + Send,
    R: Ready<I::Values> + Send,
{
    // It advances before it is registered: then it may be anywhere.
    while let Some(latch) = node.advance() {
        // SAFETY: promised by the caller.
        match unsafe { latch.register_scoped(node) } {
            Ok(()) => return,
            Err(back) => node = back,
        }
    }
    R::ready_node(node);
}

/// Calls `ready` with the values of `inputs` once all of them are full: at once, or by the put that fills the last.
///
/// Without cells it is ready at once. If an empty cell is dropped, `ready` is dropped with it. One allocation.
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
    // SAFETY: nothing is borrowed but what lives for ever.
    unsafe { when_all_scoped(inputs, ready) }
}

/// [`when_all`] over cells that are borrowed.
///
/// # Safety
/// What `inputs` and `ready` borrow lives until `ready` was called or dropped.
pub unsafe fn when_all_scoped<'a, I, R>(inputs: I, ready: R)
where
    I: Inputs<'a> + Send,
    R: Ready<I::Values> + Send,
{
    // SAFETY: promised by the caller.
    unsafe { walk(NodeBox::of_all(inputs, ready)) }
}
