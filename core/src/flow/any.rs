//! OR: ready when one cell of a list is full.
//!
//! # Algorithm
//! The token of Chatterjee 2013 (section 4.2): a wrapper waits in every cell, and the first put, or the registrar that
//! finds a cell full, takes the token and what waits behind it. What differs: a put may come between looking at a cell
//! and registering with it; registering says so, and the registrar then tries the token itself and stops. The token is
//! at the same time the answer which cell it was. Wrappers that come too late share what is left by a count of
//! references.
//!
//! # Words
//! `token`: [`NONE`], then for ever the index of the cell that won plus one; whoever wins. `ready`: written before the
//! first registration, taken by the winner.
//!
//! # Orderings
//! `token` carries nothing: what the winner takes it sees by C2 of the cell whose wrapper it found, or wrote itself.
//!
//! # Proved
//! By loom: `v6_any` and `v6_any_twice` in `verify/tests/flow.rs`.

use super::{Ddf, NodeBox, Ready, Waiter};
use crate::sync::{AtomicUsize, Ordering, UnsafeCell};
use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

const NONE: usize = 0;

/// What the wrappers of one list share.
struct Shared<R> {
    token: AtomicUsize,
    ready: UnsafeCell<Option<R>>,
}

// SAFETY: `ready` is touched by the one winner of the token only, which takes it to its thread.
unsafe impl<R: Send> Sync for Shared<R> {}
// SAFETY: it owns `ready`.
unsafe impl<R: Send> Send for Shared<R> {}

impl<R> Shared<R> {
    /// What waits, to the first who asks.
    fn win(&self, index: usize) -> Option<R> {
        // ORDERING: Relaxed both ways: it carries nothing, see the head.
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        let won = self.token.compare_exchange(NONE, index + 1, yes, no);
        // SAFETY: the token is won once, so nobody else touches it.
        let take = |ready: *mut Option<R>| unsafe { (*ready).take() };
        won.ok().and_then(|_| self.ready.with_mut(take))
    }
}

/// One of the wrappers, in the cell that it names.
struct Wrapper<'a, T, R> {
    shared: Arc<Shared<R>>,
    index: usize,
    /// Not a reference: a wrapper that lost may be there longer than `'a`.
    cell: NonNull<Ddf<T>>,
    life: PhantomData<&'a Ddf<T>>,
}

// SAFETY: a reference to the cell and a share of what waits, both fit to be sent.
unsafe impl<T: Send + Sync, R: Send> Send for Wrapper<'_, T, R> {}

impl<'a, T, R> Waiter for Wrapper<'a, T, R>
where
    T: Send + Sync + 'a,
    R: Ready<(usize, &'a T)> + Send,
{
    fn released(node: NodeBox<Self>) {
        let wrapper = node.into_waiter();
        if let Some(ready) = wrapper.shared.win(wrapper.index) {
            // SAFETY: `ready` was still there, so what it waits for is alive, by the promise to when_any_scoped.
            let cell: &'a Ddf<T> = unsafe { wrapper.cell.as_ref() };
            call(ready, wrapper.index, cell);
        }
    }
}

fn call<'a, T, R: Ready<(usize, &'a T)>>(ready: R, index: usize, cell: &'a Ddf<T>) {
    ready.ready((index, cell.get().expect("only a full cell wins")));
}

/// Calls `ready` once, with the index and the value of a full cell: at once if there is one, of several the first in the
/// list, or by the first put.
///
/// The same cell may be there twice. If all cells are dropped empty, `ready` is dropped.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use tautline_core::flow::{Ddf, when_any};
/// static CELLS: [Ddf<usize>; 2] = [Ddf::new(), Ddf::new()];
/// static SEEN: AtomicUsize = AtomicUsize::new(0);
/// when_any([&CELLS[0], &CELLS[1]], |(k, n): (usize, &usize)| {
///     SEEN.fetch_add(10 * k + n, Ordering::Relaxed);
/// }).unwrap();
/// CELLS[1].put(5).unwrap();
/// CELLS[0].put(7).unwrap();
/// assert_eq!(SEEN.load(Ordering::Relaxed), 15);
/// ```
///
/// # Errors
/// If there is no cell: gives `ready` back.
pub fn when_any<T, R>(cells: impl AsRef<[&'static Ddf<T>]>, ready: R) -> Result<(), EmptyAny<R>>
where
    T: Send + Sync + 'static,
    R: Ready<(usize, &'static T)> + Send + 'static,
{
    // SAFETY: nothing is borrowed but what lives for ever.
    unsafe { when_any_scoped(cells, ready) }
}

/// [`when_any`] over cells that are borrowed.
///
/// # Errors
/// If there is no cell: gives `ready` back.
///
/// # Safety
/// The cells and what `ready` borrows live until `ready` was called or dropped.
pub unsafe fn when_any_scoped<'a, T, R>(
    cells: impl AsRef<[&'a Ddf<T>]>,
    ready: R,
) -> Result<(), EmptyAny<R>>
where
    T: Send + Sync + 'a,
    R: Ready<(usize, &'a T)> + Send,
{
    let cells = cells.as_ref();
    if cells.is_empty() {
        return Err(EmptyAny(ready));
    }
    if let Some(index) = cells.iter().position(|cell| cell.is_full()) {
        call(ready, index, cells[index]);
        return Ok(());
    }
    let shared = Arc::new(Shared {
        token: AtomicUsize::new(NONE),
        ready: UnsafeCell::new(Some(ready)),
    });
    for (index, cell) in cells.iter().enumerate() {
        let wrapper = Wrapper {
            shared: Arc::clone(&shared),
            index,
            cell: NonNull::from(*cell),
            life: PhantomData,
        };
        // SAFETY: what `ready` borrows lives while it is there, by promise; nothing else in a wrapper borrows.
        let registered = unsafe { cell.latch().register_scoped(NodeBox::new(wrapper)) };
        if registered.is_err() {
            if let Some(ready) = shared.win(index) {
                call(ready, index, cell);
            }
            break;
        }
    }
    Ok(())
}

/// An OR list without cells can never be ready; here is what should have waited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EmptyAny<R>(pub R);

impl<R> fmt::Debug for EmptyAny<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmptyAny")
    }
}

impl<R> fmt::Display for EmptyAny<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an OR list of 0 cells is never ready: it takes 1 or more")
    }
}

impl<R> core::error::Error for EmptyAny<R> {}
