//! Waiting as a future.
//!
//! # Algorithm
//! All futures that wait for a cell share its [`Wakers`], a list under a lock, made by the first of
//! them and published to the put. A future that is dropped removes its waker, so the memory is
//! bounded by the largest number of futures that waited at one time. Nodes cannot be removed from
//! the lock-free list of the cell.
//!
//! # Proved
//! By loom: `future_put`, `future_dropped`, `futures_share` in `verify/tests/flow.rs`.

pub(super) mod wakers;

use crate::flow::all::Inputs;
use crate::flow::any::EmptyAny;
use crate::flow::ddf::Ddf;
use crate::flow::latch::{Latch, Waiters};
use crate::flow::reference::CellRef;
use crate::sync::note;
use crate::watch::{Site, Stall};
use alloc::vec::Vec;
use core::future::Future;
use core::ops::Deref;
use core::panic::Location;
use core::pin::Pin;
use core::task::{Context, Poll};
use wakers::Wakers;

/// Returns the wakers of a cell, creating and publishing them if it has none.
fn wakers_of(latch: &Latch) -> &Wakers {
    if let Some(wakers) = latch.wakers() {
        return wakers;
    }
    let wakers = match latch.set_wakers(Wakers::new()) {
        Ok(wakers) => wakers,
        Err(first) => return first,
    };
    if !latch.publish() {
        // The put may not have observed them.
        drop(latch.shared_wakers().map(Waiters::of));
    }
    wakers
}

/// One future's slot among the wakers of a cell.
#[derive(Debug)]
struct WakerSlot<L: Deref<Target = Latch>> {
    latch: L,
    slot: Option<usize>,
    /// The call that waits.
    site: Site,
}

impl<L: Deref<Target = Latch>> WakerSlot<L> {
    fn new(latch: L, site: Site) -> Self {
        Self {
            latch,
            slot: None,
            site,
        }
    }

    /// Returns `Ready` if the cell is full; else registers the waker of `cx`.
    fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        if self.latch.is_full() {
            return Poll::Ready(());
        }
        let wakers = wakers_of(&self.latch);
        if wakers.set(&mut self.slot, cx.waker().clone()) {
            note(cx.waker(), Stall::CELL, Some(self.site));
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}

impl<L: Deref<Target = Latch>> Drop for WakerSlot<L> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            wakers_of(&self.latch).remove(slot);
        }
    }
}

impl<T> Ddf<T> {
    /// Returns a future of the value.
    ///
    /// The future may be dropped at any time.
    ///
    /// ```
    /// # use tautline_core::flow::Ddf;
    /// async fn double(cell: &Ddf<u32>) -> u32 {
    ///     2 * *cell.wait().await
    /// }
    /// ```
    ///
    /// A cell that is never put is waited for without end. A runtime reports a program in which
    /// nothing else can run, with the call of this function.
    #[track_caller]
    pub fn wait(&self) -> Wait<'_, T> {
        let slot = WakerSlot::new(self.latch(), Location::caller());
        Wait { cell: self, slot }
    }
}

/// The future of [`Ddf::wait`].
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct Wait<'a, T> {
    cell: &'a Ddf<T>,
    slot: WakerSlot<&'a Latch>,
}

impl<'a, T> Future for Wait<'a, T> {
    type Output = &'a T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<&'a T> {
        let ready = self.slot.poll(cx);
        ready.map(|()| {
            self.cell
                .get()
                .expect("the cell is full once the slot is ready")
        })
    }
}

/// Waits until all cells are full and returns their values.
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
#[track_caller]
pub fn wait_all<'a, I: Inputs<'a>>(inputs: I) -> WaitAll<'a, I> {
    let site = Location::caller();
    WaitAll {
        slot: inputs.latch_at(0).map(|cell| WakerSlot::new(cell, site)),
        inputs: Some(inputs),
        index: 0,
        site,
    }
}

/// The future of [`wait_all`].
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct WaitAll<'a, I> {
    /// `None` once the values were returned.
    inputs: Option<I>,
    index: usize,
    slot: Option<WakerSlot<CellRef<'a>>>,
    site: Site,
}

// The inputs are not pinned.
impl<I> Unpin for WaitAll<'_, I> {}

impl<'a, I: Inputs<'a>> Future for WaitAll<'a, I> {
    type Output = I::Values;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<I::Values> {
        let this = self.get_mut();
        while let Some(slot) = &mut this.slot {
            if slot.poll(cx).is_pending() {
                return Poll::Pending;
            }
            this.index += 1;
            let inputs = this.inputs.as_ref();
            let next = inputs.and_then(|inputs| inputs.latch_at(this.index));
            this.slot = next.map(|cell| WakerSlot::new(cell, this.site));
        }
        let inputs = this.inputs.take();
        let inputs = inputs.expect("a future that was ready is not polled again");
        Poll::Ready(inputs.into_values())
    }
}

/// Waits until a cell is full and returns its index and its value: of several full ones, those of
/// the first in the list.
///
/// ```
/// # use tautline_core::flow::{Ddf, wait_any};
/// async fn first(a: &Ddf<u32>, b: &Ddf<u32>) -> u32 {
///     let (_, value) = wait_any([a, b]).expect("two cells").await;
///     *value
/// }
/// ```
///
/// # Errors
/// If the list is empty.
#[track_caller]
pub fn wait_any<'a, T>(cells: impl AsRef<[&'a Ddf<T>]>) -> Result<WaitAny<'a, T>, EmptyAny<()>> {
    let site = Location::caller();
    let wait = |cell: &&'a Ddf<T>| Wait {
        cell,
        slot: WakerSlot::new(cell.latch(), site),
    };
    let waits: Vec<_> = cells.as_ref().iter().map(wait).collect();
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
