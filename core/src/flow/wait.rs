//! Waiting as a future.
//!
//! # Algorithm
//! All futures that wait for a cell share one node in its list, made by the first of them, and behind it a list of
//! wakers under a lock. A future that is dropped takes its waker out again, so the memory follows the largest number of
//! futures that waited at a time, which nodes in the lock-free list, that cannot be taken out, would not do.
//!
//! # Words
//! `seats`: under its lock. `Latch::wakers`: see [`latch`](super::latch).
//!
//! # Proved
//! By loom: `future_put`, `future_dropped`, `futures_share` in `verify/tests/flow.rs`.

use super::{Ddf, EmptyAny, Inputs, Latch, NodeBox, Waiter};
use crate::port::Spin;
use crate::sync::{Lock, Ordering};
use alloc::boxed::Box;
use alloc::vec::{self, Vec};
use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::ptr::{self, NonNull};
use core::task::{Context, Poll, Waker};

/// The futures that wait for one cell.
#[derive(Debug)]
pub(super) struct Wakers {
    seats: Lock<Seats>,
}

#[derive(Debug, Default)]
struct Seats {
    /// The put was here: nobody may wait any more.
    full: bool,
    wakers: Vec<Option<Waker>>,
    /// Which of `wakers` are `None`.
    free: Vec<usize>,
}

impl Wakers {
    /// Those of a cell, made if it has none.
    fn of(latch: &Latch) -> &Self {
        // ORDERING: Acquire, pairs with Release below (C3): what another future made is seen.
        let there = latch.wakers.load(Ordering::Acquire);
        if let Some(there) = NonNull::new(there) {
            // SAFETY: set once, freed by the drop of the latch.
            return unsafe { there.as_ref() };
        }
        let seats = Lock::new(Seats::default());
        let fresh = Box::into_raw(Box::new(Self { seats }));
        // ORDERING: Release, pairs with Acquire above and on failure (C3): the lock is written before it is found.
        let (yes, no) = (Ordering::Release, Ordering::Acquire);
        let set = latch
            .wakers
            .compare_exchange(ptr::null_mut(), fresh, yes, no);
        if let Err(there) = set {
            // SAFETY: nobody has seen it.
            drop(unsafe { Box::from_raw(fresh) });
            // SAFETY: as above, set once.
            return unsafe { &*there };
        }
        // SAFETY: it is set now, and freed by the drop of the latch.
        let fresh = unsafe { &*fresh };
        let bell = Bell(NonNull::from(fresh));
        // SAFETY: the bell is there as long as the latch, and rings only in a put, so before that is dropped.
        if unsafe { latch.register_scoped(NodeBox::new(bell)) }.is_err() {
            fresh.wake();
        }
        fresh
    }

    /// Frees those of a latch that is being dropped.
    pub(super) fn drop_of(latch: &mut Latch) {
        // ORDERING: Relaxed: `&mut` says that all other threads are done.
        let wakers = latch.wakers.load(Ordering::Relaxed);
        if !wakers.is_null() {
            // SAFETY: it came from a box, and no future waits for a cell that is being dropped.
            drop(unsafe { Box::from_raw(wakers) });
        }
    }

    fn wake(&self) {
        let wakers = {
            let mut seats = self.seats.lock(&Spin);
            seats.full = true;
            mem::take(&mut seats.wakers)
        };
        WakeAll(wakers.into_iter()).wake();
    }
}

/// Wakes the rest though one of them panics; a second panic aborts.
struct WakeAll(vec::IntoIter<Option<Waker>>);

impl WakeAll {
    fn wake(&mut self) {
        self.0.by_ref().flatten().for_each(Waker::wake);
    }
}

impl Drop for WakeAll {
    fn drop(&mut self) {
        self.wake();
    }
}

/// The node by which a cell wakes its futures.
struct Bell(NonNull<Wakers>);

// SAFETY: what it leads to is under a lock.
unsafe impl Send for Bell {}

impl Waiter for Bell {
    fn released(node: NodeBox<Self>) {
        // SAFETY: the put that calls this borrows the cell, with which the wakers go.
        unsafe { node.waiter.0.as_ref() }.wake();
    }
}

/// One future's place among those who wait for a cell.
#[derive(Debug)]
struct Seat<'a> {
    latch: &'a Latch,
    place: Option<usize>,
}

impl<'a> Seat<'a> {
    fn new(latch: &'a Latch) -> Self {
        Self { latch, place: None }
    }

    /// Ready if the cell is full, else the waker of `cx` will be woken.
    fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        if self.latch.is_full() {
            return Poll::Ready(());
        }
        let wakers = Wakers::of(self.latch);
        let waker = cx.waker().clone();
        let mut seats = wakers.seats.lock(&Spin);
        if seats.full {
            return Poll::Ready(());
        }
        let place = *self.place.get_or_insert_with(|| {
            seats.free.pop().unwrap_or_else(|| {
                seats.wakers.push(None);
                seats.wakers.len() - 1
            })
        });
        let old = seats.wakers[place].replace(waker);
        drop(seats);
        // Not under the lock: it may be anybody's code.
        drop(old);
        Poll::Pending
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let Some(place) = self.place else {
            return;
        };
        let mut seats = Wakers::of(self.latch).seats.lock(&Spin);
        if seats.full {
            return;
        }
        let waker = seats.wakers[place].take();
        seats.free.push(place);
        drop(seats);
        drop(waker);
    }
}

impl<T> Ddf<T> {
    /// Waits for the value, without blocking the thread.
    ///
    /// The future may be dropped at any time.
    pub fn wait(&self) -> Wait<'_, T> {
        let seat = Seat::new(self.latch());
        Wait { cell: self, seat }
    }
}

/// The future of [`Ddf::wait`].
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct Wait<'a, T> {
    cell: &'a Ddf<T>,
    seat: Seat<'a>,
}

impl<'a, T> Future for Wait<'a, T> {
    type Output = &'a T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<&'a T> {
        let ready = self.seat.poll(cx);
        ready.map(|()| self.cell.get().expect("the seat saw it full"))
    }
}

/// Waits until all cells are full; gives their values.
///
/// ```
/// # use std::pin::pin;
/// # use std::task::{Context, Poll, Waker};
/// use tautline_core::flow::{Ddf, wait_all};
/// let cells = (Ddf::new(), Ddf::new());
/// let mut sum = pin!(async {
///     let (a, b) = wait_all((&cells.0, &cells.1)).await;
///     a + b
/// });
/// # let mut cx = Context::from_waker(Waker::noop());
/// assert_eq!(sum.as_mut().poll(&mut cx), Poll::Pending);
/// cells.0.put(1).unwrap();
/// cells.1.put(2).unwrap();
/// assert_eq!(sum.as_mut().poll(&mut cx), Poll::Ready(3));
/// ```
pub fn wait_all<'a, I: Inputs<'a>>(inputs: I) -> WaitAll<'a, I> {
    WaitAll {
        seat: inputs.latch_at(0).map(Seat::new),
        inputs,
        index: 0,
    }
}

/// The future of [`wait_all`].
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct WaitAll<'a, I> {
    inputs: I,
    index: usize,
    seat: Option<Seat<'a>>,
}

// The inputs are not pinned.
impl<I> Unpin for WaitAll<'_, I> {}

impl<'a, I: Inputs<'a>> Future for WaitAll<'a, I> {
    type Output = I::Values;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<I::Values> {
        let this = self.get_mut();
        while let Some(seat) = &mut this.seat {
            if seat.poll(cx).is_pending() {
                return Poll::Pending;
            }
            this.index += 1;
            this.seat = this.inputs.latch_at(this.index).map(Seat::new);
        }
        let values = this.inputs.values();
        Poll::Ready(values.expect("the walk came past every cell"))
    }
}

/// Waits until one cell is full; gives its index and its value, of several full ones the first in the list.
///
/// # Errors
/// If there is no cell.
pub fn wait_any<'a, T>(cells: impl AsRef<[&'a Ddf<T>]>) -> Result<WaitAny<'a, T>, EmptyAny<()>> {
    let waits: Vec<_> = cells.as_ref().iter().map(|cell| cell.wait()).collect();
    if waits.is_empty() {
        return Err(EmptyAny(()));
    }
    Ok(WaitAny { waits })
}

/// The future of [`wait_any`].
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct WaitAny<'a, T> {
    waits: Vec<Wait<'a, T>>,
}

impl<'a, T> Future for WaitAny<'a, T> {
    type Output = (usize, &'a T);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let waits = &mut self.get_mut().waits;
        let full = |(index, wait): (usize, &Wait<'a, T>)| Some((index, wait.cell.get().ok()?));
        if let Some(found) = waits.iter().enumerate().find_map(full) {
            return Poll::Ready(found);
        }
        for (index, wait) in waits.iter_mut().enumerate() {
            if let Poll::Ready(value) = Pin::new(wait).poll(cx) {
                return Poll::Ready((index, value));
            }
        }
        Poll::Pending
    }
}
