//! The tree phaser as printed in Chatterjee 2013, which is incorrect: its errors are what the tests
//! of phasers must find.
//!
//! # Algorithm
//! Chatterjee 2013, algorithms 2 to 10, as literally as possible. Where the text leaves a choice:
//! the tree grows as in `tautline_core::phaser`; claims are counters that only rise, since nothing
//! resets them; at most 32 tasks signal, so that lists are counters and words of bits. The errors:
//! - The landing pad is emptied before the tree is gathered: no task waits for a task registered
//!   in the meantime into a leaf that has been gathered.
//! - Nodes are incremented: gathered twice in a phase, by a dynamic and a fixed master, one is
//!   ahead of its tasks.
//! - Only its fixed master gathers a node, and only in its own wait: masters that wait on two
//!   phasers in opposite orders, or that signal one and wait on the other, wait for ever.
//!
//! Correcting the increments leaves the other two errors.
//!
//! # Words
//! As in the source. `unfixed`: a bit for each node.
//!
//! # Orderings
//! As strong as an access may be, so that only the algorithm is wrong; none of them is claimed to
//! be needed, and no table names their partners.
#![forbid(unsafe_code)]

use alloc::sync::Arc;
use alloc::vec::Vec;
use tautline_core::phaser::Mode;
use tautline_core::port::{Relax, Spin};
use tautline_core::sync::Ordering::{AcqRel, Acquire, Release};
use tautline_core::sync::{AtomicBool, AtomicUsize};

const MOST: usize = 32;
/// No node, no task; others are numbered from 1 in words.
const NONE: usize = 0;

/// A `SubPhaser`.
#[derive(Debug)]
struct Node {
    phase: AtomicUsize,
    claim: AtomicUsize,
    fixed: AtomicUsize,
    parent: AtomicUsize,
    /// Slots that have a task, or children.
    below: AtomicUsize,
}

/// The part of a `SigSync` that others read.
#[derive(Debug)]
struct Signals {
    phase: AtomicUsize,
    is_active: AtomicBool,
}

#[derive(Debug)]
struct Shared {
    degree: usize,
    /// Whether nodes are raised to a phase, not incremented, and gathered once only.
    is_mended: bool,
    phase: AtomicUsize,
    master: AtomicUsize,
    root: AtomicUsize,
    tickets: AtomicUsize,
    leaves: AtomicUsize,
    /// Tasks appended to the landing pad, and removed from it.
    on_pad: AtomicUsize,
    off_pad: AtomicUsize,
    unfixed: AtomicUsize,
    slots: Vec<Signals>,
    nodes: Vec<Node>,
    /// The number of the first node of each level; leaves first.
    levels: Vec<usize>,
}

fn word(value: usize) -> AtomicUsize {
    AtomicUsize::new(value)
}

/// Polls until `done` returns true.
fn wait_until(mut done: impl FnMut() -> bool) {
    let mut turn = 0;
    while !done() {
        Spin.relax(turn);
        turn = turn.saturating_add(1);
    }
}

/// Returns whether the caller must do the work of `phase`.
fn claim(word: &AtomicUsize, phase: usize) -> bool {
    let now = word.load(Acquire);
    now <= phase
        && word
            .compare_exchange(now, phase + 1, AcqRel, Acquire)
            .is_ok()
}

impl Shared {
    fn new(degree: usize, is_mended: bool) -> Self {
        assert!(degree > 1, "a tree of degree {degree}: at least 2");
        let (mut levels, mut nodes, mut width) = (Vec::new(), 0, MOST.div_ceil(degree));
        loop {
            levels.push(nodes);
            nodes += width;
            if width == 1 {
                break;
            }
            width = width.div_ceil(degree);
        }
        let node = |_| Node {
            phase: word(0),
            claim: word(0),
            fixed: word(NONE),
            parent: word(NONE),
            below: word(0),
        };
        let slot = |_| Signals {
            phase: word(0),
            is_active: AtomicBool::new(true),
        };
        Self {
            degree,
            is_mended,
            phase: word(0),
            master: word(0),
            root: word(NONE),
            tickets: word(0),
            leaves: word(0),
            on_pad: word(0),
            off_pad: word(0),
            unfixed: word(0),
            slots: (0..MOST).map(slot).collect(),
            nodes: (0..nodes).map(node).collect(),
            levels,
        }
    }

    /// Returns node `index` of `level`.
    fn at(&self, level: usize, index: usize) -> usize {
        self.levels[level] + index
    }

    /// Returns the level of a node, and its index there.
    fn place(&self, node: usize) -> (usize, usize) {
        let above = self.levels.iter().position(|first| *first > node);
        let level = above.unwrap_or(self.levels.len()) - 1;
        (level, node - self.levels[level])
    }

    fn parent(&self, node: usize) -> Option<usize> {
        self.nodes[node].parent.load(Acquire).checked_sub(1)
    }

    fn hang(&self, node: usize, parent: usize) {
        self.nodes[node].parent.store(parent + 1, Release);
    }

    /// Makes an inner node over its first `count` children.
    fn inner(&self, level: usize, index: usize, count: usize) -> usize {
        let node = self.at(level, index);
        let below = (0..count).map(|child| self.at(level - 1, index * self.degree + child));
        let phases = below.map(|child| self.nodes[child].phase.load(Acquire));
        let lowest = phases.min().expect("an inner node has children");
        self.nodes[node].phase.store(lowest, Release);
        self.nodes[node].below.store(count, Release);
        node
    }

    /// Links a leaf into the tree. Called by one task at a time, in the order of tickets.
    fn grow(&self, leaf: usize) {
        let (mut level, mut index) = (0, leaf);
        if leaf == 0 {
            return self.root.store(leaf + 1, Release);
        }
        while index % self.degree == 0 {
            let node = self.at(level, index);
            (level, index) = (level + 1, index / self.degree);
            let parent = self.inner(level, index, 1);
            self.hang(node, parent);
        }
        let (left, node) = (self.at(level, index - 1), self.at(level, index));
        match self.parent(left) {
            Some(parent) => {
                self.hang(node, parent);
                self.nodes[parent].below.fetch_add(1, AcqRel);
            }
            None => {
                let root = self.inner(level + 1, 0, 2);
                self.hang(left, root);
                self.hang(node, root);
                self.root.store(root + 1, Release);
            }
        }
    }

    fn settled(&self, slot: usize, phase: usize) -> bool {
        let slot = &self.slots[slot];
        !slot.is_active.load(Acquire) || slot.phase.load(Acquire) > phase
    }

    /// Records that `phase` has been gathered.
    fn raise(&self, word: &AtomicUsize, phase: usize) {
        match self.is_mended {
            true => word.fetch_max(phase + 1, AcqRel),
            false => word.fetch_add(1, AcqRel),
        };
    }

    /// Adds the node to the list of those without a master, or removes it.
    fn list(&self, node: usize, unfixed: bool) {
        match unfixed {
            true => self.unfixed.fetch_or(1 << node, AcqRel),
            false => self.unfixed.fetch_and(!(1 << node), AcqRel),
        };
    }
}

#[derive(Debug)]
struct Signaler {
    slot: usize,
    leaf: usize,
    phase: usize,
    check: usize,
}

/// A task's registration on the printed phaser.
#[derive(Debug)]
pub struct Printed {
    shared: Arc<Shared>,
    signals: Option<Signaler>,
    /// The phase that it waits for next.
    waits: Option<usize>,
    fixed: Option<usize>,
}

impl Printed {
    /// Creates a phaser, with its first task.
    ///
    /// # Panics
    /// If the degree is below 2.
    pub fn create(degree: usize, mode: Mode) -> Self {
        Self::enter(Arc::new(Shared::new(degree, false)), mode, 0, 0)
    }

    /// Creates a phaser with correct increments.
    ///
    /// # Panics
    /// If the degree is below 2.
    pub fn mended(degree: usize, mode: Mode) -> Self {
        Self::enter(Arc::new(Shared::new(degree, true)), mode, 0, 0)
    }

    /// Algorithms 2 and 3.
    fn enter(shared: Arc<Shared>, mode: Mode, signalled: usize, waited: usize) -> Self {
        let mut task = Self {
            shared: Arc::clone(&shared),
            signals: None,
            waits: mode.waits().then_some(waited),
            fixed: None,
        };
        if !mode.signals() {
            return task;
        }
        let slot = shared.tickets.fetch_add(1, AcqRel);
        assert!(slot < MOST, "the printed phaser takes {MOST} tasks here");
        let (leaf, place) = (slot / shared.degree, slot % shared.degree);
        shared.slots[slot].phase.store(signalled, Release);
        let node = &shared.nodes[leaf];
        if place == 0 {
            wait_until(|| shared.leaves.load(Acquire) == leaf);
            node.phase.store(signalled, Release);
            shared.grow(leaf);
            node.below.store(1, Release);
            shared.leaves.store(leaf + 1, Release);
        } else {
            wait_until(|| shared.leaves.load(Acquire) > leaf);
            wait_until(|| node.below.load(Acquire) == place);
            node.below.store(place + 1, Release);
        }
        task.signals = Some(Signaler {
            slot,
            leaf,
            phase: signalled,
            check: signalled,
        });
        if mode.waits() {
            task.fix();
        } else if place == 0 {
            shared.list(leaf, true);
        }
        wait_until(|| shared.on_pad.load(Acquire) == slot);
        shared.on_pad.store(slot + 1, Release);
        task
    }

    /// Returns its number in `fixed`; that of no task if it does not signal.
    fn me(&self) -> usize {
        self.signals.as_ref().map_or(NONE, |s| s.slot + 1)
    }

    /// Algorithm 4.
    fn fix(&mut self) {
        let me = self.me();
        let mut node = self.signals.as_ref().map(|s| s.leaf);
        while let Some(this) = node {
            let fixed = &self.shared.nodes[this].fixed;
            if fixed.compare_exchange(NONE, me, AcqRel, Acquire).is_ok() {
                self.shared.list(this, false);
                self.fixed = Some(this);
                return;
            }
            node = self.shared.parent(this);
        }
    }

    /// Algorithm 5.
    fn give(&mut self, early: bool) {
        let Some(signals) = &self.signals else {
            return;
        };
        if signals.phase == signals.check {
            let free = self.waits.is_some() && self.fixed.is_none();
            if free && self.shared.unfixed.load(Acquire) != 0 {
                self.fix();
            }
        }
        let Some(signals) = &mut self.signals else {
            return;
        };
        if signals.phase == signals.check {
            signals.phase += 1;
            let word = &self.shared.slots[signals.slot].phase;
            word.store(signals.phase, Release);
        }
        signals.check += usize::from(!early);
    }

    /// Algorithm 7.
    fn wait_tree(&self, node: usize, up: bool, phase: usize) {
        let shared = &*self.shared;
        let (this, (level, index)) = (&shared.nodes[node], shared.place(node));
        let is_done = shared.is_mended && this.phase.load(Acquire) > phase;
        let mut below = if is_done { usize::MAX } else { 0 };
        while below < this.below.load(Acquire) {
            let child = index * shared.degree + below;
            match level.checked_sub(1) {
                None => wait_until(|| shared.settled(child, phase)),
                Some(level) => self.wait_node(shared.at(level, child), false, phase),
            }
            below += 1;
        }
        shared.raise(&this.phase, phase);
        if let Some(parent) = shared.parent(node).filter(|_| up) {
            self.wait_node(parent, true, phase);
        }
    }

    /// Algorithm 8.
    fn wait_node(&self, node: usize, up: bool, phase: usize) {
        let this = &self.shared.nodes[node];
        let is_past = || this.phase.load(Acquire) > phase;
        while !is_past() {
            let fixed = this.fixed.load(Acquire);
            if fixed != NONE && fixed != self.me() {
                wait_until(|| is_past() || this.fixed.load(Acquire) == NONE);
            } else if claim(&this.claim, phase) {
                self.wait_tree(node, up, phase);
            } else {
                wait_until(is_past);
            }
        }
    }

    /// Algorithm 9.
    fn wait_phaser(&self, phase: usize) {
        let shared = &*self.shared;
        let mut slot = shared.off_pad.load(Acquire);
        while slot < shared.on_pad.load(Acquire) {
            wait_until(|| shared.settled(slot, phase));
            slot += 1;
        }
        shared.off_pad.store(slot, Release);
        let mut seen = NONE;
        loop {
            let root = shared.root.load(Acquire);
            if root == seen {
                break;
            }
            seen = root;
            self.wait_node(root - 1, false, phase);
        }
        for (node, this) in shared.nodes.iter().enumerate() {
            if shared.unfixed.load(Acquire) & 1 << node != 0 && this.fixed.load(Acquire) != NONE {
                shared.list(node, false);
            }
        }
        shared.raise(&shared.phase, phase);
    }
}

impl Printed {
    /// Registers a child, which starts at this task's phase.
    ///
    /// # Panics
    /// If it is more than the 32nd task that signals.
    pub fn register(&mut self, mode: Mode) -> Self {
        let waited = self.waits.unwrap_or(0);
        let signalled = self.signals.as_ref().map_or(waited, |s| s.phase);
        Self::enter(Arc::clone(&self.shared), mode, signalled, waited)
    }

    /// Empties the landing pad. Called when all initial tasks are registered, before any signal.
    pub fn found(&self) {
        let there = self.shared.on_pad.load(Acquire);
        self.shared.off_pad.store(there, Release);
    }

    /// Sends the signal of a `next` whose wait follows.
    pub fn signal(&mut self) {
        self.give(false);
    }

    /// Sends a signal ahead of the wait and its signal, which then sends none.
    pub fn signal_early(&mut self) {
        self.give(true);
    }

    /// Waits until all tasks have signalled: algorithm 6.
    pub fn wait(&mut self) {
        let Some(phase) = self.waits else {
            return;
        };
        let shared = &*self.shared;
        let is_past = || shared.phase.load(Acquire) > phase;
        if let Some(node) = self.fixed.filter(|_| !(shared.is_mended && is_past())) {
            self.wait_tree(node, true, phase);
        }
        while !is_past() {
            if claim(&shared.master, phase) {
                self.wait_phaser(phase);
            } else {
                wait_until(is_past);
            }
        }
        self.waits = Some(phase + 1);
    }
}

impl Drop for Printed {
    /// Algorithm 10.
    fn drop(&mut self) {
        if let Some(node) = self.fixed {
            self.shared.nodes[node].fixed.store(NONE, Release);
            self.shared.list(node, true);
        }
        if let Some(signals) = &self.signals {
            let slot = &self.shared.slots[signals.slot];
            slot.is_active.store(false, Release);
        }
    }
}
