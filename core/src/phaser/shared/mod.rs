//! The state shared by the tasks of a phaser, and the end of a phase.
//!
//! `Top::word` is the current phase, `Tree` gathers signals, `Lines` carries phases in hardware,
//! `Single` runs the statement between two phases. Only this folder depends on all of them; the
//! fences of word.Z1 and word.Z3 are here, since each orders accesses to words of two owners.

pub(crate) mod watch;

use super::config::{Config, MAX_WATCHED};
use super::line::Lines;
use super::mode::Mode;
use super::single::Single;
use super::tree::gather::{Gathered, Gatherer, Round};
use super::tree::grow::Registered;
use super::tree::node::signal::Progress;
use super::tree::node::{Node, Slot};
use super::tree::wake::Finally;
use super::tree::{Tree, values};
use super::value::cell::Cell;
use super::value::reduction::Reduction;
use super::word::{Announced, PhaseWord};
use crate::port::{Barrier, Relax};
use crate::sync::{CachePadded, full_fence};
use core::ptr::NonNull;

/// The shared state of a phaser.
#[derive(Debug)]
pub(crate) struct Shared<P: Barrier> {
    pub(crate) top: CachePadded<Top>,
    pub(crate) tree: Tree,
    pub(crate) lines: Lines,
    pub(crate) port: P,
    pub(crate) config: Config,
}

/// The words that the end of a phase changes, on one line: the task that ends it transfers that
/// line once, and waiting tasks find all of them there.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Top {
    /// Changes at each end of a phase.
    pub(crate) word: PhaseWord,
    /// The results of the last two phases that the tree has ended.
    results: [Cell; 2],
    /// Runs a statement once between two phases.
    pub(crate) single: Single,
}

/// A task that tries to end a phase.
pub(crate) struct Visit<'a> {
    pub(crate) by: Gatherer,
    /// Whether the task is registered: the phase after this one does not end without it, or it
    /// keeps the phaser in software.
    pub(crate) registered: bool,
    /// The statement that the task requested for the end of the phase.
    pub(crate) single: Option<&'a mut dyn FnMut()>,
}

impl<P: Relax + Barrier> Shared<P> {
    /// Creates a phaser without tasks.
    pub(crate) fn new(port: P, config: Config, reduction: Option<Reduction>) -> Self {
        let can_watch = config.degree <= MAX_WATCHED && config.help_after > 0 && port.lines() == 0;
        Self {
            top: CachePadded::new(Top {
                word: PhaseWord::new(config.first.0),
                results: [Cell::new(), Cell::new()],
                single: Single::new(),
            }),
            tree: Tree::new(config.degree, can_watch, reduction),
            lines: Lines::new(),
            port,
            config,
        }
    }

    /// Whether `phase` is known to have ended.
    #[inline]
    pub(crate) fn is_past(&self, phase: usize) -> bool {
        self.top.word.is_past(phase)
    }

    /// Registers a task; see [`Tree::register`].
    pub(crate) fn register(&self, mode: Mode, start: usize) -> Registered {
        self.lines.forbid();
        self.tree.register(mode, start, &self.top.word, &self.port)
    }

    /// Gathers as the master of a node; returns true once nothing is left for this task to do.
    #[inline]
    pub(crate) fn gather(&self, round: &mut Round, phase: usize, visit: &mut Visit<'_>) -> bool {
        let gathered = self.tree.gather(round, phase, &mut visit.by);
        self.finish_gathered(gathered, phase, visit)
    }

    /// Ends `phase` if all signals are there: examines the nodes from the task's leaf, or from the
    /// root, upwards.
    pub(crate) fn advance(&self, phase: usize, visit: &mut Visit<'_>) {
        let gathered = self.tree.advance(phase, &mut visit.by);
        self.finish_gathered(gathered, phase, visit);
    }

    #[inline]
    fn finish_gathered(&self, gathered: Gathered<'_>, phase: usize, visit: &mut Visit<'_>) -> bool {
        match gathered {
            Gathered::Behind => false,
            Gathered::Left => true,
            Gathered::Complete(top) => self.finish(top, phase, visit),
        }
    }

    /// Ends `phase`, whose tree is complete, unless a newcomer owes a signal or another task runs
    /// the statement. `top` is the root that was seen complete.
    fn finish(&self, top: Option<&Node>, phase: usize, visit: &mut Visit<'_>) -> bool {
        let (tree, single) = (&self.tree, &self.top.single);
        let quiet = tree.pad.is_empty();
        if !quiet && tree.pad.newcomers().any(|slot| slot.owes(phase)) {
            return false;
        }
        if single.is_requested(phase) && !single.is_complete(phase) {
            let Some(statement) = &mut visit.single else {
                // Left to a task that holds the statement.
                if self.top.word.sleepers().is_some() && single.notify_once(phase) {
                    // ORDERING: SeqCst, pairs with that of recheck: either this side observes the
                    // sleeper, or the sleeper observes all the signals that are seen here
                    // (word.Z1).
                    full_fence();
                    tree.wake(Some(visit.by.slot));
                }
                return false;
            };
            if !single.once(phase, statement) {
                return false;
            }
        }
        if let Some(reduction) = &tree.reduction {
            // Once: a delayed task observes a tree that has grown, and retired newcomers.
            let mut conclude = || {
                let value = values::conclude(reduction, top, tree.pad.newcomers(), phase);
                self.top.results[phase & 1].renew(phase, value);
            };
            if !single.once(phase, &mut conclude) {
                return false;
            }
        }
        if !quiet {
            // A reader that no longer finds them on the pad must not find a phase word from before
            // their registration.
            self.publish_before(phase);
            tree.pad.retire(phase + 1);
        }
        let opened = visit.registered && self.lines.open(&self.port, phase + 2);
        let ended = self.publish(phase, Some(visit.by.slot));
        if opened && !ended {
            // Tasks have left the phase without seeing it, and do not include themselves.
            self.lines.withdraw(phase + 2);
        }
        ended
    }

    /// Ends `phase`, and wakes its sleepers; returns false if another task has ended it.
    fn publish(&self, phase: usize, by: Option<NonNull<Slot>>) -> bool {
        let ended = self.top.word.end(phase);
        if ended == Some(true) {
            // ORDERING: SeqCst, pairs with that of recheck: either this side observes the sleeper,
            // or the sleeper observes that the phase has ended (word.Z3).
            full_fence();
            self.tree.wake(by);
        }
        ended.is_some()
    }

    /// Publishes the end of the phases before `phase`. Called when a task deregisters after
    /// completing every phase below `phase`: no other task may have observed that progress.
    pub(crate) fn publish_before(&self, phase: usize) {
        if let Some(last) = phase.checked_sub(1)
            && !self.is_past(last)
        {
            self.publish(last, None);
        }
    }

    /// Announces that the task is about to park in `phase`, whose predecessors have ended; returns
    /// false if it has ended, too.
    pub(crate) fn announce_sleeper(&self, phase: usize, by: NonNull<Slot>) -> bool {
        loop {
            match self.top.word.announce_sleeper(phase) {
                Announced::Done => return true,
                Announced::Ended => return false,
                Announced::Lagging => _ = self.publish(phase - 1, Some(by)),
            }
        }
    }

    /// Examines the tree again, after the task announced that it is about to park.
    pub(crate) fn recheck(&self, phase: usize, visit: &mut Visit<'_>) {
        // ORDERING: SeqCst, pairs with those of after_signal and watch: either this side observes
        // the signal, or the signalling task observes the sleeper (word.Z1); and with that of
        // publish (word.Z3).
        full_fence();
        self.advance(phase, visit);
    }

    /// Withdraws the request for a statement at the end of `phase`, and ends the phase if it can
    /// end: no other task may check again.
    pub(crate) fn release_single(&self, phase: usize, slot: NonNull<Slot>) {
        self.top.single.release();
        if !self.is_past(phase) {
            self.after_signal(slot, true);
        }
    }

    /// Ends the phase, if it can end, on behalf of tasks that are parked. Called after a signal or
    /// a departure: no other task may examine the tree again.
    pub(crate) fn after_signal(&self, slot: NonNull<Slot>, registered: bool) {
        // ORDERING: SeqCst, pairs with that of recheck: either this side observes the sleeper, or
        // the sleeper observes the signal (word.Z1).
        full_fence();
        if let Some(phase) = self.top.word.sleepers() {
            if registered || self.tree.reduction.is_none() {
                let by = Gatherer {
                    slot,
                    in_tree: true,
                    helps: true,
                    behind: 0,
                };
                self.advance(
                    phase,
                    &mut Visit {
                        by,
                        registered,
                        single: None,
                    },
                );
            } else {
                // Only tasks without which the next phase cannot end may combine values.
                self.tree.wake(Some(slot));
            }
        }
    }

    /// Deregisters a task: frees its slot.
    pub(crate) fn leave(&self, slot: NonNull<Slot>, mode: Mode, progress: Progress) {
        // SAFETY: slots live as long as the phaser.
        let this = unsafe { slot.as_ref() };
        let duty = this.sleeper.cancel(&self.port);
        // Wakers called here may panic; the slot is freed regardless.
        let _frees = Finally::new(|| self.tree.free(slot, mode, &self.port));
        let _signals = Finally::new(|| {
            if mode.signals() {
                this.vacate(progress);
                self.after_signal(slot, false);
            }
        });
        self.tree.perform(duty, slot);
    }
}

impl<P: Barrier> Drop for Shared<P> {
    fn drop(&mut self) {
        if let Some(line) = self.lines.line() {
            self.port.give_back(line);
        }
    }
}
