//! Few tasks with dedicated processors: each watches the others' slots itself.
//!
//! # Algorithm
//! While the tree is one small leaf, each signal is visible to all tasks at once, and a task that
//! has seen all signals resumes: the second transfer, of the word that announces the end of the
//! phase, is saved. That word then lags behind. A task that needs it updates it first: a task that
//! is about to park, or to deregister, and any thread that queries the phase. While a task is
//! parked, or only waits, no task resumes in this way.
//!
//! With an accumulator, each task finds the others' values next to their signals, and no result is
//! stored: see `result`.
//!
//! # Orderings
//! One of the fences of word.Z1 is here: either this task observes that another is parked, before
//! it resumes, or the sleeper observes its signal.
#![forbid(unsafe_code)]

use super::Shared;
use crate::phaser::config::{MAX_WATCHED, Phase};
use crate::phaser::tree::gather::Gatherer;
use crate::phaser::tree::node::{Below, Node};
use crate::phaser::tree::values;
use crate::phaser::value::cell::Read;
use crate::phaser::value::reduction::Reduction;
use crate::port::{Barrier, Relax};
use crate::sync::full_fence;

/// The outcome of watching.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Watched {
    /// The phase has ended, with this result if the phaser accumulates.
    Ended(Option<u128>),
    /// `continues` returned false.
    Stopped,
    /// The end of the phase could not be determined: the task must wait in the tree.
    Unknown,
}

impl<P: Relax + Barrier> Shared<P> {
    /// Returns the root, if it is the task's leaf and small, and the end of a phase requires no
    /// further action.
    fn watched(&self, by: &Gatherer, single: bool) -> Option<&Node> {
        let simple = self.port.lines() == 0 && !self.tree.has_wait_only();
        let leaf = self.tree.leaf_of(by).filter(|_| simple && !single)?;
        (leaf.slots().len() <= MAX_WATCHED && leaf.parent().is_none()).then_some(leaf)
    }

    /// Waits for `phase`, which the task has signalled, for at most `patience` polls and while
    /// `continues` returns true. `single`: whether the task requested a statement.
    #[inline]
    pub(crate) fn watch(
        &self,
        phase: usize,
        patience: u32,
        by: &mut Gatherer,
        single: bool,
        continues: &mut impl FnMut() -> bool,
    ) -> Watched {
        let Some(leaf) = self.watched(by, single) else {
            return Watched::Unknown;
        };
        for turn in 0..patience {
            if self.tree.is_complete(leaf, phase, by) {
                // Before any other access, while the line is here: the others may resume and
                // invalidate it with their next values.
                let reduction = self.tree.reduction.as_ref();
                let result = reduction.map(|reduction| {
                    let slots = values::read_slots(leaf, phase);
                    values::result_of(reduction, &slots)
                });
                // ORDERING: SeqCst, pairs with that of recheck (word.Z1). Not earlier: the signal
                // is in transit while the others' are polled.
                full_fence();
                let awake = self.top.word.sleepers().is_none();
                let quiet = || self.tree.pad.is_empty() && !self.top.single.is_requested(phase);
                return match awake && quiet() {
                    true => Watched::Ended(result),
                    false => Watched::Unknown,
                };
            }
            if self.is_past(phase) || self.top.word.sleepers().is_some() {
                return Watched::Unknown;
            }
            if !continues() {
                return Watched::Stopped;
            }
            self.port.relax(turn);
        }
        Watched::Unknown
    }

    /// Returns the number of phases that have ended, by the word, which this updates, or by the
    /// slots alone.
    pub(crate) fn current_phase(&self) -> Phase {
        if self.tree.reduction.is_some() {
            return Phase(self.ended());
        }
        let few = self.tree.root().is_some_and(|root| match &root.below {
            Below::Slots(slots) => slots.len() <= MAX_WATCHED && root.has_master(),
            Below::Nodes(_) => false,
        });
        if !few && self.lines.is_software() {
            return Phase(self.top.word.phase());
        }
        let pad = &self.tree.pad;
        loop {
            let registered = pad.count();
            let signalled = self.tree.nodes().filter_map(Node::least_signalled).min();
            // A slot that was read as free may have a task since, which is behind the others. They
            // have signalled after it was registered, so the registration is visible here.
            if pad.count() != registered {
                continue;
            }
            if let Some(last) = signalled.and_then(|phase| phase.checked_sub(1))
                && !self.is_past(last)
                && !self.top.single.is_requested(last)
            {
                self.publish(last, None);
            }
            return Phase(self.top.word.phase());
        }
    }

    /// Returns the number of phases that have ended, of a phaser that accumulates.
    fn ended(&self) -> usize {
        let watched = self.ended_by_watching().unwrap_or(0);
        self.top.word.phase().max(watched)
    }

    /// Returns the number of phases that the first leaf has signalled, if tasks may have left the
    /// last one by watching: without newcomers, and when that leaf was the tree.
    fn ended_by_watching(&self) -> Option<usize> {
        let tree = &self.tree;
        if !tree.can_watch {
            return None;
        }
        loop {
            let registered = tree.pad.count();
            let root = tree.root()?;
            let grown = root.slots().is_empty();
            // If the tree has grown since a phase was left in this way, newcomers are on the pad
            // until the end of a later phase is published.
            if grown && tree.pad.is_empty() {
                return None;
            }
            let signalled = match grown {
                true => tree.nodes().filter_map(Node::least_signalled).min(),
                false => root.least_signalled(),
            };
            let started = tree.pad.newcomers().map(|slot| slot.start()).min();
            // As in current_phase.
            if tree.pad.count() != registered {
                continue;
            }
            let ended = signalled?.min(started.unwrap_or(usize::MAX));
            let later = tree.nodes().filter(|node| !node.older.is_null());
            let mut elsewhere = later.flat_map(Node::slots);
            return elsewhere.all(|slot| slot.start() >= ended).then_some(ended);
        }
    }

    /// Returns the result of the phase that ended last.
    pub(crate) fn result(&self, reduction: &Reduction) -> u128 {
        let mut turn = 0;
        loop {
            let ended = self.ended();
            let Some(phase) = ended.checked_sub(1) else {
                return reduction.init();
            };
            match self.top.results[phase & 1].read(phase) {
                Read::Value(value) => return value,
                Read::Later => {}
                Read::Nothing => {
                    let first = self.tree.nodes().last();
                    let Some(leaf) = first.filter(|_| self.tree.can_watch) else {
                        return reduction.init();
                    };
                    let slots = values::read_slots(leaf, phase);
                    // If no later phase has ended, none has put values in the place of these.
                    if self.ended() == ended {
                        return values::result_of(reduction, &slots);
                    }
                }
            }
            self.port.relax(turn);
            turn = turn.saturating_add(1);
        }
    }
}
