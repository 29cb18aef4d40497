//! Registration: slots for newcomers, and how the tree grows.
//!
//! # Algorithm
//! Leaf i has index i at level 0; the node of index x at level k has the parent x / degree at level k + 1. A new leaf is hung below the
//! parent of its left neighbour if that has room; else a new parent is made and hung likewise. Only the last node of each level is
//! needed for that (Chatterjee 2013, algorithms 2 and 3, which leave the setting up of inner nodes open).
//!
//! # Words
//! `newest`: whoever registers, under the lock. `FreeSlots`: a stack that dropping tasks push to and registrations empty.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | G1 | `keep` | `nodes` | the node | `growth_woken` |
//! | G2 | `FreeSlots::push` | `FreeSlots::take` | what the last task of the slot did with it | `reuse_early`, `reuse_both` |

use super::Tree;
use super::node::{Node, Progress, Slot};
use super::wake::Finally;
use crate::phaser::Mode;
use crate::phaser::accumulator::Cells;
use crate::port::{Barrier, Relax};
use crate::sync::{AtomicPtr, Ordering};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;
use core::ptr::{self, NonNull};

/// What registrations know, under the lock.
#[derive(Debug)]
pub(super) struct Registry {
    /// The last node of each level, with its index there; leaves first.
    last: Vec<(NonNull<Node>, usize)>,
    /// Slots of the last leaf that were given.
    used: usize,
    /// Free slots, the one that is longest so first, each with the phase in which that was found.
    free: VecDeque<(NonNull<Slot>, usize)>,
    /// Slots of those who only wait, outside of the tree.
    benches: Vec<NonNull<Slot>>,
}

impl Registry {
    pub fn new() -> Self {
        Self {
            last: Vec::new(),
            used: 0,
            free: VecDeque::new(),
            benches: Vec::new(),
        }
    }
}

/// Slots that their tasks have left.
#[derive(Debug)]
pub(super) struct FreeSlots(AtomicPtr<Slot>);

impl FreeSlots {
    pub fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    fn push(&self, slot: NonNull<Slot>) {
        // ORDERING: Relaxed: nothing below the top is read here.
        let mut top = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: slots live as long as the phaser.
            let next = unsafe { &slot.as_ref().next_free };
            // ORDERING: Relaxed: published with the slot.
            next.store(top, Ordering::Relaxed);
            // ORDERING: Release, pairs with Acquire in take (G2). Failure Relaxed: as above.
            let (yes, no) = (Ordering::Release, Ordering::Relaxed);
            match self.0.compare_exchange_weak(top, slot.as_ptr(), yes, no) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// All of them, the last one first.
    fn take(&self) -> impl Iterator<Item = NonNull<Slot>> {
        // ORDERING: Relaxed: a look first, so that registrations do not write the line for nothing.
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

/// A seat in the tree.
pub(in crate::phaser) struct Seat {
    pub slot: NonNull<Slot>,
    pub master_of: Option<NonNull<Node>>,
}

impl<P: Relax + Barrier> Tree<P> {
    /// Registers a task that owes the signal of phase `start` first, unless it only waits. By a registered task, before its own
    /// next signal; or by the creator.
    pub fn register(&self, mode: Mode, start: usize) -> Seat {
        self.hinder();
        let mut registry = self.registry.lock(&self.port);
        if !mode.signals() {
            let slot = self.bench(&mut registry);
            return Seat {
                slot,
                master_of: None,
            };
        }
        let (slot, mut vacant) = match self.reuse(&mut registry) {
            Some(slot) => {
                self.admit(slot, start);
                (slot, 0)
            }
            None => self.extend(&mut registry, start),
        };
        let master_of = mode.waits().then(|| self.find_node(slot)).flatten();
        vacant -= usize::from(vacant > 0 && master_of.is_some());
        if vacant > 0 {
            self.add_vacancy();
        }
        Seat { slot, master_of }
    }

    /// Puts a task that owes `start` next into a slot.
    fn admit(&self, slot: NonNull<Slot>, start: usize) {
        // SAFETY: slots live as long as the phaser.
        unsafe { slot.as_ref() }.seat(start);
        self.pad.append(slot, self.phase().0);
    }

    /// How many leaves, and levels of nodes, there are.
    pub fn shape(&self) -> (usize, usize) {
        let registry = self.registry.lock(&self.port);
        let leaves = registry.last.first().map_or(0, |(_, index)| index + 1);
        (leaves, registry.last.len())
    }

    /// The slot that has been free for longest. What its last task had to say for a phase must not be needed any more.
    fn reuse(&self, registry: &mut Registry) -> Option<NonNull<Slot>> {
        let first = registry.free.len();
        let taken = self.free.take();
        let phase = self.phase().0;
        registry.free.extend(taken.map(|slot| (slot, phase)));
        let mut taken = registry.free.range_mut(first..);
        while let (Some(last), Some(early)) = (taken.next(), taken.next_back()) {
            mem::swap(last, early);
        }
        let (_, since) = *registry.free.front()?;
        // Its values are needed until the phase is over, and the pad may have it until the next one is: twice there, it would count
        // twice.
        let ready = self.reduction.is_none() || since + 1 < phase;
        ready
            .then(|| registry.free.pop_front())?
            .map(|(slot, _)| slot)
    }

    /// The next slot of the last leaf, or the first of a new one, with the number of nodes made for it.
    fn extend(&self, registry: &mut Registry, start: usize) -> (NonNull<Slot>, usize) {
        let degree = self.config.degree;
        if let Some((leaf, _)) = registry.last.first() {
            // SAFETY: nodes live as long as the phaser.
            let slots = unsafe { leaf.as_ref() }.slots();
            if let Some(slot) = slots.get(registry.used) {
                registry.used += 1;
                let slot = NonNull::from(slot);
                self.admit(slot, start);
                return (slot, 0);
            }
        }
        // Only the first leaf can be the whole tree.
        let watched = registry.last.is_empty() && self.can_watch();
        let cells = Cells::leaf(self.reduction.as_ref(), degree, watched);
        // Not what its first task owes, which may be far ahead: the next one in the leaf, or in that slot, owes less.
        let phase = self.phase().0;
        let paired = watched && self.reduction.is_none();
        let leaf = self.keep(Node::leaf(degree, phase, paired, cells));
        registry.used = 1;
        // SAFETY: as above.
        let slot = NonNull::from(&unsafe { leaf.as_ref() }.slots()[0]);
        // Before the node is linked: a tree that has grown shows its newcomers on the pad.
        self.admit(slot, start);
        (slot, 1 + self.grow(registry, leaf))
    }

    /// Hangs a new leaf into the tree; returns how many inner nodes that took.
    fn grow(&self, registry: &mut Registry, leaf: NonNull<Node>) -> usize {
        let degree = self.config.degree;
        let mut node = leaf;
        for level in 0.. {
            let Some((left, index)) = registry.last.get(level).copied() else {
                registry.last.push((node, 0));
                if level == 0 {
                    self.plant(node);
                }
                return level;
            };
            let index = index + 1;
            registry.last[level] = (node, index);
            // SAFETY: nodes live as long as the phaser.
            let (below, left_node) = unsafe { (node.as_ref(), left.as_ref()) };
            let cells = Cells::inner(self.reduction.as_ref());
            if index % degree == 0 {
                let above = self.keep(Node::inner(degree, node, None, cells));
                below.hang(above);
                node = above;
                continue;
            }
            if let Some(parent) = left_node.parent() {
                below.hang(parent);
                // SAFETY: as above.
                unsafe { parent.as_ref() }.adopt(index % degree, node);
                return level;
            }
            let root = self.keep(Node::inner(degree, left, Some(node), cells));
            registry.last.push((root, 0));
            below.hang(root);
            left_node.hang(root);
            self.plant(root);
            return level + 1;
        }
        unreachable!("a tree has fewer levels than words have bits")
    }

    /// A slot for a task that only waits.
    fn bench(&self, registry: &mut Registry) -> NonNull<Slot> {
        // ORDERING: Relaxed: see has_audience.
        self.audience.store(true, Ordering::Relaxed);
        registry.benches.pop().unwrap_or_else(|| {
            let cells = Cells::inner(None);
            let bench = self.keep(Node::leaf(self.config.degree, 0, false, cells));
            // SAFETY: nodes live as long as the phaser.
            let slots = unsafe { bench.as_ref() }.slots().iter();
            registry.benches.extend(slots.map(NonNull::from));
            registry.benches.pop().expect("a node has slots")
        })
    }

    /// Takes a task out of its slot, which is free then.
    pub fn leave(&self, slot: NonNull<Slot>, mode: Mode, progress: Progress) {
        // SAFETY: slots live as long as the phaser.
        let this = unsafe { slot.as_ref() };
        let errand = this.sleeper.rise(&self.port);
        // Whatever the wakers do that are called on the way, the slot is not lost.
        let _frees = Finally::new(|| match mode.signals() {
            true => self.free.push(slot),
            false => self.registry.lock(&self.port).benches.push(slot),
        });
        let _tells = Finally::new(|| {
            if mode.signals() {
                this.drop_out(progress);
                self.after_signal(slot, false);
            }
        });
        self.run_errand(errand, slot);
    }
}

impl<P: Barrier> Tree<P> {
    /// Puts a node among those that are freed with the tree.
    fn keep(&self, node: NonNull<Node>) -> NonNull<Node> {
        // ORDERING: Relaxed: written under the lock.
        let older = self.newest.load(Ordering::Relaxed);
        // SAFETY: the node was made just now, and no other thread can access it yet.
        unsafe { (*node.as_ptr()).older = older };
        // ORDERING: Release, pairs with Acquire in nodes (G1).
        self.newest.store(node.as_ptr(), Ordering::Release);
        node
    }

    /// All nodes, those outside of the tree too.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        // ORDERING: Acquire, pairs with Release in keep (G1).
        let mut next = self.newest.load(Ordering::Acquire);
        core::iter::from_fn(move || {
            // SAFETY: nodes live as long as the phaser.
            let node = unsafe { next.as_ref() }?;
            next = node.older;
            Some(node)
        })
    }
}

impl<P: Barrier> Drop for Tree<P> {
    fn drop(&mut self) {
        if let Some(line) = self.line() {
            self.port.give_back(line);
        }
        // ORDERING: Relaxed: nobody else has the tree any more.
        let mut next = self.newest.load(Ordering::Relaxed);
        while !next.is_null() {
            // SAFETY: made by Box::into_raw, and freed once.
            let node = unsafe { Box::from_raw(next) };
            next = node.older;
        }
    }
}
