//! One place on loom's threads; of the other places only the messages are modelled.

use loom::sync::Notify;
use loom::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use loom::thread;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tautline_core::glb::{
    Bag, Config, Control, Fairness, Message, Reason, Share, Tally, Team, Worker,
};
use tautline_core::lifeline::{AnyBound, Bound, Graph};
use tautline_core::port::{Clock, Park, Relax, Transport, Unpark};
use tautline_core::sync::Permit;
use tautline_core::{PlaceId, WorkerId};
use tautline_verify::model::Turns;

/// The state shared by all workers of the place. The counts are not loom's.
#[derive(Default)]
pub(crate) struct Stage {
    /// Tasks done so far.
    pub worked: AtomicUsize,
    /// The bound, where the model has one.
    pub bound: Option<Bound>,
    /// The bounds sent to the other place.
    pub sent: Mutex<Vec<usize>>,
    /// Whether one worker does everything, so that each bound is sent before the next grain.
    prompt: bool,
}

impl Stage {
    /// Returns the best bound sent to the other place.
    pub(crate) fn best_sent(&self) -> usize {
        let sent = self.sent.lock().unwrap();
        assert!(sent.is_sorted_by(|a, b| a > b), "sent again: {sent:?}");
        sent.last().copied().unwrap_or(usize::MAX)
    }

    /// Returns the best bound that the place knows.
    pub(crate) fn best_known(&self) -> usize {
        self.bound.as_ref().map_or(usize::MAX, Bound::get)
    }
}

/// One task.
#[derive(Clone, Copy)]
pub(crate) enum Job {
    /// Without effect.
    Plain,
    /// Finds a solution of this value.
    Find(usize),
    /// Stops the computation.
    Stop(Reason),
}

/// Tasks, the last first, and the reason to stop of the one processed last.
pub(crate) struct Jobs(Vec<Job>, Option<Reason>);

impl Jobs {
    pub(crate) fn new(jobs: impl Into<Vec<Job>>) -> Self {
        Self(jobs.into(), None)
    }

    pub(crate) fn plain(count: usize) -> Self {
        Self::new(vec![Job::Plain; count])
    }
}

impl Bag for Jobs {
    type Shared = Arc<Stage>;
    type Output = ();

    fn process(&mut self, n: usize, stage: &Self::Shared) -> usize {
        if stage.prompt {
            assert_eq!(stage.best_sent(), stage.best_known(), "not sent in time");
        }
        let done = n.min(self.0.len());
        for job in self.0.drain(self.0.len() - done..) {
            match job {
                Job::Plain => {}
                Job::Stop(reason) => self.1 = Some(reason),
                Job::Find(value) => {
                    stage
                        .bound
                        .as_ref()
                        .expect("this model has one")
                        .improve(value);
                }
            }
        }
        stage.worked.fetch_add(done, Relaxed);
        done
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.0.len());
        (taken > 0).then(|| Self::new(self.0.drain(..taken).collect::<Vec<_>>()))
    }

    fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn bound(stage: &Self::Shared) -> Option<&dyn AnyBound> {
        stage.bound.as_ref().map(|bound| bound as &dyn AnyBound)
    }

    fn verdict(&self) -> Option<Reason> {
        self.1
    }

    fn submit(self, (): &mut ()) {}
}

/// The home place, and another place of which only the messages are modelled.
pub(crate) struct World {
    pub team: Team<Jobs>,
    pub control: Control,
    pub stage: Arc<Stage>,
    closed: AtomicBool,
    /// The number of tasks in all: an end that is detected before they are done is ignored.
    expected: usize,
    /// The shipped permit over a sticky sleep, as in the node backend. (Loom's own parking loses a
    /// wake-up that finds its thread in a spinning wait.)
    permits: Vec<(Permit, Notify)>,
}

impl World {
    pub(crate) fn new(
        places: u32,
        workers: usize,
        fairness: Fairness,
        expected: usize,
    ) -> Arc<Self> {
        Self::with(Self::config(places, workers, fairness), expected)
    }

    pub(crate) fn config(places: u32, workers: usize, fairness: Fairness) -> Config {
        Config {
            places,
            workers,
            random_steals: 0,
            lifelines: Graph::Ring,
            grain: 1.into(),
            fairness,
            ..Config::default()
        }
    }

    pub(crate) fn with(config: Config, expected: usize) -> Arc<Self> {
        Self::on(Stage::default(), config, expected)
    }

    /// Creates two places that have a bound.
    pub(crate) fn bounded(workers: usize, expected: usize) -> Arc<Self> {
        let stage = Stage {
            bound: Some(Bound::default()),
            prompt: workers == 1,
            ..Stage::default()
        };
        Self::on(stage, Self::config(2, workers, Fairness::Inline), expected)
    }

    fn on(stage: Stage, config: Config, expected: usize) -> Arc<Self> {
        let stage = Arc::new(stage);
        Arc::new(Self {
            permits: (0..config.threads_of(PlaceId::HOME))
                .map(|_| (Permit::new(), Notify::new()))
                .collect(),
            team: Team::new(PlaceId::HOME, &config, Arc::clone(&stage)),
            control: Control::new(),
            stage,
            closed: AtomicBool::new(false),
            expected,
        })
    }

    /// Runs the team's workers on threads while `meanwhile` runs here; returns how many tasks were
    /// done.
    pub(crate) fn run(self: &Arc<Self>, jobs: Jobs, meanwhile: impl FnOnce(&Self)) -> u64 {
        self.team.begin(jobs, &**self);
        let workers: Vec<_> = (0..self.permits.len())
            .map(|i| {
                let world = Arc::clone(self);
                let me = WorkerId(i as u32);
                thread::spawn(move || {
                    Worker::new(&world.team, me, &*world, &world.control, ())
                        .run()
                        .tasks
                })
            })
            .collect();
        meanwhile(self);
        workers.into_iter().map(|w| w.join().unwrap()).sum()
    }

    /// Returns the statistics of the place, and the number of remaining tasks.
    pub(crate) fn wind_up(self: Arc<Self>) -> (Tally, usize) {
        let world = Arc::into_inner(self).expect("all threads have ended");
        let (tally, bags) = world.team.into_parts();
        (tally, bags.iter().map(Bag::len).sum())
    }
}

impl Clock for World {
    fn now(&self) -> u64 {
        0
    }
}

impl Relax for World {
    fn relax(&self, turn: u32) {
        Turns(1).relax(turn);
    }
}

impl Unpark for World {
    fn unpark(&self, worker: WorkerId) {
        let (permit, sleep) = &self.permits[worker.index()];
        permit.give();
        sleep.notify();
    }
}

impl Park for World {
    fn park(&self, worker: WorkerId) {
        let (permit, sleep) = &self.permits[worker.index()];
        while !permit.try_take() {
            sleep.wait();
        }
    }
}

impl Transport<Message<Jobs>> for World {
    /// The other place never has work.
    fn send(&self, to: PlaceId, message: Message<Jobs>) {
        match message {
            Message::Request { .. } => self.team.deliver(to, Message::Answer(None), self),
            Message::Bound(bound) => self.stage.sent.lock().unwrap().push(bound as usize),
            _ => {}
        }
    }

    fn close(&self) {
        let is_early = self.stage.worked.load(Relaxed) < self.expected;
        if is_early && !self.control.is_stopped() {
            return;
        }
        self.closed.store(true, Release);
        (0..self.permits.len()).for_each(|w| self.unpark(WorkerId(w as u32)));
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Acquire)
    }
}
