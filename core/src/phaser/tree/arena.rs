//! The memory of a tree: its nodes, its free slots, and the state of registration.
//!
//! # Words
//! `Arena`: pushed to by a registering task, under the lock. `FreeSlots`: a stack that dropped
//! registrations push to and registering tasks empty.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | G1 | `Arena::keep` | `Arena::nodes` | the node | `growth_woken` |
//! | G2 | `FreeSlots::push` | `FreeSlots::take` | what the last task of the slot did with it | `reuse_early`, `reuse_both` |

use super::node::{Node, Slot};
use crate::sync::{AtomicPtr, Ordering};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;
use core::ptr::{self, NonNull};

/// All nodes of a phaser, including those outside of the tree; frees them when dropped.
#[derive(Debug)]
pub(crate) struct Arena(AtomicPtr<Node>);

impl Arena {
    /// Creates an arena without nodes.
    pub(crate) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Takes ownership of a node that was made just now. Under the lock of registrations.
    pub(crate) fn keep(&self, node: NonNull<Node>) -> NonNull<Node> {
        // ORDERING: Relaxed: written under the lock.
        let older = self.0.load(Ordering::Relaxed);
        // SAFETY: the node was made just now, and no other thread can access it yet.
        unsafe { (*node.as_ptr()).older = older };
        // ORDERING: Release, pairs with Acquire in nodes (G1).
        self.0.store(node.as_ptr(), Ordering::Release);
        node
    }

    /// Returns all nodes, the newest first.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        // ORDERING: Acquire, pairs with Release in keep (G1).
        let mut next = self.0.load(Ordering::Acquire);
        core::iter::from_fn(move || {
            // SAFETY: nodes live as long as the arena, which lends this one.
            let node = unsafe { next.as_ref() }?;
            next = node.older;
            Some(node)
        })
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // ORDERING: Relaxed: no other thread has access any more.
        let mut next = self.0.load(Ordering::Relaxed);
        while !next.is_null() {
            // SAFETY: made by Box::into_raw, and freed once.
            let node = unsafe { Box::from_raw(next) };
            next = node.older;
        }
    }
}

/// The slots of the tree that their tasks have left since the last registration.
#[derive(Debug)]
pub(crate) struct FreeSlots(AtomicPtr<Slot>);

impl FreeSlots {
    /// Creates an empty stack.
    pub(crate) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Adds a slot that its task has left.
    pub(crate) fn push(&self, slot: NonNull<Slot>) {
        // ORDERING: Relaxed: nothing below the top is read here.
        let mut top = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: slots live as long as the phaser.
            let next = unsafe { &slot.as_ref().next_free };
            // ORDERING: Relaxed: published with the slot.
            next.store(top, Ordering::Relaxed);
            // ORDERING: Release, pairs with Acquire in take (G2). Failure Relaxed: only the top is
            // compared.
            let (success, failure) = (Ordering::Release, Ordering::Relaxed);
            let own = slot.as_ptr();
            match self.0.compare_exchange_weak(top, own, success, failure) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// Takes all slots, the one that was pushed last first.
    fn take(&self) -> impl Iterator<Item = NonNull<Slot>> {
        // ORDERING: Relaxed: checked first, so that registrations do not write the line
        // unnecessarily.
        let empty = self.0.load(Ordering::Relaxed).is_null();
        let mut next = match empty {
            true => ptr::null_mut(),
            // ORDERING: Acquire, pairs with Release in push (G2).
            false => self.0.swap(ptr::null_mut(), Ordering::Acquire),
        };
        core::iter::from_fn(move || {
            let slot = NonNull::new(next)?;
            // SAFETY: slots live as long as the phaser.
            // ORDERING: Relaxed: published with the slot (G2).
            next = unsafe { slot.as_ref() }.next_free.load(Ordering::Relaxed);
            Some(slot)
        })
    }
}

/// The state of registration, under the lock.
#[derive(Debug)]
pub(crate) struct Registry {
    /// The last node of each level, with its index there; leaves first.
    pub(crate) last: Vec<(NonNull<Node>, usize)>,
    /// The slots of the last leaf that were assigned.
    pub(crate) used: usize,
    /// Free slots, the one that has been free for longest first, each with the phase in which it
    /// was found free.
    free: VecDeque<(NonNull<Slot>, usize)>,
    /// Free slots of wait-only tasks, outside of the tree.
    pub(crate) wait_only: Vec<NonNull<Slot>>,
}

impl Registry {
    /// Creates the registry of an empty tree.
    pub(crate) fn new() -> Self {
        Self {
            last: Vec::new(),
            used: 0,
            free: VecDeque::new(),
            wait_only: Vec::new(),
        }
    }

    /// Returns the slot that has been free for longest, if `ready` accepts the phase in which it
    /// was found free. `phase` is evaluated after the slots in `left` were taken.
    pub(crate) fn reuse(
        &mut self,
        left: &FreeSlots,
        phase: impl FnOnce() -> usize,
        ready: impl FnOnce(usize, usize) -> bool,
    ) -> Option<NonNull<Slot>> {
        let first = self.free.len();
        let taken = left.take();
        let phase = phase();
        self.free.extend(taken.map(|slot| (slot, phase)));
        let mut taken = self.free.range_mut(first..);
        while let (Some(last), Some(early)) = (taken.next(), taken.next_back()) {
            mem::swap(last, early);
        }
        let (_, since) = *self.free.front()?;
        ready(since, phase)
            .then(|| self.free.pop_front())?
            .map(|(slot, _)| slot)
    }
}
