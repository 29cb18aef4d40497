//! Which task brings values in through an accumulator.
//!
//! # Words
//! `Putter`: any task that brings a value in: null before, then its slot; once a second one comes, a pointer that is no slot's. It is
//! a hint of where a result may be kept: a task that reads an old hint looks elsewhere. Relaxed throughout: slots live as long as the
//! tree, which the reader keeps alive.

use crate::phaser::tree::{Slot, Tree};
use crate::port::Barrier;
use crate::sync::{AtomicPtr, Ordering};
use core::ptr;

/// See the head of the module.
#[derive(Debug)]
pub(in crate::phaser) struct Putter(AtomicPtr<Slot>);

impl Putter {
    pub fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// The task in `slot`, of the accumulator's own phaser, brings a value in.
    #[inline]
    pub fn note(&self, slot: &Slot) {
        // ORDERING: Relaxed: see the head.
        let known = self.0.load(Ordering::Relaxed);
        let slot = ptr::from_ref(slot).cast_mut();
        if known != slot && known != ptr::dangling_mut() {
            let one = if known.is_null() {
                slot
            } else {
                ptr::dangling_mut()
            };
            // ORDERING: Relaxed: see the head.
            self.0.store(one, Ordering::Relaxed);
        }
    }

    /// The slot of the only task that has brought values in, if there is one; `tree` is the accumulator's.
    #[inline]
    pub fn slot<'a, P: Barrier>(&self, _tree: &'a Tree<P>) -> Option<&'a Slot> {
        // ORDERING: Relaxed: see the head.
        let slot = self.0.load(Ordering::Relaxed);
        if slot == ptr::dangling_mut() {
            return None;
        }
        // SAFETY: null, or a slot of the tree, as `note` is told; slots live as long as the tree.
        unsafe { slot.as_ref() }
    }
}
