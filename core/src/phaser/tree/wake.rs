//! Waking all that sleep when a phase is over.
//!
//! # Algorithm
//! Whoever ends the phase wakes its own part of the tree, and of each other part one sleeper, which wakes the rest of it. So tasks that
//! share a worker stay together: what takes the one has the others wherever it runs.

use super::Tree;
use super::node::{Below, Node, Slot};
use crate::port::{Barrier, Relax};
use core::ptr::NonNull;

impl<P: Relax + Barrier> Tree<P> {
    /// Wakes all that sleep, or has them woken, but `by`.
    pub(super) fn wake(&self, by: Option<NonNull<Slot>>) {
        if self.has_audience() {
            self.nodes().for_each(|node| wake_slots(node, by));
            return;
        }
        let Some(root) = self.root() else {
            return;
        };
        let own = by.map(|slot| self.part_of(root, slot));
        for part in root.children() {
            if own != Some(NonNull::from(part)) {
                wake_one(part, NonNull::from(part));
            }
        }
        match own {
            // SAFETY: nodes live as long as the phaser.
            Some(own) => wake_below(unsafe { own.as_ref() }, by),
            None => wake_slots(root, None),
        }
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

fn wake_slots(leaf: &Node, by: Option<NonNull<Slot>>) {
    for slot in leaf.slots() {
        if by != Some(NonNull::from(slot)) {
            slot.sleeper.wake(None);
        }
    }
}

fn wake_below(node: &Node, by: Option<NonNull<Slot>>) {
    match &node.below {
        Below::Slots(_) => wake_slots(node, by),
        Below::Nodes(_) => node.children().for_each(|child| wake_below(child, by)),
    }
}

/// Wakes one sleeper below `node` to wake all others below `part`.
fn wake_one(node: &Node, part: NonNull<Node>) -> bool {
    match &node.below {
        Below::Slots(slots) => slots.iter().any(|slot| slot.sleeper.wake(Some(part))),
        Below::Nodes(_) => node.children().any(|child| wake_one(child, part)),
    }
}
