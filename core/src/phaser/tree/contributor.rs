//! The task that contributes values through one accumulator handle.
//!
//! # Words
//! `Contributor`: written by any task that contributes a value: null at first, then its slot; after
//! a second task has contributed, a pointer that is no slot's. It is a hint of where a result may
//! be cached: a task that reads a stale hint only misses the cached result. Relaxed throughout:
//! slots live as long as the tree, which the reader keeps alive.

use super::Tree;
use super::node::Slot;
use crate::sync::{AtomicPtr, Ordering};
use core::ptr;

/// The hint of the contributing task's slot; see the head of the module.
#[derive(Debug)]
pub(crate) struct Contributor(AtomicPtr<Slot>);

impl Contributor {
    /// Creates the hint, without a task.
    pub(crate) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Records that the task in `slot`, of the accumulator's own phaser, contributes a value.
    #[inline]
    pub(crate) fn note(&self, slot: &Slot) {
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

    /// Returns the slot of the only task that has contributed values, if there is exactly one;
    /// `tree` is the accumulator's.
    #[inline]
    pub(crate) fn slot<'a>(&self, _tree: &'a Tree) -> Option<&'a Slot> {
        // ORDERING: Relaxed: see the head.
        let slot = self.0.load(Ordering::Relaxed);
        if slot == ptr::dangling_mut() {
            return None;
        }
        // SAFETY: null, or a slot of the tree, which `note` requires; slots live as long as the
        // tree.
        unsafe { slot.as_ref() }
    }
}
