//! The tree that gathers signals, and the word that broadcasts that a phase is over.
//!
//! # Algorithm
//! Chatterjee 2013, 6.3, with its errors mended. Tasks that signal have slots in the leaves of a tree of the given degree; whoever sees
//! all below a node raises the node. A phase is over when the root and all newcomers have signalled it.
//! What differs from the source:
//! - Nodes are raised *to* a phase, not incremented, so anybody may gather any node at any time and no gathering is done twice.
//! - A fixed master gathers its node by plain stores. Nobody depends on it: who has waited a while gathers in its place, so a
//!   master that computes, waits on another phaser, or has lost its processor holds up nobody for good.
//! - The landing pad is looked at after the tree, not before.
//! - Growing and taking a slot are done under a lock, where the source waits for its turn by tickets.
//! - Instead of a list of nodes without a master there is a count of how often one came to be: a task without a node looks at its
//!   path again when the count has changed.
//!
//! # Words
//! `word`: the phase, doubled, plus 1 while somebody may sleep in it; the end of a phase clears that. It may be behind: see `watch`.
//! `root`: whoever registers, under the lock. `vacancies`: raised by whoever leaves a node or makes one without a master. `claim`:
//! whoever, of several that have no node, watches the root in a phase.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | B1 | `publish` | `is_past`, `sleepers` | S1 of everybody: phase order | `static_3`, `parked_before_a_child` |
//! | R1 | `plant` | `root` | the nodes | `growth` |
//! | M1 | `add_vacancy` | `vacancies` | the node without its master | `vacancy` |
//! | Z2 | a hindrance and the fence of `shut_after` | the opening and its fence | one of the two sees the other: no line carries a phase of one who is not on it | `window_registrar_gone` |
//! | Z1 | the signal and its fence | the sleeper's fence and pass | one of the two sees the other: nobody sleeps through the end of a phase | `parked_2`, `watch_and_sleep` |
//! | Z3 | the sleeper's fence | `publish`'s fence | the same, if it was not the first to sleep | `parked_behind_another` |

mod grow;
mod lines;
mod node;
mod pad;
mod sleeper;
mod wake;
mod watch;

use super::accumulator::{Cell, Reduction};
use super::collective::Collective;
use super::registration::SELDOM;
use super::window::Window;
use super::{Config, Phase};
use crate::port::{Barrier, Relax};
use crate::sync::{AtomicBool, AtomicPtr, AtomicUsize, CachePadded, Lock, Ordering, full_fence};
use core::cmp::Ordering::{Equal, Greater, Less};
use core::ptr::{self, NonNull};
pub(super) use grow::Seat;
use grow::{FreeSlots, Registry};
pub(super) use node::{Below, GONE, Node, Progress, Slot, signal};
use pad::Pad;
pub(super) use wake::Finally;
pub(super) use watch::FEW;

/// Somebody may sleep in the phase that is going on.
const ASLEEP: usize = 1;

/// What all tasks of a phaser share.
#[derive(Debug)]
pub(super) struct Tree<P: Barrier> {
    pub top: CachePadded<Top>,
    claim: CachePadded<AtomicUsize>,
    root: AtomicPtr<Node>,
    vacancies: AtomicUsize,
    pad: Pad,
    pub port: P,
    pub config: Config,
    pub reduction: Option<Reduction>,
    registry: Lock<Registry>,
    newest: AtomicPtr<Node>,
    /// Some tasks only wait.
    audience: AtomicBool,
    free: FreeSlots,
    pub window: Window,
    line: AtomicUsize,
    hindrances: AtomicUsize,
    opened: AtomicUsize,
    carried: AtomicUsize,
}

/// What the end of a phase changes, on one line: the task that ends it takes that once, and those that wait find all there.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Top {
    word: AtomicUsize,
    /// The results of the last two phases that the tree has ended.
    pub result: [Cell; 2],
    /// What is done once between two phases; the word that changes at each end comes first.
    pub between: Collective,
}

// SAFETY: what pointers in it lead to is freed only with it, and is Sync; the lock guards the rest.
unsafe impl<P: Barrier + Sync> Sync for Tree<P> {}
// SAFETY: as above; a slot's waker may be dropped anywhere.
unsafe impl<P: Barrier + Send> Send for Tree<P> {}

/// Who passes through the tree.
pub(super) struct Visitor<'a> {
    /// The visitor's own slot, which need not be woken.
    pub slot: NonNull<Slot>,
    /// The slot is in the tree.
    pub signals: bool,
    /// Gathers nodes that have a master too.
    pub helps: bool,
    /// Registered: the phase after this one does not end without it, or it keeps the phaser off the hardware.
    pub bound: bool,
    /// The slot of its leaf to look at first: nobody's line is taken from it for nothing.
    pub suspect: u16,
    /// What it would have run between two phases.
    pub single: Option<&'a mut dyn FnMut()>,
    /// What comes of the values of the phase that it has seen all signals of by watching.
    pub result: Option<u128>,
}

/// How far a master is with the children of its node, in one phase. Those it has seen it does not look at again: who takes a place
/// below them after that is waited for as a newcomer.
#[derive(Debug)]
pub(super) struct Round {
    node: NonNull<Node>,
    at: usize,
    left: usize,
    /// The child that it waits for, if that is a node, and how often it has.
    child: Option<NonNull<Node>>,
    looks: u32,
}

impl<P: Relax + Barrier> Tree<P> {
    /// Nobody is registered.
    pub fn new(port: P, config: Config, reduction: Option<Reduction>) -> Self {
        Self {
            top: CachePadded::new(Top {
                word: AtomicUsize::new(config.first.0 << 1),
                result: [Cell::new(), Cell::new()],
                between: Collective::new(),
            }),
            claim: CachePadded::new(AtomicUsize::new(0)),
            root: AtomicPtr::new(ptr::null_mut()),
            vacancies: AtomicUsize::new(0),
            pad: Pad::new(),
            port,
            config,
            reduction,
            registry: Lock::new(Registry::new()),
            newest: AtomicPtr::new(ptr::null_mut()),
            audience: AtomicBool::new(false),
            free: FreeSlots::new(),
            window: Window::new(),
            line: AtomicUsize::new(0),
            hindrances: AtomicUsize::new(0),
            opened: AtomicUsize::new(0),
            carried: AtomicUsize::new(0),
        }
    }

    /// The phase that is going on, or one before that.
    #[inline]
    pub fn phase(&self) -> Phase {
        // ORDERING: Acquire, pairs with Release in publish (B1).
        Phase(self.top.word.load(Ordering::Acquire) >> 1)
    }

    /// That phase is over.
    #[inline]
    pub fn is_past(&self, phase: usize) -> bool {
        self.phase().0 > phase
    }

    fn root(&self) -> Option<&Node> {
        // ORDERING: Acquire, pairs with Release in plant (R1).
        let root = self.root.load(Ordering::Acquire);
        // SAFETY: nodes live as long as the phaser.
        unsafe { root.as_ref() }
    }

    fn plant(&self, root: NonNull<Node>) {
        // ORDERING: Release, pairs with Acquire in root (R1).
        self.root.store(root.as_ptr(), Ordering::Release);
    }

    /// How often a node without a master came to be, modulo 2^32.
    #[inline]
    pub fn vacancies(&self) -> u32 {
        // ORDERING: Acquire, pairs with Release in add_vacancy (M1).
        self.vacancies.load(Ordering::Acquire) as u32
    }

    fn add_vacancy(&self) {
        // ORDERING: Release, pairs with Acquire in vacancies (M1).
        self.vacancies.fetch_add(1, Ordering::Release);
    }

    /// How often nodes were raised by others than their masters.
    pub fn helped(&self) -> usize {
        self.nodes().map(Node::helped).sum()
    }

    /// Of those without a node who wait for `phase`, lets one watch the root.
    pub fn claim(&self, phase: usize) -> bool {
        // ORDERING: Relaxed: who is chosen changes nothing but the cost.
        let claim = self.claim.load(Ordering::Relaxed);
        // ORDERING: Relaxed, on failure too: as above.
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        claim <= phase
            && self
                .claim
                .compare_exchange(claim, phase + 1, yes, no)
                .is_ok()
    }

    /// Tasks that only wait are, or were, registered.
    #[inline]
    fn has_audience(&self) -> bool {
        // ORDERING: Relaxed: the registrar's signal makes it visible to whoever sees all signals (S1).
        self.audience.load(Ordering::Relaxed)
    }

    /// The root has nobody who gathers there.
    pub fn is_unwatched(&self) -> bool {
        self.root().is_none_or(|root| !root.has_master())
    }

    /// At most one signal of `phase` is missing, as far as the tree knows.
    pub fn lacks_one(&self, phase: usize) -> bool {
        let mut node = self.root();
        while let Some(this) = node {
            if let Below::Slots(slots) = &this.below {
                let owing = (0..slots.len()).filter(|index| this.owes(*index, phase));
                return owing.take(2).count() < 2;
            }
            let mut behind = this.children().filter(|child| child.is_behind(phase));
            node = behind.next();
            if behind.next().is_some() {
                return false;
            }
        }
        true
    }

    /// Gives a task without a node one on its path, the leaf first.
    pub fn find_node(&self, slot: NonNull<Slot>) -> Option<NonNull<Node>> {
        // SAFETY: slots live as long as the phaser.
        let mut node = Some(unsafe { slot.as_ref() }.leaf());
        while let Some(this) = node {
            // SAFETY: nodes live as long as the phaser.
            let this = unsafe { this.as_ref() };
            if this.try_master(slot) {
                return node;
            }
            node = this.parent();
        }
        None
    }

    /// Leaves the node that a task was master of.
    pub fn leave_node(&self, node: NonNull<Node>) {
        // SAFETY: nodes live as long as the phaser.
        unsafe { node.as_ref() }.leave();
        self.add_vacancy();
    }

    /// A master's way round its node in a phase; it begins where it last waited.
    pub fn round(&self, node: NonNull<Node>, by: &Visitor<'_>) -> Round {
        // SAFETY: nodes live as long as the phaser.
        let left = unsafe { node.as_ref() }.degree();
        let at = usize::from(by.suspect).min(left - 1);
        let (child, looks) = (None, 0);
        Round {
            node,
            at,
            left,
            child,
            looks,
        }
    }

    /// As its master, gathers a node as far as it is, and goes on above as long as nobody else is to. True when the rest is others'
    /// business.
    #[inline]
    pub fn gather(&self, round: &mut Round, phase: usize, by: &mut Visitor<'_>) -> bool {
        // SAFETY: nodes live as long as the phaser.
        let node = unsafe { round.node.as_ref() };
        while round.left > 0 {
            if self.is_round_behind(round, phase, by) {
                by.suspect = round.at as u16;
                return false;
            }
            round.child = None;
            round.at = if round.at + 1 < node.degree() {
                round.at + 1
            } else {
                0
            };
            round.left -= 1;
        }
        if node.is_behind(phase) {
            self.combine(node, phase);
            if node.parent().is_none() {
                return self.finish(Some(node), phase, by);
            }
            node.store_gathered(phase);
        }
        self.go_on(node, phase, by)
    }

    /// The child that a master has come to is behind.
    #[inline]
    fn is_round_behind(&self, round: &mut Round, phase: usize, by: &mut Visitor<'_>) -> bool {
        // SAFETY: nodes live as long as the phaser.
        let node = unsafe { round.node.as_ref() };
        let child = match &node.below {
            Below::Slots(_) => return node.owes(round.at, phase),
            Below::Nodes(_) => match round.child {
                // SAFETY: as above.
                Some(child) => Some(unsafe { child.as_ref() }),
                None => node.child(round.at),
            },
        };
        let Some(child) = child.filter(|child| child.is_behind(phase)) else {
            return false;
        };
        round.child = Some(NonNull::from(child));
        let seldom = round.looks % SELDOM == 0;
        round.looks = round.looks.wrapping_add(1);
        let alone = by.helps || (seldom && !child.has_master());
        !(alone && self.pass(child, phase, by))
    }

    fn leaf_of(&self, by: &Visitor<'_>) -> Option<&Node> {
        // SAFETY: slots and nodes live as long as the phaser.
        by.signals
            .then(|| unsafe { by.slot.as_ref().leaf().as_ref() })
    }

    /// From the slot's leaf, or from the root, as far up as all have signalled `phase`.
    pub fn advance(&self, phase: usize, by: &mut Visitor<'_>) {
        match self.leaf_of(by).or_else(|| self.root()) {
            Some(node) => _ = self.pass(node, phase, by) && self.go_on(node, phase, by),
            None => _ = self.finish(None, phase, by),
        }
    }

    /// Goes up from a node that is complete.
    fn go_on(&self, node: &Node, phase: usize, by: &mut Visitor<'_>) -> bool {
        let mut node = node;
        while let Some(parent) = node.parent() {
            // SAFETY: nodes live as long as the phaser.
            node = unsafe { parent.as_ref() };
            if !by.helps && node.has_master() {
                return true;
            }
            if !self.pass(node, phase, by) {
                return false;
            }
        }
        self.finish(Some(node), phase, by)
    }

    /// Sees whether all below `node` have signalled `phase`, and raises it if so: the root, which nobody is above, excepted.
    fn pass(&self, node: &Node, phase: usize, by: &mut Visitor<'_>) -> bool {
        if node.is_behind(phase) {
            if !self.is_complete(node, phase, by) {
                return false;
            }
            self.combine(node, phase);
            if node.parent().is_some() {
                node.raise(phase);
            }
        }
        true
    }

    /// Looks at the children of `node`, the one first that was behind when the visitor last looked.
    fn is_complete(&self, node: &Node, phase: usize, by: &mut Visitor<'_>) -> bool {
        let degree = node.degree();
        let first = usize::from(by.suspect).min(degree - 1);
        for index in (first..degree).chain(0..first) {
            if self.is_child_behind(node, index, phase, by) {
                if !node.slots().is_empty() {
                    by.suspect = index as u16;
                }
                return false;
            }
        }
        true
    }

    /// Somebody below child number `index` has not signalled `phase`, and it is not for the visitor to look further.
    #[inline]
    fn is_child_behind(
        &self,
        node: &Node,
        index: usize,
        phase: usize,
        by: &mut Visitor<'_>,
    ) -> bool {
        match &node.below {
            Below::Slots(_) => node.owes(index, phase),
            Below::Nodes(_) => node.child(index).is_some_and(|child| {
                child.is_behind(phase)
                    && !((by.helps || !child.has_master()) && self.pass(child, phase, by))
            }),
        }
    }

    /// Brings the values of those below `node` together.
    #[inline]
    fn combine(&self, node: &Node, phase: usize) {
        if let Some(reduction) = &self.reduction {
            reduction.combine(node, phase);
        }
    }

    /// Ends `phase`, whose tree is complete, unless newcomers owe a signal or somebody else does what comes between two phases.
    /// `top` is the root, as it was when the tree was seen complete: what came above it since holds newcomers only.
    fn finish(&self, top: Option<&Node>, phase: usize, by: &mut Visitor<'_>) -> bool {
        let quiet = self.pad.is_empty();
        if !quiet && self.pad.newcomers().any(|slot| slot.owes(phase)) {
            return false;
        }
        if self.top.between.is_wanted(phase) && !self.top.between.is_done(phase) {
            let Some(single) = &mut by.single else {
                // One of those who know what is to be done does it.
                if self.sleepers().is_some() && self.top.between.call(phase) {
                    // ORDERING: SeqCst, pairs with that of look_again: either this sees who sleeps, or the sleeper sees all the
                    // signals that are seen here (Z1).
                    full_fence();
                    self.wake(Some(by.slot));
                }
                return false;
            };
            if !self.top.between.once(phase, single) {
                return false;
            }
        }
        if let Some(reduction) = &self.reduction {
            // Once: whoever is late finds a tree that has grown, and newcomers that are none any more.
            let mut conclude = || {
                let value = reduction.conclude(top, self.pad.newcomers(), phase);
                self.top.result[phase & 1].renew(phase, value);
            };
            if !self.top.between.once(phase, &mut conclude) {
                return false;
            }
        }
        if !quiet {
            // A reader that no longer finds them on the pad must not find a word from before their registration.
            self.leave_behind(phase);
            self.pad.retire(phase + 1);
        }
        let opened = by.bound && self.open_window(phase + 2);
        let ended = self.publish(phase, Some(by.slot));
        if opened && !ended {
            // Tasks have left the phase that have not seen it, and do not include themselves.
            self.window.withdraw(phase + 2);
        }
        ended
    }

    /// Lets everybody go on to the next phase.
    fn publish(&self, phase: usize, by: Option<NonNull<Slot>>) -> bool {
        let word = self.end(phase);
        if word.is_some_and(|word| word & ASLEEP != 0) {
            // ORDERING: SeqCst, pairs with that of look_again: either this sees who sleeps, or the sleeper sees that the phase is over
            // (Z3).
            full_fence();
            self.wake(by);
        }
        word.is_some()
    }

    /// Ends `phase`; returns what the word was, or nothing if somebody else has.
    fn end(&self, phase: usize) -> Option<usize> {
        // As it is most of the time: the exchange tells.
        let mut word = phase << 1;
        while word >> 1 <= phase {
            // ORDERING: Release, pairs with Acquire in phase (B1). Failure Relaxed: nothing is read.
            let (yes, no) = (Ordering::Release, Ordering::Relaxed);
            match self
                .top
                .word
                .compare_exchange_weak(word, (phase + 1) << 1, yes, no)
            {
                Ok(_) => return Some(word),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Somebody may sleep in the phase that is going on, which is returned. To rely on it if not, after a fence.
    #[inline]
    pub fn sleepers(&self) -> Option<usize> {
        // ORDERING: Acquire, pairs with Release in publish (B1): who looks at the tree for the sleeper sees who came before.
        let word = self.top.word.load(Ordering::Acquire);
        (word & ASLEEP != 0).then_some(word >> 1)
    }

    /// Says that somebody sleeps in `phase`, whose predecessors are over; false if it is over too.
    pub fn fall_asleep(&self, phase: usize, by: NonNull<Slot>) -> bool {
        // ORDERING: Relaxed: whoever is told that the phase is over looks at the word again.
        let mut word = self.top.word.load(Ordering::Relaxed);
        loop {
            match (word >> 1).cmp(&phase) {
                Less => _ = self.publish(phase - 1, Some(by)),
                Greater => return false,
                Equal if word & ASLEEP != 0 => return true,
                Equal => {
                    // ORDERING: Relaxed: a fence follows (Z1, Z3). Failure Relaxed: it is loaded again.
                    let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
                    let asleep = word | ASLEEP;
                    if self
                        .top
                        .word
                        .compare_exchange_weak(word, asleep, yes, no)
                        .is_ok()
                    {
                        return true;
                    }
                }
            }
            // ORDERING: Relaxed: as above.
            word = self.top.word.load(Ordering::Relaxed);
        }
    }

    /// Looks once more, having said that somebody sleeps.
    pub fn look_again(&self, phase: usize, by: &mut Visitor<'_>) {
        // ORDERING: SeqCst, pairs with those of after_signal and watch: either this sees the signal, or whoever signals sees that
        // somebody sleeps (Z1); and with that of publish (Z3).
        full_fence();
        self.advance(phase, by);
    }

    /// A task that has wanted a statement run at the end of `phase` waits for it no more: nobody else may know that the phase can end.
    pub fn let_go(&self, phase: usize, slot: NonNull<Slot>) {
        self.top.between.let_go();
        if !self.is_past(phase) {
            self.after_signal(slot, true);
        }
    }

    /// Does what is due after a signal or a drop, if somebody sleeps: nobody else may look again.
    pub fn after_signal(&self, slot: NonNull<Slot>, bound: bool) {
        // ORDERING: SeqCst, pairs with that of look_again: either this sees that somebody sleeps, or the sleeper sees the signal (Z1).
        full_fence();
        if let Some(phase) = self.sleepers() {
            if bound || self.reduction.is_none() {
                let (signals, helps) = (true, true);
                self.advance(
                    phase,
                    &mut Visitor {
                        slot,
                        signals,
                        helps,
                        bound,
                        suspect: 0,
                        single: None,
                        result: None,
                    },
                );
            } else {
                // Values are brought together only by those who cannot be left behind.
                self.wake(Some(slot));
            }
        }
    }
}
