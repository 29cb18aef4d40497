//! The parameters of a balanced computation, and its control while it runs.
//!
//! # Words
//! [`Control`]: `stopped`, set once by any thread, with the reason; `done`, to which workers add their progress. Both are polled; nothing is read through them, so no ordering is required (models `stop_*` in `verify/tests/glb.rs`).

use crate::finish::Reason;
use crate::glb::Share;
use crate::grain::Tuning;
use crate::id::{PlaceId, WorkerId};
use crate::lifeline::Graph;
use crate::sync::{AtomicUsize, Ordering};

/// All parameters of the balancer.
///
/// ```
/// # use tautline_core::glb::{Config, Steal};
/// let config = Config { places: 4, workers: 2, steal: Steal::Count(7), ..Config::default() };
/// assert_eq!(config.all_threads(), 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Places, at least 1.
    pub places: u32,
    /// Workers of each place, 1 to [`Crew::MAX`](crate::lifeline::Crew::MAX).
    pub workers: usize,
    /// The number of places, the last ones, that have one worker fewer: less than
    /// [`places`](Self::places), and 0 if there is one worker per place.
    pub smaller: u32,
    /// Random steals of a dry place before it uses its lifelines (w).
    pub random_steals: usize,
    /// The lifelines.
    pub lifelines: Graph,
    /// The amount taken for another place.
    pub steal: Steal,
    /// Tasks between two polls (n).
    pub grain: Grain,
    /// The thread that serves messages while all workers of a place are busy.
    pub fairness: Fairness,
    /// The seed of the choice of victims.
    pub seed: u64,
}

impl Config {
    pub(crate) const DEFAULT: Self = Self {
        places: 1,
        workers: 1,
        smaller: 0,
        random_steals: 1,
        lifelines: Graph::Hypercube { radix: 2 },
        steal: Steal::Half,
        grain: Grain::Tuned(Tuning::DEFAULT),
        fairness: Fairness::Inline,
        seed: 1,
    };

    /// Divides `workers` among `places` so that no place has two workers more than another.
    ///
    /// ```
    /// # use tautline_core::glb::Config;
    /// # use tautline_core::PlaceId;
    /// let config = Config::default().divided(3, 8);
    /// assert_eq!([0, 1, 2].map(|place| config.workers_of(PlaceId(place))), [3, 3, 2]);
    /// ```
    #[must_use]
    pub const fn divided(mut self, places: u32, workers: usize) -> Self {
        self.places = places;
        self.workers = workers.div_ceil(places as usize);
        self.smaller = (self.workers * places as usize - workers) as u32;
        self
    }

    /// Returns the workers of one place.
    pub const fn workers_of(&self, place: PlaceId) -> usize {
        let is_smaller = place.0 >= self.places.saturating_sub(self.smaller);
        self.workers - is_smaller as usize
    }

    /// Returns the workers of all places.
    ///
    /// ```
    /// # use tautline_core::glb::Config;
    /// assert_eq!(Config::default().divided(3, 8).all_workers(), 8);
    /// ```
    pub const fn all_workers(&self) -> usize {
        self.workers * self.places as usize - self.smaller as usize
    }

    /// Returns the workers of a place that process tasks.
    pub(super) fn crew_of(&self, place: PlaceId) -> usize {
        let workers = self.workers_of(place);
        match self.fairness {
            Fairness::OneCoreFree => workers.saturating_sub(1).max(1),
            _ => workers,
        }
    }

    /// Whether a place has a server thread, which serves messages and processes no tasks.
    fn has_server(&self) -> bool {
        matches!(self.fairness, Fairness::OneCoreFree | Fairness::Yield)
    }

    /// Returns the threads of a place: its crew, and the server thread if there is one.
    ///
    /// ```
    /// # use tautline_core::glb::{Config, Fairness};
    /// # use tautline_core::PlaceId;
    /// // A worker processes tasks, the other thread serves messages.
    /// let config = Config { workers: 2, fairness: Fairness::OneCoreFree, ..Config::default() };
    /// assert_eq!(config.threads_of(PlaceId::HOME), 2);
    /// ```
    pub fn threads_of(&self, place: PlaceId) -> usize {
        self.crew_of(place) + usize::from(self.has_server())
    }

    /// Returns the threads of all places.
    pub fn all_threads(&self) -> usize {
        let last = PlaceId(self.places.saturating_sub(1));
        let larger = self.places.saturating_sub(self.smaller) as usize;
        larger * self.threads_of(PlaceId::HOME) + self.smaller as usize * self.threads_of(last)
    }

    /// Returns all threads, place by place.
    ///
    /// ```
    /// # use tautline_core::glb::Config;
    /// assert_eq!(Config::default().divided(2, 3).seats().count(), 3);
    /// ```
    pub fn seats(&self) -> impl Iterator<Item = (PlaceId, WorkerId)> + use<> {
        let config = *self;
        (0..config.places).map(PlaceId).flat_map(move |place| {
            let workers = 0..config.threads_of(place) as u32;
            workers.map(move |worker| (place, WorkerId(worker)))
        })
    }
}

impl Default for Config {
    /// Returns one place with one worker, one random steal, the binary hypercube, half, and a tuned
    /// grain.
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The number of tasks that a worker processes between two polls.
///
/// ```
/// # use tautline_core::glb::Grain;
/// # use tautline_core::grain::Tuning;
/// assert_eq!(Grain::from(511).initial(), 511);
/// assert_eq!(Grain::default(), Grain::Tuned(Tuning::default()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grain {
    /// This number, at least 1. 511 or 1023 suit tree search (Saraswat 2011).
    Fixed(usize),
    /// Determined by the tuner of each place.
    Tuned(Tuning),
}

impl Default for Grain {
    fn default() -> Self {
        Self::Tuned(Tuning::DEFAULT)
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
    /// Returns the tasks of the first turn.
    ///
    /// ```
    /// # use tautline_core::glb::Grain;
    /// assert_eq!(Grain::from(511).initial(), 511);
    /// ```
    pub const fn initial(&self) -> usize {
        match self {
            Self::Fixed(tasks) => *tasks,
            Self::Tuned(tuning) => tuning.initial,
        }
    }
}

/// The amount that a thief gets. Half suits trees whose subtrees are alike (binomial), a small
/// number those whose work is near the root (geometric; 7 in the source).
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

/// The thread that serves the messages of a place whose workers are all busy (Finnerty).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fairness {
    /// A worker serves them itself between two grains.
    #[default]
    Inline,
    /// One worker yields between two grains until a message has been served by another thread.
    Yield,
    /// One worker fewer, but at least one: a dedicated thread serves.
    OneCoreFree,
    /// No thread, until a worker is dry. For comparison.
    Never,
}

/// Stops a computation early, and reports its progress.
///
/// ```
/// # use tautline_core::glb::{Control, Reason};
/// let control = Control::new();
/// // Any thread:
/// control.stop(Reason::Interrupted);
/// control.stop(Reason::Deadline);
/// assert_eq!(control.reason(), Some(Reason::Interrupted)); // later reasons are ignored
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
    /// Creates a control that is not stopped.
    pub fn new() -> Self {
        Self {
            stopped: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
        }
    }

    /// Stops every place at its next poll; the result is then partial. Later reasons are ignored.
    ///
    /// ```
    /// # use tautline_core::glb::{Control, Reason};
    /// let control = Control::new();
    /// control.stop(Reason::Interrupted); // by any thread
    /// assert!(control.is_stopped());
    /// ```
    pub fn stop(&self, reason: Reason) {
        let code = 1 + reason as usize;
        // ORDERING: Relaxed both ways: the word publishes nothing else.
        let _ = self
            .stopped
            .compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether [`stop`](Self::stop) was called, or a deadline or an interrupt stops the
    /// computation. A long task should poll it.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        // ORDERING: Relaxed: the word publishes nothing else.
        self.stopped.load(Ordering::Relaxed) != 0
    }

    /// Returns the reason for the stop, if it was stopped.
    ///
    /// ```
    /// # use tautline_core::glb::{Control, Reason};
    /// let control = Control::new();
    /// assert_eq!(control.reason(), None);
    /// control.stop(Reason::GivenUp);
    /// assert_eq!(control.reason(), Some(Reason::GivenUp));
    /// ```
    pub fn reason(&self) -> Option<Reason> {
        // ORDERING: Relaxed: the word publishes nothing else.
        let code = self.stopped.load(Ordering::Relaxed);
        Reason::ALL.get(code.wrapping_sub(1)).copied()
    }

    /// Returns the number of tasks processed so far, at this rank. A worker adds its own about
    /// every 50 ms, between two tasks, and when it has none left.
    ///
    /// ```
    /// # use tautline_core::glb::Control;
    /// let control = Control::new();
    /// assert_eq!(control.done(), 0); // a progress line prints it
    /// ```
    pub fn done(&self) -> usize {
        // ORDERING: Relaxed: a statistic.
        self.done.load(Ordering::Relaxed)
    }

    pub(super) fn add_done(&self, tasks: usize) {
        // ORDERING: Relaxed: a statistic.
        self.done.fetch_add(tasks, Ordering::Relaxed);
    }
}
