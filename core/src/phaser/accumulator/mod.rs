//! Values that go up the tree with the signals.
//!
//! # Algorithm
//! Chatterjee 2013, 6.5. Each slot and each node has two cells, used in turn, each with the phase that it is for. A node brings together
//! the values below it before it is raised. Of a task that was registered in the phase itself, the leaf may have been gathered
//! already; so the tree takes the values of those registered before, and the end of the phase adds the newcomers', in the order of
//! their registration: each enters once. The order is that of the slots, then that of the newcomers: a sum of floats has the same
//! bits however the tasks run.
//!
//! # Words
//! Cells of a slot: its task, before it signals. Cells of a node: whoever gathers; several write the same, since all they read is
//! fixed until the phase is over. The result: the one who concludes the phase.
//!
//! Nobody reads a cell while it is written for a later phase: that takes the reader's own signal of the phase in between. So only
//! tasks registered signal-wait take part. Whoever gathers or ends a phase may be late and write its value again, as long as it has
//! not signalled the next: so long the slots and the newcomers of that phase are kept.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | A1 | `Cell::set` | `Cell::get` | in which phase the task of a value was registered | `accumulator_registration` |
#![forbid(unsafe_code)]

mod operator;

pub use operator::{At, Element, Op};

use super::tree::{Below, Node, Slot};

use crate::sync::{AtomicUsize, CacheLine, Ordering};
use alloc::boxed::Box;

const WORDS: usize = size_of::<u128>() / size_of::<usize>();

/// A value, and the phase that it is for, plus 1.
#[derive(Debug)]
struct Cell {
    stamp: AtomicUsize,
    words: [AtomicUsize; WORDS],
}

impl Cell {
    fn new() -> Self {
        Self {
            stamp: AtomicUsize::new(0),
            words: core::array::from_fn(|_| AtomicUsize::new(0)),
        }
    }

    /// Published by the signal (S1), the raise (N1) or the end of the phase (B1), unless it is read too early, which the stamp tells.
    fn set(&self, phase: usize, value: u128) {
        for (index, word) in self.words.iter().enumerate() {
            // ORDERING: Relaxed: see above.
            word.store(
                (value >> (index * usize::BITS as usize)) as usize,
                Ordering::Relaxed,
            );
        }
        // ORDERING: Release, pairs with Acquire in get (A1).
        self.stamp.store(phase + 1, Ordering::Release);
    }

    fn get(&self, phase: usize) -> Option<u128> {
        // ORDERING: Acquire, pairs with Release in set (A1).
        let there = self.stamp.load(Ordering::Acquire) == phase + 1;
        let words = self.words.iter().enumerate();
        let word = |(i, w): (usize, &AtomicUsize)| {
            // ORDERING: Relaxed: see `set`.
            (w.load(Ordering::Relaxed) as u128) << (i * usize::BITS as usize)
        };
        there.then(|| words.map(word).fold(0, |a, b| a | b))
    }
}

/// Two phases' values of a slot or a node, on a line of their own.
type Pair = CacheLine<[Cell; 2]>;

fn pair() -> Pair {
    CacheLine([Cell::new(), Cell::new()])
}

/// The values of a node, and of its slots after it.
#[derive(Debug)]
pub(super) struct Cells(Box<[Pair]>);

impl Cells {
    /// None unless the phaser accumulates.
    pub fn new(accumulates: bool, items: usize) -> Self {
        let items = if accumulates { items } else { 0 };
        Self((0..items).map(|_| pair()).collect())
    }

    fn node(&self, phase: usize) -> &Cell {
        &self.0[0][phase & 1]
    }

    fn slot(&self, index: usize, phase: usize) -> &Cell {
        &self.0[1 + index][phase & 1]
    }
}

/// How values become one.
#[derive(Debug)]
pub(super) struct Reduction {
    op: Op,
    combine: fn(Op, u128, u128) -> u128,
    identity: u128,
    init: u128,
    result: Pair,
}

impl Reduction {
    /// None if `op` is none for values of this type.
    pub fn new<T: Element>(op: Op, init: Option<T>) -> Option<Self> {
        let identity = T::identity(op)?;
        Some(Self {
            op,
            combine: |op, a, b| T::combine(op, T::unpack(a), T::unpack(b)).pack(),
            identity: identity.pack(),
            init: init.unwrap_or(identity).pack(),
            result: pair(),
        })
    }

    /// Brings `value` in for the phase that the task in `slot` signals next.
    pub fn put(&self, slot: &Slot, phase: usize, value: u128) {
        let (leaf, index) = slot.place();
        leaf.cells.slot(index, phase).set(phase, value);
    }

    fn all(&self, values: impl Iterator<Item = u128>) -> u128 {
        values.fold(self.identity, |a, b| (self.combine)(self.op, a, b))
    }

    /// Brings together what came from below `node`.
    pub fn combine(&self, node: &Node, phase: usize) {
        let value = match &node.below {
            Below::Slots(slots) => {
                // The value first: it may be that of a task that comes while this is done, and then its start is seen too (A1).
                let early = slots.iter().enumerate().filter_map(|(index, slot)| {
                    let value = node.cells.slot(index, phase).get(phase)?;
                    (slot.start() < phase).then_some(value)
                });
                self.all(early)
            }
            Below::Nodes(_) => {
                let children = node.children();
                self.all(children.filter_map(|child| child.cells.node(phase).get(phase)))
            }
        };
        node.cells.node(phase).set(phase, value);
    }

    /// Adds the newcomers' values to those of the tree below `top`. One thread for each phase.
    pub fn conclude<'a>(
        &self,
        top: Option<&Node>,
        newcomers: impl Iterator<Item = &'a Slot>,
        phase: usize,
    ) {
        let tree = top.and_then(|top| top.cells.node(phase).get(phase));
        let late = newcomers.filter(|slot| slot.start() == phase);
        let late = late.filter_map(|slot| {
            let (leaf, index) = slot.place();
            leaf.cells.slot(index, phase).get(phase)
        });
        let value = self.all(tree.into_iter().chain(late));
        let value = (self.combine)(self.op, self.init, value);
        self.result[phase & 1].set(phase, value);
    }

    /// The result of `phase`, which is over, as long as the phase after the next is not.
    pub fn result(&self, phase: usize) -> Option<u128> {
        self.result[phase & 1].get(phase)
    }

    /// What comes out if nothing goes in.
    pub fn init(&self) -> u128 {
        self.init
    }
}
