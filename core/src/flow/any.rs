//! OR: ready when one cell of a list is full.
//!
//! # Algorithm
//! The token of Chatterjee 2013 (section 4.2): a wrapper waits in every cell, and the first put, or
//! the registrar that finds a cell full, takes the token and the continuation. What differs: a cell
//! may be put between the check and the registration; the registration then fails, and the
//! registrar tries to take the token itself and stops. The token also identifies the cell. Wrappers
//! that lose share the rest by reference counting.
//!
//! # Words
//! `token`: [`NONE`], then for ever the index of the winning cell plus one; set by the winner.
//! `ready`: written before the first registration, taken by the winner.
//!
//! # Orderings
//! `token` publishes nothing: `ready` is visible to the winner by `latch.E2` of the cell whose
//! wrapper it was given, or because the winner is the registrar.
//!
//! # Proved
//! By loom: `v6_any` and `v6_any_twice` in `verify/tests/flow.rs`.

use super::all::Ready;
use super::ddf::Ddf;
use super::latch::Latch;
use super::node::{NodeBox, Waiter};
use crate::sync::{AtomicUsize, Ordering, UnsafeCell};
use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

const NONE: usize = 0;

/// The state that the wrappers of one list share.
struct Shared<R> {
    token: AtomicUsize,
    ready: UnsafeCell<Option<R>>,
}

// SAFETY: only the winner of the token accesses `ready`, and moves it to its thread.
unsafe impl<R: Send> Sync for Shared<R> {}
// SAFETY: `ready` is Send.
unsafe impl<R: Send> Send for Shared<R> {}

impl<R> Shared<R> {
    /// Takes the continuation. Returns `None` to all callers but the first.
    fn win(&self, index: usize) -> Option<R> {
        // ORDERING: Relaxed both ways: it publishes nothing, see the module's head.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let won = self
            .token
            .compare_exchange(NONE, index + 1, success, failure);
        // SAFETY: the token is taken once, so no other thread accesses `ready`.
        let take = |ready: *mut Option<R>| unsafe { (*ready).take() };
        won.ok().and_then(|_| self.ready.with_mut(take))
    }
}

/// The wrapper that waits in one cell.
struct Wrapper<'a, T, R> {
    shared: Arc<Shared<R>>,
    index: usize,
    /// Not a reference: a wrapper that lost may outlive `'a`.
    cell: NonNull<Ddf<T>>,
    life: PhantomData<&'a Ddf<T>>,
}

// SAFETY: a reference to a Sync cell, and a share of `Shared`, which is Send and Sync.
unsafe impl<T: Send + Sync, R: Send> Send for Wrapper<'_, T, R> {}

impl<'a, T, R> Waiter for Wrapper<'a, T, R>
where
    T: Send + Sync + 'a,
    R: Ready<(usize, &'a T)> + Send,
{
    fn released(node: NodeBox<Self>) {
        let wrapper = node.into_waiter();
        if let Some(ready) = wrapper.shared.win(wrapper.index) {
            // SAFETY: `ready` was neither called nor dropped before, so the cells are alive, as the
            // caller of when_any_scoped ensures.
            let cell: &'a Ddf<T> = unsafe { wrapper.cell.as_ref() };
            call(ready, wrapper.index, cell);
        }
    }
}

fn call<'a, T, R: Ready<(usize, &'a T)>>(ready: R, index: usize, cell: &'a Ddf<T>) {
    ready.ready((index, cell.get().expect("only a full cell wins")));
}

/// Calls `ready` once, with the index and the value of a full cell: immediately if a cell is full
/// (the first of them in the list), else in the first put.
///
/// The list may contain a cell twice. If all cells are dropped empty, `ready` is dropped.
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
/// If the list is empty: returns `ready`.
pub fn when_any<T, R>(cells: impl AsRef<[&'static Ddf<T>]>, ready: R) -> Result<(), EmptyAny<R>>
where
    T: Send + Sync + 'static,
    R: Ready<(usize, &'static T)> + Send + 'static,
{
    // SAFETY: all borrows are `'static`.
    unsafe { when_any_scoped(cells, ready) }
}

/// As [`when_any`], over borrowed cells.
///
/// # Errors
/// If the list is empty: returns `ready`.
///
/// # Safety
/// The caller must keep the cells alive until `ready` was called or dropped and this has returned,
/// and what `ready` borrows until `ready` was called or dropped.
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
        let (latch, node) = (NonNull::from(cell.latch()), NodeBox::new(wrapper));
        // SAFETY: what `ready` borrows lives as long as `ready`, as the caller ensures; nothing
        // else in a wrapper borrows. The caller keeps the cells.
        let registered = unsafe { Latch::register_scoped(latch, node) };
        if registered.is_err() {
            if let Some(ready) = shared.win(index) {
                call(ready, index, cell);
            }
            break;
        }
    }
    Ok(())
}

/// The error of an OR list without cells, which can never be ready; contains the continuation.
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
