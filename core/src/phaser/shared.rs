//! What can be asked of a phaser by anybody.
#![forbid(unsafe_code)]

use super::accumulator::{Putter, Reduction};
use super::tree::Tree;
use super::{Element, Mode, Op, PhaserError, Registration};
use crate::port::{Barrier, Relax};
use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;

/// A phase, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Phase(pub usize);

impl Phase {
    /// The last one that can be counted: nobody can signal it.
    pub const LAST: Self = Self(usize::MAX >> 3);
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a phaser is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How many children a node has, 2 to 1024.
    pub degree: usize,
    /// After how many failed looks a task that waits gathers in the place of others. 0, at once, is right where tasks share
    /// processors.
    pub help_after: u32,
    /// The phase to begin with.
    pub first: Phase,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            degree: 4,
            help_after: 1000,
            first: Phase(0),
        }
    }
}

/// What has happened on a phaser so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// Phases that are over.
    pub phases: usize,
    /// Those of them that a barrier line carried, about, as long as one does.
    pub in_hardware: usize,
    /// Nodes gathered, in some phase, by others than their fixed masters.
    pub helped: usize,
    /// Leaves that were made.
    pub leaves: usize,
    /// Levels of nodes.
    pub levels: usize,
}

/// A phaser, to be looked at. Keeps nobody waiting.
#[derive(Debug)]
pub struct Phaser<P: Barrier>(pub(super) Arc<Tree<P>>);

impl<P: Barrier> Clone for Phaser<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Relax + Barrier> Phaser<P> {
    /// The phase that is going on.
    pub fn phase(&self) -> Phase {
        self.0.catch_up()
    }

    /// How it was built.
    pub fn config(&self) -> Config {
        self.0.config
    }

    /// What has happened so far.
    pub fn census(&self) -> Census {
        let (leaves, levels) = self.0.shape();
        let phase = self.phase().0;
        Census {
            phases: phase - self.config().first.0,
            in_hardware: self.0.in_hardware(phase),
            helped: self.0.helped(),
            leaves,
            levels,
        }
    }

    /// Both are the same phaser.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A phaser's reduction: values that tasks bring in before they signal, as one when the phase is over.
///
/// A clone for each task makes [`get`](Self::get) fastest: it remembers the one task that brings values in through it.
#[derive(Debug)]
pub struct Accumulator<T, P: Barrier> {
    tree: Arc<Tree<P>>,
    putter: Putter,
    of: PhantomData<fn(T) -> T>,
}

impl<T, P: Barrier> Clone for Accumulator<T, P> {
    fn clone(&self) -> Self {
        Self {
            tree: Arc::clone(&self.tree),
            putter: Putter::new(),
            of: PhantomData,
        }
    }
}

impl<T: Element, P: Relax + Barrier> Accumulator<T, P> {
    /// A new phaser that accumulates, with the caller registered on it signal-wait, alone. `init` enters every result once; none:
    /// the operator's identity.
    ///
    /// # Errors
    /// [`PhaserError::Operator`], [`PhaserError::Degree`], [`PhaserError::Overflow`].
    pub fn create(
        port: P,
        op: Op,
        init: Option<T>,
        config: Config,
    ) -> Result<(Self, Registration<P>), PhaserError> {
        let reduction = Reduction::new(op, init).ok_or(PhaserError::Operator { op })?;
        let task = Registration::found(port, Mode::SignalWait, config, Some(reduction))?;
        let tree = Arc::clone(task.tree());
        Ok((
            Self {
                tree,
                putter: Putter::new(),
                of: PhantomData,
            },
            task,
        ))
    }

    /// Brings `value` in for the phase that `task` is about to signal; the last value counts. Who brings none in changes nothing.
    ///
    /// # Errors
    /// [`PhaserError::NotRegistered`] on this phaser; [`PhaserError::Signalled`]: too late for this phase.
    pub fn put(&self, task: &mut Registration<P>, value: T) -> Result<(), PhaserError> {
        let Some(reduction) = self.tree.reduction.as_ref() else {
            return Err(PhaserError::NotRegistered);
        };
        if !Arc::ptr_eq(&self.tree, task.tree()) {
            return Err(PhaserError::NotRegistered);
        }
        if task.is_early() {
            let phase = Phase(task.signalled().0 - 1);
            return Err(PhaserError::Signalled { phase });
        }
        reduction.put(task.slot(), task.signalled().0, value.pack());
        task.brings_value();
        self.putter.note(task.slot());
        Ok(())
    }

    /// Its phaser.
    pub fn phaser(&self) -> Phaser<P> {
        Phaser(Arc::clone(&self.tree))
    }

    /// The result of the phase that ended last; before that, what comes out of no values. A task that is registered may ask until it
    /// signals the phase after the next. Any other thread may ask at any time, and gets the result of one phase that is over.
    pub fn get(&self) -> T {
        let reduction = self.tree.reduction.as_ref();
        let reduction = reduction.expect("the phaser of an accumulator accumulates");
        let slot = self.putter.slot(&self.tree);
        let kept = slot.and_then(|slot| reduction.kept(slot));
        T::unpack(kept.unwrap_or_else(|| self.tree.result(reduction)))
    }
}
