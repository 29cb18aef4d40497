//! Values that go up the tree with the signals.
//!
//! # Algorithm
//! Chatterjee 2013, 6.5. Each slot has places for the values of two phases, used in turn, beside its signal word, which tells which of
//! them are in use: the transfer that brings a signal brings the value. A node has two cells, used in turn, each with the phase that
//! it is for. A node brings together the values below it before it is raised. Of a task that was registered in the phase itself, the
//! leaf may have been gathered already; so the tree takes the values of those registered before, and the end of the phase adds the
//! newcomers', in the order of their registration: each enters once. The order is that of the slots, then that of the newcomers: a
//! sum of floats has the same bits however the tasks run.
//!
//! Of a phase that tasks have left by watching each other (see `tree::watch`) there is no common result: each task makes it of the
//! values, in the same order, and keeps it on a line of its own until it signals the next phase. As long as it is there, no later phase
//! can be over, so it is right for any reader. An accumulator remembers the slot of the one task that brings values in through it, and
//! so finds that line; where it is none, or several, or the task keeps nothing, the result is made anew of the values.
//!
//! # Words
//! Values of a slot: its task, before it signals. Cells of a node: any task that gathers; several write the same, since all they read
//! is fixed until the phase is over. The result: the one that concludes the phase. What a task keeps: the task.
//!
//! A value is never overwritten while a registered task reads it: the overwrite happens two phases later, and cannot start before the
//! reader has signalled the phase in between. So only tasks registered signal-wait take part. A task that gathers or ends a phase may
//! be late and write its value again, as long as it has not signalled the next: so long the slots and the newcomers of that phase are
//! kept. A reader that is not registered has no such promise: it looks at the stamp, or at the signals, once more behind the value.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | A1 | `renew`, ending | `read`, beginning | the result | `watch_outsider_kept` |
//! | A2 | `renew`, words | `read`, words | that it is being written for a later phase, or dropped | `outsider`, `watch_outsider_kept` |
//! | A3 | `Cells::put` | `Cells::value` | that the phase after the value's is over: the signals, looked at again, say so | `watch_outsider_overtaken` |

mod operator;
mod putter;

pub use operator::{At, Element, Op};
pub(super) use putter::Putter;

use super::tree::{Below, FEW, Node, Slot};

use crate::sync::{AtomicUsize, CacheLine, Ordering};
use alloc::boxed::Box;
use core::cmp::Ordering::{Equal, Greater, Less};
use core::num::NonZeroU8;

const WORDS: usize = size_of::<u128>() / size_of::<usize>();

/// The words of a line of 64 bytes.
const LINE: usize = 64 / size_of::<usize>();

/// The stamp of a result that is not kept any more: odd, as while one is being written.
const DROPPED: usize = 1;

fn part(value: u128, index: usize) -> usize {
    (value >> (index * usize::BITS as usize)) as usize
}

fn joined(words: impl Iterator<Item = usize>) -> u128 {
    let places = words.enumerate();
    places.fold(0, |all, (index, word)| {
        all | (word as u128) << (index * usize::BITS as usize)
    })
}

/// A value, and the phase that it is for: `2 * (phase + 1)`, plus 1 while it is being written.
#[derive(Debug)]
pub(super) struct Cell {
    stamp: AtomicUsize,
    words: [AtomicUsize; WORDS],
}

/// What a cell has for a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    Value(u128),
    /// The value of an earlier phase, or none.
    Nothing,
    /// That of a later phase, maybe not wholly.
    Later,
}

impl Cell {
    pub fn new() -> Self {
        Self {
            stamp: AtomicUsize::new(0),
            words: core::array::from_fn(|_| AtomicUsize::new(0)),
        }
    }

    /// A node's value, which several threads may write at once. Published by the raise (N1).
    fn set(&self, phase: usize, value: u128) {
        for (index, word) in self.words.iter().enumerate() {
            // ORDERING: Relaxed: see above.
            word.store(part(value, index), Ordering::Relaxed);
        }
        // ORDERING: Relaxed: as above.
        self.stamp.store(2 * (phase + 1), Ordering::Relaxed);
    }

    /// A node's value, by a task that has seen it raised, and that has not signalled the next phase.
    fn get(&self, phase: usize) -> Option<u128> {
        // ORDERING: Relaxed: see `set`.
        let there = self.stamp.load(Ordering::Relaxed) == 2 * (phase + 1);
        // ORDERING: Relaxed: see `set`.
        let words = self.words.iter().map(|word| word.load(Ordering::Relaxed));
        there.then(|| joined(words))
    }

    /// Writes the result of `phase`, while others may read. One thread at a time.
    pub fn renew(&self, phase: usize, value: u128) {
        renew(&self.stamp, &self.words, 2 * (phase + 1), value);
    }

    /// The result of `phase`, whole. Any thread.
    pub fn read(&self, phase: usize) -> Read {
        let (stamp, value) = read(&self.stamp, &self.words);
        match (stamp >> 1).cmp(&(phase + 1)) {
            Less => Read::Nothing,
            Greater => Read::Later,
            Equal if stamp & 1 != 0 => Read::Nothing,
            Equal => value.map_or(Read::Later, Read::Value),
        }
    }
}

/// Writes a value, for readers that may come at any time. One thread at a time.
#[inline]
fn renew(stamp: &AtomicUsize, words: &[AtomicUsize], now: usize, value: u128) {
    // ORDERING: Relaxed: published with each word (A2).
    stamp.store(now | 1, Ordering::Relaxed);
    for (index, word) in words.iter().enumerate() {
        // ORDERING: Release, pairs with Acquire in read (A2).
        word.store(part(value, index), Ordering::Release);
    }
    // ORDERING: Release, pairs with Acquire in read (A1).
    stamp.store(now, Ordering::Release);
}

/// The stamp, and the value if it is whole.
#[inline]
fn read(stamp: &AtomicUsize, words: &[AtomicUsize]) -> (usize, Option<u128>) {
    // ORDERING: Acquire, pairs with Release in renew (A1).
    let now = stamp.load(Ordering::Acquire);
    if now & 1 != 0 {
        return (now, None);
    }
    // ORDERING: Acquire, pairs with Release in renew (A2): a word of a later value shows that in the stamp.
    let value = joined(words.iter().map(|word| word.load(Ordering::Acquire)));
    // ORDERING: Relaxed: after the words, by their Acquire.
    let whole = stamp.load(Ordering::Relaxed) == now;
    (now, whole.then_some(value))
}

/// Two phases' values of a node, on a line of their own.
type Pair = CacheLine<[Cell; 2]>;

/// The values of a node; of a leaf, also what its slots have: for each a signal word and two values, on a line each, but for the first two
/// of a leaf whose tasks watch each other: they share one if they fit. Behind these, such a leaf has a line for each slot, with the
/// result that its task keeps.
#[derive(Debug)]
pub(super) struct Cells {
    node: Option<Box<Pair>>,
    lines: Box<[CacheLine<[AtomicUsize; LINE]>]>,
    /// The words of a value.
    width: u8,
    /// The first two slots share a line.
    paired: bool,
    /// The first line of results that tasks keep.
    kept: Option<NonZeroU8>,
}

impl Cells {
    /// Those of an inner node; none unless the phaser accumulates.
    pub fn inner(reduction: Option<&Reduction>) -> Self {
        let pair = || Box::new(CacheLine([Cell::new(), Cell::new()]));
        Self {
            node: reduction.map(|_| pair()),
            lines: Box::new([]),
            width: reduction.map_or(0, |reduction| reduction.width),
            paired: false,
            kept: None,
        }
    }

    /// Those of a leaf, whose tasks may watch each other.
    pub fn leaf(reduction: Option<&Reduction>, slots: usize, watched: bool) -> Self {
        let mut cells = Self::inner(reduction);
        if reduction.is_some() {
            cells.paired = watched && 2 * cells.stride() <= LINE;
            let lines = slots - usize::from(cells.paired);
            let line = |word| CacheLine(core::array::from_fn(|_| AtomicUsize::new(word)));
            let posts = (0..lines).map(|_| line(super::tree::GONE));
            if watched {
                cells.kept = NonZeroU8::new(lines as u8);
                let kept = (0..slots).map(|_| line(DROPPED));
                cells.lines = posts.chain(kept).collect();
            } else {
                cells.lines = posts.collect();
            }
        }
        cells
    }

    /// The words of a slot.
    fn stride(&self) -> usize {
        1 + 2 * usize::from(self.width)
    }

    /// The words of a slot, the signal word first.
    #[inline]
    fn words(&self, slot: usize) -> Option<&[AtomicUsize]> {
        let (line, place) = match self.paired {
            true => (slot.saturating_sub(1), usize::from(slot == 1)),
            false => (slot, 0),
        };
        let at = place * self.stride();
        self.lines.get(line)?.0.get(at..at + self.stride())
    }

    /// The signal word of a slot, if values are with it.
    #[inline]
    pub fn signal(&self, slot: usize) -> Option<&AtomicUsize> {
        self.words(slot)?.first()
    }

    fn place(&self, slot: usize, phase: usize) -> &[AtomicUsize] {
        let width = usize::from(self.width);
        let at = 1 + (phase & 1) * width;
        self.words(slot).map_or(&[], |words| &words[at..at + width])
    }

    /// The value of a slot for `phase`, which its signal word has told of.
    fn value(&self, slot: usize, phase: usize) -> u128 {
        let words = self.place(slot, phase).iter();
        // ORDERING: Acquire, pairs with Release in put (A3).
        joined(words.map(|word| word.load(Ordering::Acquire)))
    }

    /// Puts a value in place, for the signal of `phase` to publish (S1).
    fn put(&self, slot: usize, phase: usize, value: u128) {
        for (index, word) in self.place(slot, phase).iter().enumerate() {
            // ORDERING: Release, pairs with Acquire in value (A3).
            word.store(part(value, index), Ordering::Release);
        }
    }

    /// The stamp and the words of what the task in a slot keeps, if tasks of the leaf may watch.
    #[inline]
    fn kept(&self, slot: usize) -> Option<(&AtomicUsize, &[AtomicUsize])> {
        let line = self.lines.get(usize::from(self.kept?.get()) + slot)?;
        let (stamp, words) = line.0.split_first()?;
        Some((stamp, words.get(..usize::from(self.width))?))
    }

    fn node(&self, phase: usize) -> Option<&Cell> {
        Some(&self.node.as_ref()?[phase & 1])
    }

    fn gathered(&self, phase: usize) -> Option<u128> {
        self.node(phase)?.get(phase)
    }
}

/// How values become one.
#[derive(Debug)]
pub(super) struct Reduction {
    op: Op,
    combine: fn(Op, u128, u128) -> u128,
    identity: u128,
    init: u128,
    /// The words of a value.
    width: u8,
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
            width: T::WIDTH.min(u128::BITS).div_ceil(usize::BITS) as u8,
        })
    }

    /// Brings `value` in for the phase that the task in `slot` signals next.
    pub fn put(&self, slot: &Slot, phase: usize, value: u128) {
        let (leaf, index) = slot.place();
        leaf.cells.put(index, phase, value);
    }

    fn all(&self, values: impl Iterator<Item = u128>) -> u128 {
        values.fold(self.identity, |a, b| (self.combine)(self.op, a, b))
    }

    /// The values of those in a leaf, but for newcomers.
    fn slots(&self, leaf: &Node, phase: usize) -> u128 {
        let slots = leaf.slots().iter().enumerate();
        self.all(slots.filter_map(|(index, slot)| {
            // The signal word first: it may be that of a task that comes meanwhile, and then its start is seen too (S1).
            let there = leaf.progress(index).has_value(phase);
            (there && slot.start() < phase).then(|| leaf.cells.value(index, phase))
        }))
    }

    /// Brings together what came from below `node`.
    pub fn combine(&self, node: &Node, phase: usize) {
        let value = match &node.below {
            Below::Slots(_) => self.slots(node, phase),
            Below::Nodes(_) => {
                let children = node.children();
                self.all(children.filter_map(|child| child.cells.gathered(phase)))
            }
        };
        if let Some(cell) = node.cells.node(phase) {
            cell.set(phase, value);
        }
    }

    /// Adds the newcomers' values to those of the tree below `top`. One thread for each phase.
    pub fn conclude<'a>(
        &self,
        top: Option<&Node>,
        newcomers: impl Iterator<Item = &'a Slot>,
        phase: usize,
    ) -> u128 {
        let tree = top.and_then(|top| top.cells.gathered(phase));
        let late = newcomers.filter(|slot| slot.start() == phase);
        let late = late.filter_map(|slot| {
            let (leaf, index) = slot.place();
            let there = leaf.progress(index).has_value(phase);
            there.then(|| leaf.cells.value(index, phase))
        });
        let value = self.all(tree.into_iter().chain(late));
        (self.combine)(self.op, self.init, value)
    }

    /// The values for a phase without newcomers in which `leaf`, a small one, was the tree. To be used only if no later phase is over
    /// behind this: else they may be put together from two.
    #[inline]
    pub fn values(&self, leaf: &Node, phase: usize) -> [Option<u128>; FEW] {
        let mut values = [None; FEW];
        let slots = leaf.slots().iter().enumerate();
        for ((index, slot), value) in slots.zip(&mut values) {
            // As in `slots`.
            let there = leaf.progress(index).has_value(phase);
            *value = (there && slot.start() < phase).then(|| leaf.cells.value(index, phase));
        }
        values
    }

    /// What comes of them: as concluded.
    #[inline]
    pub fn result_of(&self, values: &[Option<u128>]) -> u128 {
        let tree = self.all(values.iter().flatten().copied());
        (self.combine)(self.op, self.init, tree)
    }

    /// Has the task in `slot` keep the result of `phase`, which it has left by watching.
    pub fn keep(&self, slot: &Slot, phase: usize, result: u128) {
        let (leaf, index) = slot.place();
        if let Some((stamp, words)) = leaf.cells.kept(index) {
            renew(stamp, words, 2 * (phase + 1), result);
        }
    }

    /// What the task in `slot` keeps is to be used no more: before it signals, or goes.
    pub fn forget(&self, slot: &Slot) {
        let (leaf, index) = slot.place();
        if let Some((stamp, _)) = leaf.cells.kept(index) {
            // ORDERING: Relaxed: published by the signal, or the drop, that follows (S1).
            stamp.store(DROPPED, Ordering::Relaxed);
        }
    }

    /// What the task in `slot` keeps: the result of the phase that ended last. Any thread.
    #[inline]
    pub fn kept(&self, slot: &Slot) -> Option<u128> {
        let (leaf, index) = slot.place();
        let (stamp, words) = leaf.cells.kept(index)?;
        read(stamp, words).1
    }

    /// What comes out if nothing goes in.
    pub fn init(&self) -> u128 {
        self.init
    }
}
