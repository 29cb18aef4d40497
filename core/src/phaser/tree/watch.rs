//! Few tasks with processors of their own: each watches the others' slots itself.
//!
//! # Algorithm
//! As long as the tree is one small leaf, a signal is seen by all at once, and who has seen all signals goes on: no second transfer, of
//! the word that says that the phase is over. So that word stays behind. Whoever needs it brings it up: a task that is about to sleep,
//! or to leave, and whoever asks for the phase. While somebody sleeps, or only waits, nobody goes on in this way.
//!
//! # Orderings
//! The fence of Z1 stands here too: either this task sees that somebody sleeps, before it goes on, or the sleeper sees its signal.
#![forbid(unsafe_code)]

use super::node::{Below, Node};
use super::{Tree, Visitor};
use crate::phaser::Phase;
use crate::port::{Barrier, Relax};
use crate::sync::full_fence;

/// How many slots are few enough for everybody to watch all of them.
const FEW: usize = 4;

impl<P: Relax + Barrier> Tree<P> {
    /// The root, if it is the visitor's leaf and small, and nothing is to be done when a phase ends.
    fn watched(&self, by: &Visitor<'_>) -> Option<&Node> {
        let simple = self.reduction.is_none() && self.port.lines() == 0 && !self.has_audience();
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
                // ORDERING: SeqCst, pairs with that of look_again (Z1). Not sooner: the signal is on its way while the others' are
                // looked for.
                full_fence();
                let awake = self.sleepers().is_none();
                let over = awake && self.pad.is_empty() && !self.between.is_wanted(phase);
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

    /// Brings the word up to what the slots say.
    pub fn catch_up(&self) -> Phase {
        let few = self.root().is_some_and(|root| match &root.below {
            Below::Slots(slots) => slots.len() <= FEW && root.has_master(),
            Below::Nodes(_) => false,
        });
        if !few && self.window.state().is_shut() || self.reduction.is_some() {
            return self.phase();
        }
        loop {
            let registered = self.pad.count();
            let slots = self.nodes().flat_map(Node::slots);
            let signalled = slots.filter_map(|slot| slot.signalled()).min();
            // A slot that was free when it was looked at may have a task since, which is behind the others. These have signalled
            // after it was registered, so that is seen here.
            if self.pad.count() != registered {
                continue;
            }
            if let Some(last) = signalled.and_then(|phase| phase.checked_sub(1))
                && !self.is_past(last)
                && !self.between.is_wanted(last)
            {
                self.publish(last, None);
            }
            return self.phase();
        }
    }
}
