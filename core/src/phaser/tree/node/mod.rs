//! The nodes of the tree, and the slots that tasks occupy in its leaves.
//!
//! # Words
//! `gathered`: raised by a task that has seen all signals below; a fixed master stores, other tasks
//! raise. `master`: set from null by a task that becomes master; cleared by the master. `parent`,
//! children: set once, by a registering task, under the lock.
//!
//! # Two signal words on one line
//! Where tasks watch each other (see `shared::watch`), the words of the first two slots share a
//! line; each of the others has its own. The transfer that gives a task the right to write its own
//! word then brings the other's signal; with a line each, there are two transfers in sequence.
//! Measured for two threads on an Intel Xeon (model 207): 122 ns an episode instead of 189 to 217.
//! Three or four words on a line were not measured on as many cores. Simulated (`verify/CYCLES.md`,
//! few threads), each further word on a line costs more than it saves, as its writers invalidate
//! each other's copies in turn: therefore two share, and of three or four tasks the first two.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | N1 | `Node::raise`, `store_gathered` | `Node::is_behind` | the signals of all tasks below (signal.S1) | `static_3`, `master_elsewhere` |
//! | N2 | `set_parent`, `set_child` | `parent`, `child` | the node and its first child | `growth`, `growth_adopts` |

pub(crate) mod signal;
pub(crate) mod sleeper;

use crate::phaser::value::cell::Cells;
use crate::sync::{AtomicPtr, AtomicUsize, CacheLine, Ordering};
use alloc::boxed::Box;
use core::ptr::{self, NonNull};
use signal::{GONE, Progress};
use sleeper::Sleeper;

/// The duty of a woken task: to wake the other sleepers below a node.
pub(crate) type WakeDuty = NonNull<Node>;

/// A task's words in the tree. A slot keeps its address as long as the phaser exists, and serves
/// one task after another.
pub(crate) type Slot = CacheLine<SlotWords>;

/// See [`Slot`].
#[derive(Debug)]
pub(crate) struct SlotWords {
    /// The signal word, unless that is among [`Node::signals`] or with the values.
    signal: AtomicUsize,
    /// The first phase that the task owes.
    start: AtomicUsize,
    pub(crate) sleeper: Sleeper<WakeDuty>,
    /// The next free slot.
    pub(crate) next_free: AtomicPtr<Slot>,
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

    /// Returns the first phase that its task owes.
    pub(crate) fn start(&self) -> usize {
        // ORDERING: Relaxed: the caller has seen the registration (pad.P1, or signal.S1 of the
        // registering task).
        self.start.load(Ordering::Relaxed)
    }

    /// Returns the leaf that contains the slot.
    pub(crate) fn leaf(&self) -> NonNull<Node> {
        self.leaf
    }
}

impl Slot {
    /// Assigns the slot to a task that owes `start` next.
    pub(crate) fn occupy(&self, start: usize) {
        // ORDERING: Relaxed: the registering task's signal (signal.S1) or the landing pad (pad.P1)
        // publishes it.
        self.start.store(start, Ordering::Relaxed);
        signal::occupy(self.word(), start);
    }

    /// Records that the task, whose progress is given, has left and owes no more signals.
    pub(crate) fn vacate(&self, progress: Progress) {
        signal::vacate(self.word(), progress);
    }

    /// Whether the task has not signalled `phase`.
    pub(crate) fn owes(&self, phase: usize) -> bool {
        let (leaf, index) = self.place();
        leaf.owes(index, phase)
    }

    /// Returns the signal word.
    #[inline]
    pub(crate) fn word(&self) -> &AtomicUsize {
        // SAFETY: set when the leaf was made; the words live as long as the slots.
        unsafe { self.word.as_ref() }
    }

    /// Returns the leaf that contains the slot, and its index there.
    pub(crate) fn place(&self) -> (&Node, usize) {
        // SAFETY: nodes live as long as their slots.
        let leaf = unsafe { self.leaf().as_ref() };
        let first = leaf.slots().as_ptr();
        (
            leaf,
            (ptr::from_ref(self).addr() - first.addr()) / size_of::<Self>(),
        )
    }
}

/// The children of a node.
#[derive(Debug)]
pub(crate) enum Below {
    /// Tasks.
    Slots(Box<[Slot]>),
    /// Nodes; null until a node is made.
    Nodes(Box<[AtomicPtr<Node>]>),
}

/// A node: gathers the signals of the tasks below it.
#[derive(Debug)]
#[cfg_attr(target_pointer_width = "64", repr(align(64)))]
pub(crate) struct Node {
    /// The number of phases that all tasks below have signalled.
    gathered: AtomicUsize,
    /// The slot of the task that gathers here.
    master: AtomicPtr<Slot>,
    parent: AtomicPtr<Node>,
    helped: AtomicUsize,
    pub(crate) below: Below,
    /// The node made before this one.
    pub(crate) older: *mut Node,
    /// The signal words of the first two slots, if they share a line and are not with values.
    signals: Option<Box<CacheLine<[AtomicUsize; 2]>>>,
    /// Values on their way up.
    pub(crate) cells: Cells,
}

impl Node {
    /// Makes a leaf of `degree` free slots in `phase`. The signal words of the first two share a
    /// line if `paired`. The leaf is to be freed with `Box::from_raw`.
    pub(crate) fn leaf(degree: usize, phase: usize, paired: bool, cells: Cells) -> NonNull<Self> {
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

    /// Makes an inner node over `first`, and `second` if given.
    pub(crate) fn inner(
        degree: usize,
        first: NonNull<Self>,
        second: Option<NonNull<Self>>,
        cells: Cells,
    ) -> NonNull<Self> {
        let gathered = |node: NonNull<Self>| {
            // SAFETY: nodes live as long as the phaser.
            let node = unsafe { node.as_ref() };
            // ORDERING: Relaxed: too low is harmless; it cannot be too high, as the word only
            // rises.
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

    /// Returns the slots of a leaf; an inner node has none.
    pub(crate) fn slots(&self) -> &[Slot] {
        match &self.below {
            Below::Slots(slots) => slots,
            Below::Nodes(_) => &[],
        }
    }

    /// Returns the signal word of slot `index`.
    #[inline]
    fn word(&self, index: usize) -> &AtomicUsize {
        let elsewhere = self.word_elsewhere(index);
        elsewhere.unwrap_or_else(|| &self.slots()[index].signal)
    }

    /// Returns the signal word of slot `index`, if it is outside of the slot.
    #[inline]
    fn word_elsewhere(&self, index: usize) -> Option<&AtomicUsize> {
        let with_values = self.cells.signal(index);
        with_values.or_else(|| self.signals.as_ref()?.get(index))
    }

    /// Returns the progress of the task in slot `index`.
    #[inline]
    pub(crate) fn progress(&self, index: usize) -> Progress {
        signal::load(self.word(index))
    }

    /// Whether the task in slot `index` has not signalled `phase`.
    #[inline]
    pub(crate) fn owes(&self, index: usize, phase: usize) -> bool {
        self.progress(index).owes(phase)
    }

    /// Returns the least number of phases that a task in a leaf has signalled; `None` without
    /// tasks.
    pub(crate) fn least_signalled(&self) -> Option<usize> {
        let all = (0..self.slots().len()).map(|index| self.progress(index));
        all.filter(|task| !task.is_gone())
            .map(Progress::signalled)
            .min()
    }

    /// Whether, as far as this node knows, a task below has not signalled `phase`.
    #[inline]
    pub(crate) fn is_behind(&self, phase: usize) -> bool {
        // ORDERING: Acquire, pairs with Release in raise and store_gathered (N1).
        self.gathered.load(Ordering::Acquire) <= phase
    }

    /// Records that all tasks below have signalled `phase`. Any thread.
    pub(crate) fn raise(&self, phase: usize) {
        // ORDERING: Relaxed: a statistic, of which some increments may be lost.
        let helped = self.helped.load(Ordering::Relaxed);
        // ORDERING: Relaxed: the same statistic.
        self.helped.store(helped + 1, Ordering::Relaxed);
        // ORDERING: Release, pairs with Acquire in is_behind (N1). It may be read instead of
        // another thread's, whose release sequence it continues.
        self.gathered.fetch_max(phase + 1, Ordering::Release);
    }

    /// Returns the approximate number of times that a task other than the master gathered here.
    pub(crate) fn helped(&self) -> usize {
        // ORDERING: Relaxed: a statistic.
        self.helped.load(Ordering::Relaxed)
    }

    /// As [`raise`](Self::raise), by the fixed master while it waits for `phase`. No task can have
    /// raised the node further, since the next phase requires the master's own signal. The
    /// exception is a newcomer master, whose slot a gathering task may have missed: then the node
    /// is lowered, and gathered again.
    #[inline]
    pub(crate) fn store_gathered(&self, phase: usize) {
        // ORDERING: Release, pairs with Acquire in is_behind (N1).
        self.gathered.store(phase + 1, Ordering::Release);
    }

    /// Returns the node above; `None` for the root.
    #[inline]
    pub(crate) fn parent(&self) -> Option<NonNull<Self>> {
        // ORDERING: Acquire, pairs with Release in set_parent (N2).
        NonNull::new(self.parent.load(Ordering::Acquire))
    }

    /// Links this node to `parent`, which has it as a child or will have.
    pub(crate) fn set_parent(&self, parent: NonNull<Self>) {
        // ORDERING: Release, pairs with Acquire in parent (N2).
        self.parent.store(parent.as_ptr(), Ordering::Release);
    }

    /// Sets child number `index` of an inner node.
    pub(crate) fn set_child(&self, index: usize, child: NonNull<Self>) {
        if let Below::Nodes(nodes) = &self.below {
            // ORDERING: Release, pairs with Acquire in child (N2).
            nodes[index].store(child.as_ptr(), Ordering::Release);
        }
    }

    /// Returns the greatest number of children.
    #[inline]
    pub(crate) fn degree(&self) -> usize {
        match &self.below {
            Below::Slots(slots) => slots.len(),
            Below::Nodes(nodes) => nodes.len(),
        }
    }

    /// Returns child number `index` of an inner node, if it has been made.
    #[inline]
    pub(crate) fn child(&self, index: usize) -> Option<&Self> {
        let Below::Nodes(nodes) = &self.below else {
            return None;
        };
        // ORDERING: Acquire, pairs with Release in set_child (N2).
        let child = nodes[index].load(Ordering::Acquire);
        // SAFETY: nodes live as long as the phaser, which lends this one.
        unsafe { child.as_ref() }
    }

    /// Returns the existing children of an inner node.
    pub(crate) fn children(&self) -> impl Iterator<Item = &Self> {
        let nodes = match &self.below {
            Below::Slots(_) => 0,
            Below::Nodes(nodes) => nodes.len(),
        };
        (0..nodes).filter_map(|index| self.child(index))
    }

    /// Whether a task gathers here in every phase.
    #[inline]
    pub(crate) fn has_master(&self) -> bool {
        // ORDERING: Relaxed: a hint; a task that relies on a master that has left helps eventually.
        !self.master.load(Ordering::Relaxed).is_null()
    }

    /// Makes the task in `slot` the master, unless the node has one.
    pub(crate) fn try_master(&self, slot: NonNull<Slot>) -> bool {
        // ORDERING: Relaxed, on failure too: if the previous master's store to `gathered`
        // overwrites the new master's, the node is gathered again.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let (null, own) = (ptr::null_mut(), slot.as_ptr());
        !self.has_master()
            && self
                .master
                .compare_exchange(null, own, success, failure)
                .is_ok()
    }

    /// Removes the master. Called by the master.
    pub(crate) fn clear_master(&self) {
        // ORDERING: Relaxed: see try_master; tasks that search for a node observe the count of
        // vacancies.
        self.master.store(ptr::null_mut(), Ordering::Relaxed);
    }
}
