//! Waking all that sleep when a phase is over.
//!
//! # Algorithm
//! Whoever ends the phase wakes its own part of the tree, and of each other part one sleeper, which wakes the rest of it. So tasks that
//! share a worker stay together: what takes the one has the others wherever it runs.
//!
//! A waker that panics takes no other's wake-up with it: the others are called first, and all of the part that it was to wake in its
//! sleeper's place; then the panic goes on, in the task that ends the phase. A second one on the way ends the program, as any panic
//! does that meets another one.

use super::Tree;
use super::node::{Below, Node, Slot};
use crate::port::{Barrier, Relax};
use core::ptr::NonNull;

impl<P: Relax + Barrier> Tree<P> {
    /// Wakes all that sleep, or has them woken, but `by`.
    pub(super) fn wake(&self, by: Option<NonNull<Slot>>) {
        if self.has_audience() {
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

    /// The child of the root that `slot` is below; the root, if it is a leaf.
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

    /// Does what a task was woken for.
    pub fn run_errand(&self, errand: Option<NonNull<Node>>, by: NonNull<Slot>) {
        if let Some(node) = errand {
            // SAFETY: nodes live as long as the phaser.
            wake_below(unsafe { node.as_ref() }, Some(by));
        }
    }
}

/// Does something at the end of a block, which may be left by a panic.
pub(in crate::phaser) struct Finally<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Finally<F> {
    pub fn new(last: F) -> Self {
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

/// Calls `body` for all items, those too behind one for which it panics.
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

/// Wakes one sleeper below `part`, to wake the others.
fn wake_part(part: &Node) {
    let all = Finally::new(|| wake_below(part, None));
    wake_one(part, NonNull::from(part));
    all.defuse();
}

/// Wakes one sleeper below `node` to wake all others below `part`.
fn wake_one(node: &Node, part: NonNull<Node>) -> bool {
    match &node.below {
        Below::Slots(slots) => slots.iter().any(|slot| slot.sleeper.wake(Some(part))),
        Below::Nodes(_) => node.children().any(|child| wake_one(child, part)),
    }
}
