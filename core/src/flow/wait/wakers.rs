//! The wakers of the futures that wait for one cell.
//!
//! # Words
//! `slots`: under its lock.

use crate::port::Spin;
use crate::sync::Lock;
use alloc::vec::Vec;
use core::task::Waker;
use core::{iter, mem};

/// The wakers of one cell.
#[derive(Debug)]
pub(in crate::flow) struct Wakers {
    slots: Lock<WakerSlots>,
}

#[derive(Debug, Default)]
struct WakerSlots {
    /// Whether the put takes the wakers, the last one first. No waker may be added after that.
    full: bool,
    wakers: Vec<Option<Waker>>,
    /// The indices of the entries of `wakers` that are `None`.
    free: Vec<usize>,
}

impl Wakers {
    pub(crate) fn new() -> Self {
        Self {
            slots: Lock::new(WakerSlots::default()),
        }
    }

    /// Stores `waker` in `slot`, which is allocated first if it is `None`. Returns false if the
    /// cell is full: then nothing is stored.
    pub(crate) fn set(&self, slot: &mut Option<usize>, waker: Waker) -> bool {
        let mut slots = self.slots.lock(&Spin);
        if slots.full {
            return false;
        }
        let index = *slot.get_or_insert_with(|| {
            slots.free.pop().unwrap_or_else(|| {
                slots.wakers.push(None);
                slots.wakers.len() - 1
            })
        });
        let old = slots.wakers[index].replace(waker);
        drop(slots);
        // Outside of the lock: dropping a waker may run any code.
        drop(old);
        true
    }

    /// Frees a slot.
    pub(crate) fn remove(&self, slot: usize) {
        let mut slots = self.slots.lock(&Spin);
        if slots.full {
            return;
        }
        let waker = slots.wakers[slot].take();
        slots.free.push(slot);
        drop(slots);
        drop(waker);
    }

    /// Wakes the next future, in their order. The cell is full. Returns false if there is none.
    pub(in crate::flow) fn wake_next(&self) -> bool {
        let next = {
            let mut slots = self.slots.lock(&Spin);
            if !mem::replace(&mut slots.full, true) {
                slots.wakers.reverse();
            }
            iter::from_fn(|| slots.wakers.pop()).flatten().next()
        };
        // Outside of the lock: a waker may run any code.
        next.map(Waker::wake).is_some()
    }
}
