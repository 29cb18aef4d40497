//! Few tasks with processors of their own: each watches the others' slots itself.
//!
//! # Algorithm
//! As long as the tree is one small leaf, a signal is seen by all at once, and who has seen all signals goes on: no second transfer, of
//! the word that says that the phase is over. So that word stays behind. Whoever needs it brings it up: a task that is about to sleep,
//! or to leave, and whoever asks for the phase. While somebody sleeps, or only waits, nobody goes on in this way.
//!
//! With an accumulator, each task finds the others' values beside their signals, and no result is written down: see `result`.
//!
//! # Orderings
//! The fence of Z1 stands here too: either this task sees that somebody sleeps, before it goes on, or the sleeper sees its signal.
#![forbid(unsafe_code)]

use super::node::{Below, Node};
use super::{Tree, Visitor};
use crate::phaser::Phase;
use crate::phaser::accumulator::{Read, Reduction};
use crate::port::{Barrier, Relax};
use crate::sync::full_fence;

/// How many slots are few enough for everybody to watch all of them.
pub(in crate::phaser) const FEW: usize = 4;

impl<P: Relax + Barrier> Tree<P> {
    /// Tasks may watch each other as long as the tree is one leaf.
    pub(super) fn can_watch(&self) -> bool {
        self.config.degree <= FEW && self.config.help_after > 0 && self.port.lines() == 0
    }

    /// The root, if it is the visitor's leaf and small, and nothing is to be done when a phase ends.
    fn watched(&self, by: &Visitor<'_>) -> Option<&Node> {
        let simple = self.port.lines() == 0 && !self.has_audience();
        let leaf = self.leaf_of(by).filter(|_| simple && by.single.is_none())?;
        (leaf.slots().len() <= FEW && leaf.parent().is_none()).then_some(leaf)
    }

    /// Waits for `phase`, which the visitor has signalled, for at most `patience` turns and as long as `goes_on` says so; tells
    /// whether it is over, or nothing if the tree is to say.
    #[inline]
    pub fn watch(
        &self,
        phase: usize,
        patience: u32,
        by: &mut Visitor<'_>,
        goes_on: &mut impl FnMut() -> bool,
    ) -> Option<bool> {
        let leaf = self.watched(by)?;
        for turn in 0..patience {
            if self.is_complete(leaf, phase, by) {
                // At once, while the line is here: the others may go on and take it for their next values.
                let reduction = self.reduction.as_ref();
                by.result = reduction.map(|reduction| {
                    let values = reduction.values(leaf, phase);
                    reduction.result_of(&values)
                });
                // ORDERING: SeqCst, pairs with that of look_again (Z1). Not sooner: the signal is on its way while the others' are
                // looked for.
                full_fence();
                let awake = self.sleepers().is_none();
                let over = awake && self.pad.is_empty() && !self.top.between.is_wanted(phase);
                return over.then_some(true);
            }
            if self.is_past(phase) || self.sleepers().is_some() {
                return None;
            }
            if !goes_on() {
                return Some(false);
            }
            self.port.relax(turn);
        }
        None
    }

    /// A task that has left all phases before `phase` is about to go, and what it knows with it.
    pub fn leave_behind(&self, phase: usize) {
        if let Some(last) = phase.checked_sub(1)
            && !self.is_past(last)
        {
            self.publish(last, None);
        }
    }

    /// The number of phases that are over: by the word, which this brings up, or by the slots alone.
    pub fn catch_up(&self) -> Phase {
        if self.reduction.is_some() {
            return Phase(self.ended());
        }
        let few = self.root().is_some_and(|root| match &root.below {
            Below::Slots(slots) => slots.len() <= FEW && root.has_master(),
            Below::Nodes(_) => false,
        });
        if !few && self.window.state().is_shut() {
            return self.phase();
        }
        loop {
            let registered = self.pad.count();
            let signalled = self.nodes().filter_map(Node::least_signalled).min();
            // A slot that was free when it was looked at may have a task since, which is behind the others. These have signalled
            // after it was registered, so that is seen here.
            if self.pad.count() != registered {
                continue;
            }
            if let Some(last) = signalled.and_then(|phase| phase.checked_sub(1))
                && !self.is_past(last)
                && !self.top.between.is_wanted(last)
            {
                self.publish(last, None);
            }
            return self.phase();
        }
    }

    /// The number of phases that are over, of a phaser that accumulates.
    fn ended(&self) -> usize {
        let watched = self.ended_by_watching().unwrap_or(0);
        self.phase().0.max(watched)
    }

    /// The number of phases that the first leaf has signalled, if tasks may have left the last one by watching: without newcomers, and
    /// when that leaf was the tree.
    fn ended_by_watching(&self) -> Option<usize> {
        if !self.can_watch() {
            return None;
        }
        loop {
            let registered = self.pad.count();
            let root = self.root()?;
            let grown = root.slots().is_empty();
            // A tree that has grown since a phase was left so has newcomers on the pad until a later phase is written down.
            if grown && self.pad.is_empty() {
                return None;
            }
            let signalled = match grown {
                true => self.nodes().filter_map(Node::least_signalled).min(),
                false => root.least_signalled(),
            };
            let started = self.pad.newcomers().map(|slot| slot.start()).min();
            // As in catch_up.
            if self.pad.count() != registered {
                continue;
            }
            let ended = signalled?.min(started.unwrap_or(usize::MAX));
            let later = self.nodes().filter(|node| !node.older.is_null());
            let mut elsewhere = later.flat_map(Node::slots);
            return elsewhere.all(|slot| slot.start() >= ended).then_some(ended);
        }
    }

    /// The result of the phase that ended last.
    pub fn result(&self, reduction: &Reduction) -> u128 {
        let mut turn = 0;
        loop {
            let ended = self.ended();
            let Some(phase) = ended.checked_sub(1) else {
                return reduction.init();
            };
            match self.top.result[phase & 1].read(phase) {
                Read::Value(value) => return value,
                Read::Later => {}
                Read::Nothing => {
                    let first = self.nodes().last().filter(|_| self.can_watch());
                    let Some(leaf) = first else {
                        return reduction.init();
                    };
                    let values = reduction.values(leaf, phase);
                    // Where no later phase is over, none has put values in the place of these.
                    if self.ended() == ended {
                        return reduction.result_of(&values);
                    }
                }
            }
            self.port.relax(turn);
            turn = turn.saturating_add(1);
        }
    }
}
