//! The nodes of the tree, and the slots that tasks have in its leaves.
//!
//! # Words
//! Signal words: the task's; set by its registrar. `gathered`: raised by whoever has seen all below it; a fixed master stores,
//! others raise. `master`: set from null by whoever becomes it, or makes a child it; cleared by the master. `parent`, children: set
//! once, by whoever registers, under the lock.
//!
//! # Two signal words on one line
//! Where tasks watch each other (see `watch`), the words of the first two slots share a line, all others have one each. The transfer that
//! gives a task the right to write its own word then brings the other's signal; with a line each there are two transfers, one after
//! the other. Measured for two threads on an Intel Xeon (model 207): 122 ns an episode instead of 189 to 217. Three or four words on
//! a line were not measured on as many cores. Simulated (`verify/CYCLES.md`, few threads), each further word on a line costs more
//! than it saves, as its writers take the line from each other in turn: so two share, and of three or four tasks the first two.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | S1 | `signal`, `drop_out`, `seat` | `Node::progress` | what the task did, its registrations and its value too | `static_3`, `reuse_early` |
//! | N1 | `Node::raise`, `store_gathered` | `Node::is_behind` | S1 of all below | `static_3`, `master_elsewhere` |
//! | N2 | `hang`, `adopt` | `parent`, `child` | the node and its first child | `growth`, `growth_adopts` |

use super::sleeper::Sleeper;
use crate::phaser::accumulator::Cells;
use crate::sync::{AtomicPtr, AtomicUsize, CacheLine, Ordering};
use alloc::boxed::Box;
use core::ptr::{self, NonNull};

/// Set in the signal word of a slot that owes no signal for any phase: it is free, or its task has left.
pub(in crate::phaser) const GONE: usize = !(usize::MAX >> 1);

/// What a signal word says: the number of phases signalled, and whether the last even and the last odd one of them have a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::phaser) struct Progress(usize);

impl Progress {
    /// All phases below `signalled` are signalled, without a value.
    pub fn new(signalled: usize) -> Self {
        Self(signalled << 2)
    }

    /// One phase more is signalled, with a value or without.
    #[inline]
    pub fn next(self, has_value: bool) -> Self {
        let phase = self.signalled();
        let others = self.0 & (2 >> (phase & 1));
        Self((phase + 1) << 2 | others | usize::from(has_value) << (phase & 1))
    }

    /// The number of phases signalled.
    #[inline]
    pub fn signalled(self) -> usize {
        (self.0 & !GONE) >> 2
    }

    /// The slot is free, or its task has left.
    pub fn is_gone(self) -> bool {
        self.0 & GONE != 0
    }

    /// `phase` is not signalled.
    #[inline]
    pub fn owes(self, phase: usize) -> bool {
        self.0 < (phase + 1) << 2
    }

    /// `phase` is signalled with a value, and no later phase has taken the place of that.
    #[inline]
    pub fn has_value(self, phase: usize) -> bool {
        matches!(self.signalled().wrapping_sub(phase), 1 | 2) && self.0 >> (phase & 1) & 1 != 0
    }
}

/// What one task has in the tree; stays where it is as long as the phaser exists, for one task after the other.
pub(in crate::phaser) type Slot = CacheLine<SlotWords>;

/// See [`Slot`].
#[derive(Debug)]
pub(in crate::phaser) struct SlotWords {
    /// The signal word, unless that is among [`Node::signals`] or with the values.
    signal: AtomicUsize,
    /// The first phase that it owes.
    start: AtomicUsize,
    pub sleeper: Sleeper,
    /// The next of those that are free.
    pub next_free: AtomicPtr<Slot>,
    leaf: NonNull<Node>,
    /// The signal word, in this slot or outside of it. A task loads only this pointer before it
    /// signals.
    word: NonNull<AtomicUsize>,
}

impl SlotWords {
    fn new() -> Self {
        Self {
            signal: AtomicUsize::new(GONE),
            start: AtomicUsize::new(usize::MAX),
            sleeper: Sleeper::new(),
            next_free: AtomicPtr::new(ptr::null_mut()),
            leaf: NonNull::dangling(),
            word: NonNull::dangling(),
        }
    }

    /// The first phase that its task owes.
    pub fn start(&self) -> usize {
        // ORDERING: Relaxed: whoever asks has seen the registration (P1, or S1 of the registrar).
        self.start.load(Ordering::Relaxed)
    }

    /// The leaf that it is in.
    pub fn leaf(&self) -> NonNull<Node> {
        self.leaf
    }
}

/// Writes the signal word of the task, which has come so far.
#[inline]
pub(in crate::phaser) fn signal(word: &AtomicUsize, progress: Progress) {
    // ORDERING: Release, pairs with Acquire in progress (S1).
    word.store(progress.0, Ordering::Release);
}

impl Slot {
    /// Takes a task in that owes `start` next.
    pub fn seat(&self, start: usize) {
        // ORDERING: Relaxed: the registrar's signal (S1) or the landing pad (P1) makes it visible.
        self.start.store(start, Ordering::Relaxed);
        // ORDERING: Release, pairs with Acquire in progress (S1): a task that finds the newcomer in the place of one that is gone, and
        // that owes nothing yet, sees what that one did.
        self.word().store(Progress::new(start).0, Ordering::Release);
    }

    /// Nothing is owed any more by the task, which has come so far.
    pub fn drop_out(&self, progress: Progress) {
        // ORDERING: Release, pairs with Acquire in progress (S1).
        self.word().store(progress.0 | GONE, Ordering::Release);
    }

    /// The task has not signalled `phase`.
    pub fn owes(&self, phase: usize) -> bool {
        let (leaf, index) = self.place();
        leaf.owes(index, phase)
    }

    /// The signal word.
    #[inline]
    pub fn word(&self) -> &AtomicUsize {
        // SAFETY: set when the leaf was made; the words live as long as the slots.
        unsafe { self.word.as_ref() }
    }

    /// The leaf that it is in, and its number there.
    pub fn place(&self) -> (&Node, usize) {
        // SAFETY: nodes live as long as their slots.
        let leaf = unsafe { self.leaf().as_ref() };
        let first = leaf.slots().as_ptr();
        (
            leaf,
            (ptr::from_ref(self).addr() - first.addr()) / size_of::<Self>(),
        )
    }
}

/// What is below a node.
#[derive(Debug)]
pub(in crate::phaser) enum Below {
    /// Tasks.
    Slots(Box<[Slot]>),
    /// Nodes; null: not yet.
    Nodes(Box<[AtomicPtr<Node>]>),
}

/// A node: gathers the signals of those below it.
#[derive(Debug)]
#[cfg_attr(target_pointer_width = "64", repr(align(64)))]
pub(in crate::phaser) struct Node {
    /// How many phases everybody below has signalled.
    gathered: AtomicUsize,
    /// The slot of the task that gathers here.
    master: AtomicPtr<Slot>,
    parent: AtomicPtr<Node>,
    helped: AtomicUsize,
    pub below: Below,
    /// The node made before this one.
    pub older: *mut Node,
    /// The signal words of the first two slots, if they share a line and are not with values.
    signals: Option<Box<CacheLine<[AtomicUsize; 2]>>>,
    /// Values on their way up.
    pub cells: Cells,
}

impl Node {
    /// A leaf of `degree` free slots, made in `phase`, of which the first two share a line with their signals if `paired`. To be freed
    /// with `Box::from_raw`.
    pub fn leaf(degree: usize, phase: usize, paired: bool, cells: Cells) -> NonNull<Self> {
        let slots = (0..degree).map(|_| CacheLine(SlotWords::new())).collect();
        let mut leaf = Self::make(Below::Slots(slots), phase, cells);
        // SAFETY: the leaf was allocated just now; this is the only reference to it.
        let own = unsafe { leaf.as_mut() };
        own.signals =
            paired.then(|| Box::new(CacheLine([AtomicUsize::new(GONE), AtomicUsize::new(GONE)])));
        if let Below::Slots(slots) = &mut own.below {
            let first = slots.as_mut_ptr();
            for index in 0..degree {
                // SAFETY: `index` is within the slots, which no other thread can access before the
                // leaf is published; no reference to a whole slot exists while `word` does.
                unsafe {
                    let slot = &raw mut (*first.add(index)).0;
                    let word = leaf.as_ref().word_elsewhere(index);
                    (*slot).word = NonNull::from(word.unwrap_or(&(*slot).signal));
                    (*slot).leaf = leaf;
                }
            }
        }
        leaf
    }

    /// An inner node over `first`, and `second` if there is one.
    pub fn inner(
        degree: usize,
        first: NonNull<Self>,
        second: Option<NonNull<Self>>,
        cells: Cells,
    ) -> NonNull<Self> {
        let gathered = |node: NonNull<Self>| {
            // SAFETY: nodes live as long as the phaser.
            let node = unsafe { node.as_ref() };
            // ORDERING: Relaxed: too low does no harm; and too high it cannot be, as the word only rises.
            node.gathered.load(Ordering::Relaxed)
        };
        let lowest = second.map_or(usize::MAX, gathered).min(gathered(first));
        let mut below = [Some(first), second].into_iter().flatten();
        let nodes = (0..degree)
            .map(|_| AtomicPtr::new(below.next().map_or(ptr::null_mut(), NonNull::as_ptr)))
            .collect();
        Self::make(Below::Nodes(nodes), lowest, cells)
    }

    fn make(below: Below, gathered: usize, cells: Cells) -> NonNull<Self> {
        let node = Self {
            gathered: AtomicUsize::new(gathered),
            master: AtomicPtr::new(ptr::null_mut()),
            parent: AtomicPtr::new(ptr::null_mut()),
            helped: AtomicUsize::new(0),
            below,
            older: ptr::null_mut(),
            signals: None,
            cells,
        };
        // SAFETY: a box is never null.
        unsafe { NonNull::new_unchecked(Box::into_raw(Box::new(node))) }
    }

    /// The slots of a leaf; none otherwise.
    pub fn slots(&self) -> &[Slot] {
        match &self.below {
            Below::Slots(slots) => slots,
            Below::Nodes(_) => &[],
        }
    }

    /// The signal word of slot `index`.
    #[inline]
    fn word(&self, index: usize) -> &AtomicUsize {
        let elsewhere = self.word_elsewhere(index);
        elsewhere.unwrap_or_else(|| &self.slots()[index].signal)
    }

    /// The signal word of slot `index`, if it is outside of the slot.
    #[inline]
    fn word_elsewhere(&self, index: usize) -> Option<&AtomicUsize> {
        let with_values = self.cells.signal(index);
        with_values.or_else(|| self.signals.as_ref()?.get(index))
    }

    /// How far the task in slot `index` is.
    #[inline]
    pub fn progress(&self, index: usize) -> Progress {
        // ORDERING: Acquire, pairs with Release in signal, seat and drop_out (S1).
        Progress(self.word(index).load(Ordering::Acquire))
    }

    /// The task in slot `index` has not signalled `phase`.
    #[inline]
    pub fn owes(&self, index: usize, phase: usize) -> bool {
        self.progress(index).owes(phase)
    }

    /// The least number of phases that a task in a leaf has signalled, if there is one.
    pub fn least_signalled(&self) -> Option<usize> {
        let all = (0..self.slots().len()).map(|index| self.progress(index));
        all.filter(|task| !task.is_gone())
            .map(Progress::signalled)
            .min()
    }

    /// Somebody below has not signalled `phase`, as far as is known here.
    #[inline]
    pub fn is_behind(&self, phase: usize) -> bool {
        // ORDERING: Acquire, pairs with Release in raise and store_gathered (N1).
        self.gathered.load(Ordering::Acquire) <= phase
    }

    /// Everybody below has signalled `phase`. Any thread.
    pub fn raise(&self, phase: usize) {
        // ORDERING: Relaxed: a count, of which some may be lost.
        let helped = self.helped.load(Ordering::Relaxed);
        // ORDERING: Relaxed: as above.
        self.helped.store(helped + 1, Ordering::Relaxed);
        // ORDERING: Release, pairs with Acquire in is_behind (N1). It may be read instead of another's, whose release stays in force.
        self.gathered.fetch_max(phase + 1, Ordering::Release);
    }

    /// How often somebody else than the master gathered here, about.
    pub fn helped(&self) -> usize {
        // ORDERING: Relaxed: a count.
        self.helped.load(Ordering::Relaxed)
    }

    /// As [`raise`](Self::raise), by the fixed master, in its wait for `phase`. Nobody can have raised it further, since the next
    /// phase takes the master's own signal: except, while that is a newcomer, by who has not seen its slot. The node is then lowered,
    /// and gathered once more.
    #[inline]
    pub fn store_gathered(&self, phase: usize) {
        // ORDERING: Release, pairs with Acquire in is_behind (N1).
        self.gathered.store(phase + 1, Ordering::Release);
    }

    /// The node above; the root has none.
    #[inline]
    pub fn parent(&self) -> Option<NonNull<Self>> {
        // ORDERING: Acquire, pairs with Release in hang (N2).
        NonNull::new(self.parent.load(Ordering::Acquire))
    }

    /// Puts this node below `parent`, which has it as a child or will have.
    pub fn hang(&self, parent: NonNull<Self>) {
        // ORDERING: Release, pairs with Acquire in parent (N2).
        self.parent.store(parent.as_ptr(), Ordering::Release);
    }

    /// Gives an inner node its child number `index`.
    pub fn adopt(&self, index: usize, child: NonNull<Self>) {
        if let Below::Nodes(nodes) = &self.below {
            // ORDERING: Release, pairs with Acquire in child (N2).
            nodes[index].store(child.as_ptr(), Ordering::Release);
        }
    }

    /// How many children there can be.
    #[inline]
    pub fn degree(&self) -> usize {
        match &self.below {
            Below::Slots(slots) => slots.len(),
            Below::Nodes(nodes) => nodes.len(),
        }
    }

    /// Child number `index` of an inner node, if there is one yet.
    #[inline]
    pub fn child(&self, index: usize) -> Option<&Self> {
        let Below::Nodes(nodes) = &self.below else {
            return None;
        };
        // ORDERING: Acquire, pairs with Release in adopt (N2).
        let child = nodes[index].load(Ordering::Acquire);
        // SAFETY: nodes live as long as the phaser, which lends this one.
        unsafe { child.as_ref() }
    }

    /// The children that an inner node has so far.
    pub fn children(&self) -> impl Iterator<Item = &Self> {
        let nodes = match &self.below {
            Below::Slots(_) => 0,
            Below::Nodes(nodes) => nodes.len(),
        };
        (0..nodes).filter_map(|index| self.child(index))
    }

    /// Somebody gathers here every phase.
    #[inline]
    pub fn has_master(&self) -> bool {
        // ORDERING: Relaxed: a hint; whoever relies on a master that is gone helps in the end.
        !self.master.load(Ordering::Relaxed).is_null()
    }

    /// Makes the task in `slot` the one who gathers here, if nobody is.
    pub fn try_master(&self, slot: NonNull<Slot>) -> bool {
        // ORDERING: Relaxed, on failure too: if what the old one has stored in `gathered` comes after what this one stores, that is
        // gathered once more.
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        let master = &self.master;
        !self.has_master()
            && master
                .compare_exchange(ptr::null_mut(), slot.as_ptr(), yes, no)
                .is_ok()
    }

    /// The master goes.
    pub fn leave(&self) {
        // ORDERING: Relaxed: see try_master; who looks for a node is told of it by the vacancies.
        self.master.store(ptr::null_mut(), Ordering::Relaxed);
    }
}
