//! What can be set about a balanced computation, before and while it runs.
//!
//! # Words
//! [`Control`]: `stopped`, set once by anyone, with the reason; `done`, to which workers add what they have done since
//! they last added. Both are watched; nothing is read through them, so no ordering is needed (models
//! `stop_*` in `verify/tests/glb.rs`).

use crate::finish::Reason;
use crate::glb::Share;
use crate::grain::Tuning;
use crate::lifeline::Graph;
use crate::sync::{AtomicUsize, Ordering};

/// All parameters of the balancer.
///
/// ```
/// # use tautline_core::glb::{Config, Steal};
/// let config = Config { places: 4, workers: 2, steal: Steal::Count(7), ..Config::default() };
/// assert_eq!(config.places as usize * config.threads(), 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Places, at least 1.
    pub places: u32,
    /// Workers a place, 1 to [`Crew::MAX`](crate::lifeline::Crew::MAX).
    pub workers: usize,
    /// Random steals before a dry place turns to its lifelines (w).
    pub random_steals: usize,
    /// The lifelines.
    pub lifelines: Graph,
    /// How much is taken for another place.
    pub steal: Steal,
    /// Tasks between two looks outside (n).
    pub grain: Grain,
    /// Who serves messages while all workers of a place are busy.
    pub fairness: Fairness,
    /// Seed of the choice of victims.
    pub seed: u64,
}

impl Config {
    /// Workers of a place that do tasks.
    pub(super) fn crew(&self) -> usize {
        match self.fairness {
            Fairness::OneCoreFree => self.workers.saturating_sub(1).max(1),
            _ => self.workers,
        }
    }

    /// A place has a thread, the steward, that serves messages and does no tasks.
    fn has_steward(&self) -> bool {
        matches!(self.fairness, Fairness::OneCoreFree | Fairness::Yield)
    }

    /// Threads of a place: its crew, and the steward if there is one.
    pub fn threads(&self) -> usize {
        self.crew() + usize::from(self.has_steward())
    }
}

impl Default for Config {
    /// One place, one worker, one random steal, the binary hypercube, half, a grain that is measured.
    fn default() -> Self {
        Self {
            places: 1,
            workers: 1,
            random_steals: 1,
            lifelines: Graph::Hypercube { radix: 2 },
            steal: Steal::Half,
            grain: Grain::default(),
            fairness: Fairness::Inline,
            seed: 1,
        }
    }
}

/// How many tasks a worker does between two looks outside.
///
/// ```
/// # use tautline_core::glb::Grain;
/// # use tautline_core::grain::Tuning;
/// assert_eq!(Grain::from(511).initial(), 511);
/// assert_eq!(Grain::default(), Grain::Tuned(Tuning::default()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grain {
    /// Always so many, at least 1. 511 or 1023 suit tree search (Saraswat 2011).
    Fixed(usize),
    /// As the tuner of each place sees fit.
    Tuned(Tuning),
}

impl Default for Grain {
    fn default() -> Self {
        Self::Tuned(Tuning::default())
    }
}

impl From<usize> for Grain {
    fn from(tasks: usize) -> Self {
        Self::Fixed(tasks)
    }
}

impl From<Tuning> for Grain {
    fn from(tuning: Tuning) -> Self {
        Self::Tuned(tuning)
    }
}

impl Grain {
    /// The tasks of the first turn.
    pub const fn initial(&self) -> usize {
        match self {
            Self::Fixed(tasks) => *tasks,
            Self::Tuned(tuning) => tuning.initial,
        }
    }
}

/// How much a thief gets. Half suits trees whose subtrees are alike (binomial), a small number those
/// whose work is near the root (geometric; 7 in the source).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steal {
    /// Half.
    #[default]
    Half,
    /// This many tasks, at least 1.
    Count(usize),
}

impl From<Steal> for Share {
    fn from(steal: Steal) -> Self {
        match steal {
            Steal::Half => Self::Half,
            Steal::Count(tasks) => Self::Count(tasks),
        }
    }
}

/// Who serves the messages of a place whose workers are all busy (Finnerty).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fairness {
    /// A worker serves them itself between two grains.
    #[default]
    Inline,
    /// One worker steps back between two grains until a message has been served by another thread.
    Yield,
    /// One worker fewer, but at least one: a thread does nothing but serve.
    OneCoreFree,
    /// Nobody, until a worker runs dry. For comparison.
    Never,
}

/// Stops a computation early, and tells how far it is.
///
/// ```
/// # use tautline_core::glb::{Control, Reason};
/// let control = Control::new();
/// // Any thread:
/// control.stop(Reason::Interrupted);
/// control.stop(Reason::Deadline);
/// assert_eq!(control.reason(), Some(Reason::Interrupted)); // the first reason counts
/// ```
#[derive(Debug)]
pub struct Control {
    /// 0, or one more than the position of the reason among [`Reason::ALL`].
    stopped: AtomicUsize,
    done: AtomicUsize,
}

impl Default for Control {
    fn default() -> Self {
        Self::new()
    }
}

impl Control {
    /// Not stopped, nothing done.
    pub fn new() -> Self {
        Self {
            stopped: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
        }
    }

    /// Every place stops at its next look outside; the result is then partial. The first reason counts.
    pub fn stop(&self, reason: Reason) {
        let code = 1 + reason as usize;
        // ORDERING: Relaxed both ways: the word itself is the message.
        let _ = self
            .stopped
            .compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// [`stop`](Self::stop) was called.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        // ORDERING: Relaxed: the word itself is the message.
        self.stopped.load(Ordering::Relaxed) != 0
    }

    /// Why it was stopped, if it was.
    pub fn reason(&self) -> Option<Reason> {
        // ORDERING: Relaxed: the word itself is the message.
        let code = self.stopped.load(Ordering::Relaxed);
        Reason::ALL.get(code.wrapping_sub(1)).copied()
    }

    /// Tasks done so far. A worker adds its own when it has done 65 536 of them or runs dry.
    pub fn done(&self) -> usize {
        // ORDERING: Relaxed: a number to look at.
        self.done.load(Ordering::Relaxed)
    }

    pub(super) fn add_done(&self, tasks: usize) {
        // ORDERING: Relaxed: a number to look at.
        self.done.fetch_add(tasks, Ordering::Relaxed);
    }
}
