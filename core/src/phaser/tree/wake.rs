//! Waking all sleepers when a phase has ended.
//!
//! # Algorithm
//! The task that ends the phase wakes the sleepers in its own part of the tree, and one sleeper of
//! each other part, which wakes the rest of that part. So tasks that share a worker tend to stay
//! together: the worker that runs the first one wakes the others locally.
//!
//! A waker that panics loses no other wake-up: the remaining wakers are called first, including
//! those of the part that its own sleeper would have woken; then the panic resumes, in the task
//! that ends the phase. A second panic during that aborts the program.

use super::Tree;
use super::node::{Below, Node, Slot, WakeDuty};
use core::ptr::NonNull;

impl Tree {
    /// Wakes all sleepers, or has them woken, except `by`.
    pub(crate) fn wake(&self, by: Option<NonNull<Slot>>) {
        if self.has_wait_only() {
            each(self.nodes(), |node| wake_slots(node, by));
            return;
        }
        let Some(root) = self.root() else {
            return;
        };
        let own = by.map(|slot| self.part_of(root, slot));
        let _own_part = Finally::new(|| match own {
            // SAFETY: nodes live as long as the phaser.
            Some(own) => wake_below(unsafe { own.as_ref() }, by),
            None => wake_slots(root, None),
        });
        let others = root.children();
        each(
            others.filter(|part| own != Some(NonNull::from(*part))),
            wake_part,
        );
    }

    /// Returns the child of the root that contains `slot`; the root, if it is a leaf.
    fn part_of(&self, root: &Node, slot: NonNull<Slot>) -> NonNull<Node> {
        // SAFETY: slots live as long as the phaser.
        let mut part = unsafe { slot.as_ref() }.leaf();
        // SAFETY: nodes live as long as the phaser.
        while let Some(parent) = unsafe { part.as_ref() }.parent() {
            if parent == NonNull::from(root) {
                break;
            }
            part = parent;
        }
        part
    }

    /// Performs the duty with which the task in `by` was woken.
    pub(crate) fn perform(&self, duty: Option<WakeDuty>, by: NonNull<Slot>) {
        if let Some(node) = duty {
            // SAFETY: nodes live as long as the phaser.
            wake_below(unsafe { node.as_ref() }, Some(by));
        }
    }
}

/// Calls a closure at the end of a block, even if a panic leaves the block.
pub(crate) struct Finally<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Finally<F> {
    /// Calls `last` when dropped.
    pub(crate) fn new(last: F) -> Self {
        Self(Some(last))
    }

    fn defuse(mut self) {
        self.0 = None;
    }
}

impl<F: FnOnce()> Drop for Finally<F> {
    fn drop(&mut self) {
        if let Some(last) = self.0.take() {
            last();
        }
    }
}

/// Calls `body` for all items, including those after one for which it panics.
fn each<I: Iterator>(items: I, body: impl FnMut(I::Item)) {
    struct Rest<I: Iterator, F: FnMut(I::Item)>(I, F);

    impl<I: Iterator, F: FnMut(I::Item)> Rest<I, F> {
        fn run(&mut self) {
            self.0.by_ref().for_each(&mut self.1);
        }
    }

    impl<I: Iterator, F: FnMut(I::Item)> Drop for Rest<I, F> {
        fn drop(&mut self) {
            self.run();
        }
    }

    let mut rest = Rest(items, body);
    rest.run();
}

fn wake_slots(leaf: &Node, by: Option<NonNull<Slot>>) {
    let others = leaf.slots().iter();
    each(
        others.filter(|slot| by != Some(NonNull::from(*slot))),
        |slot| _ = slot.sleeper.wake(None),
    );
}

fn wake_below(node: &Node, by: Option<NonNull<Slot>>) {
    match &node.below {
        Below::Slots(_) => wake_slots(node, by),
        Below::Nodes(_) => each(node.children(), |child| wake_below(child, by)),
    }
}

/// Wakes one sleeper below `part`, with the duty to wake the others.
fn wake_part(part: &Node) {
    let all = Finally::new(|| wake_below(part, None));
    wake_one(part, NonNull::from(part));
    all.defuse();
}

/// Wakes one sleeper below `node`, with the duty to wake all others below `part`.
fn wake_one(node: &Node, part: WakeDuty) -> bool {
    match &node.below {
        Below::Slots(slots) => slots.iter().any(|slot| slot.sleeper.wake(Some(part))),
        Below::Nodes(_) => node.children().any(|child| wake_one(child, part)),
    }
}
