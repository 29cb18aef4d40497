//! The states of a worker, and time by state.

/// The activity of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum State {
    /// Running the program's tasks.
    Computing,
    /// Without work, and searching: in the queues of other workers, or, in a balanced computation,
    /// at a place that is asking for some.
    Stealing,
    /// Balanced computations: dividing work, for workers of this place or for recorded thieves.
    Distributing,
    /// Balanced computations: taking in messages.
    Probing,
    /// In a wait of the running task, parked or polling, with no other task to run.
    Waiting,
    /// Without work: parked, or, in a balanced computation, at a place that waits or whose other
    /// workers are busy.
    Idle,
    /// Without work, while no thread runs anything in the pool: the time of the rest of the
    /// program.
    NoRun,
}

impl State {
    /// All states, in the order of their discriminants.
    pub const ALL: [Self; 7] = [
        Self::Computing,
        Self::Stealing,
        Self::Distributing,
        Self::Probing,
        Self::Waiting,
        Self::Idle,
        Self::NoRun,
    ];

    /// The states of the workers of a balanced computation, which wait for no task.
    pub const BALANCED: [Self; 5] = [
        Self::Computing,
        Self::Stealing,
        Self::Distributing,
        Self::Probing,
        Self::Idle,
    ];

    /// The state's name in tables and pictures.
    ///
    /// ```
    /// # use tautline_core::watch::State;
    /// assert_eq!(State::Computing.name(), "computing");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Computing => "computing",
            Self::Stealing => "stealing",
            Self::Distributing => "distributing",
            Self::Probing => "probing",
            Self::Waiting => "waiting",
            Self::Idle => "idle",
            Self::NoRun => "no run",
        }
    }
}

/// Ticks by [`State`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Times(pub [u64; State::ALL.len()]);

impl Times {
    /// The ticks in `state`.
    ///
    /// ```
    /// # use tautline_core::watch::{State, Times};
    /// let mut times = Times::default();
    /// times.add(State::Computing, 90);
    /// times.add(State::Idle, 10);
    /// assert_eq!(times.of(State::Computing), 90);
    /// ```
    pub const fn of(&self, state: State) -> u64 {
        self.0[state as usize]
    }

    /// Adds `ticks` to `state`.
    pub const fn add(&mut self, state: State, ticks: u64) {
        self.0[state as usize] += ticks;
    }

    /// Adds all of `other`.
    ///
    /// ```
    /// # use tautline_core::watch::{State, Times};
    /// let mut times = Times::default();
    /// times.add(State::Computing, 90);
    /// times.add(State::Idle, 10);
    /// let mut all = times;
    /// all.merge(&times);
    /// assert_eq!(all.total(), 200);
    /// ```
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// Returns these times in ticks of another clock, of which `by` are one of this clock.
    ///
    /// ```
    /// # use tautline_core::watch::{State, Times};
    /// let mut times = Times::default();
    /// times.add(State::Computing, 90);
    /// times.add(State::Idle, 10);
    /// assert_eq!(times.scaled(0.5).of(State::Computing), 45);
    /// ```
    pub fn scaled(&self, by: f64) -> Self {
        Self(self.0.map(|ticks| (ticks as f64 * by + 0.5) as u64))
    }

    /// The ticks in all states.
    ///
    /// ```
    /// # use tautline_core::watch::{State, Times};
    /// let mut times = Times::default();
    /// times.add(State::Computing, 90);
    /// times.add(State::Idle, 10);
    /// assert_eq!(times.total(), 100);
    /// ```
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}
