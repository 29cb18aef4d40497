//! What is counted about a run, and where the time of a worker goes.

use crate::glb::{Bag, Message};
use crate::lifeline::Traffic;

/// What a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Running the program's tasks.
    Computing,
    /// Without work, at a place that is asking for some.
    Stealing,
    /// Dividing work: for workers of this place or for recorded thieves.
    Distributing,
    /// Taking in messages.
    Probing,
    /// Without work, at a place that waits or whose other workers are busy.
    Idle,
}

impl State {
    /// All states, in the order of their discriminants.
    pub const ALL: [Self; 5] = [
        Self::Computing,
        Self::Stealing,
        Self::Distributing,
        Self::Probing,
        Self::Idle,
    ];

    /// The state's name in tables and pictures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Computing => "computing",
            Self::Stealing => "stealing",
            Self::Distributing => "distributing",
            Self::Probing => "probing",
            Self::Idle => "idle",
        }
    }
}

/// Ticks by [`State`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times(pub [u64; 5]);

impl Times {
    /// The ticks in `state`.
    pub const fn of(&self, state: State) -> u64 {
        self.0[state as usize]
    }

    /// Adds `ticks` to `state`.
    pub const fn add(&mut self, state: State, ticks: u64) {
        self.0[state as usize] += ticks;
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// The ticks in all states.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Requests that a place made in one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steals {
    /// Requests sent.
    pub asked: u64,
    /// Loot that came of them.
    pub answered: u64,
}

/// Loot that passed in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loot {
    /// Messages with loot.
    pub count: u64,
    /// Tasks in them, as far as the bags knew.
    pub tasks: u64,
    /// Tasks in the largest.
    pub largest: u64,
}

impl Loot {
    fn add<B: Bag>(&mut self, loot: &B) {
        let tasks = loot.len() as u64;
        self.count += 1;
        self.tasks += tasks;
        self.largest = self.largest.max(tasks);
    }
}

/// What one place counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tasks done here.
    pub tasks: u64,
    /// Steals from places picked at random.
    pub random: Steals,
    /// Steals along lifelines, at once or later.
    pub lifeline: Steals,
    /// Loot that came here.
    pub received: Loot,
    /// Loot that left.
    pub sent: Loot,
    /// Messages sent, of all kinds.
    pub messages: u64,
    /// Of these, what a quiet place sent, but for answers and bounds. The protocol has none.
    pub unasked: u64,
    /// The grain at the end.
    pub grain: usize,
    /// How the reserve for this place's own workers was used.
    pub reserve: Traffic,
    /// The request whose answer is outstanding goes along a lifeline.
    asked_lifeline: bool,
    /// Messages that neither answer a request nor tell a bound.
    begun: u64,
}

impl Tally {
    /// A message leaves this place.
    pub fn on_send<B: Bag>(&mut self, message: &Message<B>) {
        self.messages += 1;
        if !matches!(message, Message::Answer(_) | Message::Bound(_)) {
            self.begun += 1;
        }
        match message {
            Message::Request { lifeline } => {
                self.asked_lifeline = *lifeline;
                self.by(*lifeline).asked += 1;
            }
            Message::Answer(Some(loot)) | Message::Loot(loot) => self.sent.add(loot),
            Message::Answer(None) | Message::Report(_) | Message::Bound(_) => {}
        }
    }

    /// A message has come to this place.
    pub fn on_receive<B: Bag>(&mut self, message: &Message<B>) {
        let (lifeline, loot) = match message {
            Message::Answer(Some(loot)) => (self.asked_lifeline, loot),
            Message::Loot(loot) => (true, loot),
            _ => return,
        };
        self.by(lifeline).answered += 1;
        self.received.add(loot);
    }

    /// Messages so far that neither answer a request nor tell a bound.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    fn by(&mut self, lifeline: bool) -> &mut Steals {
        if lifeline {
            &mut self.lifeline
        } else {
            &mut self.random
        }
    }
}

/// Sees every stretch of time that a worker spends in one state.
pub trait Observer: Send {
    /// The worker was in `state` from tick `from` to tick `to`. Stretches come in order, without gaps.
    fn span(&mut self, state: State, from: u64, to: u64);

    /// At tick `now` the worker changed the grain of its place.
    fn grain(&mut self, _tasks: usize, _now: u64) {}
}

/// Sees nothing and costs nothing.
impl Observer for () {
    #[inline(always)]
    fn span(&mut self, _: State, _: u64, _: u64) {}
}

/// Adds up a worker's time by state. The clock is read only when the state changes.
#[derive(Debug)]
pub struct Meter<O> {
    state: State,
    since: u64,
    times: Times,
    observer: O,
}

impl<O: Observer> Meter<O> {
    /// A worker that is in `state` from tick `now` on.
    pub fn new(state: State, now: u64, observer: O) -> Self {
        Self {
            state,
            since: now,
            times: Times::default(),
            observer,
        }
    }

    /// What the worker is doing.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// From tick `now` on the worker is in `state`.
    pub fn enter(&mut self, state: State, now: u64) {
        // A clock may differ a little between processors.
        let now = now.max(self.since);
        self.times.add(self.state, now - self.since);
        self.observer.span(self.state, self.since, now);
        self.state = state;
        self.since = now;
    }

    /// At tick `now` the worker changed the grain of its place.
    pub fn grain(&mut self, tasks: usize, now: u64) {
        self.observer.grain(tasks, now);
    }

    /// Ends the account at tick `now`.
    pub fn finish(mut self, now: u64) -> (Times, O) {
        self.enter(self.state, now);
        (self.times, self.observer)
    }
}
