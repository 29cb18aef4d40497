//! One place on loom's threads; of the other places only the messages are there.

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
use tautline_core::lifeline::{Bound, Graph};
use tautline_core::port::{Clock, Park, Relax, Transport, Unpark};
use tautline_core::sync::Permit;
use tautline_core::{PlaceId, WorkerId};
use tautline_verify::model::Turns;

/// What all workers of the place see. Loom need not know of the counts.
#[derive(Default)]
pub(crate) struct Stage {
    /// Tasks done so far.
    pub worked: AtomicUsize,
    /// The bound, where the model has one.
    pub bound: Option<Bound>,
    /// The bounds that the other place was told.
    pub told: Mutex<Vec<usize>>,
    /// One worker does everything, so what it finds is told before it goes on.
    prompt: bool,
}

impl Stage {
    /// The best bound that the other place was told.
    pub(crate) fn best_told(&self) -> usize {
        let told = self.told.lock().unwrap();
        assert!(told.is_sorted_by(|a, b| a > b), "told again: {told:?}");
        told.last().copied().unwrap_or(usize::MAX)
    }

    /// The best bound that the place knows.
    pub(crate) fn best_known(&self) -> usize {
        self.bound.as_ref().map_or(usize::MAX, Bound::get)
    }
}

/// One task.
#[derive(Clone, Copy)]
pub(crate) enum Job {
    /// Nothing to see.
    Plain,
    /// Finds a solution of this value.
    Find(usize),
    /// Wants the computation to be stopped.
    Stop(Reason),
}

/// Tasks, the last first, and what the one done last wants.
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
            assert_eq!(stage.best_told(), stage.best_known(), "not told in time");
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

    fn bound(stage: &Self::Shared) -> Option<&Bound> {
        stage.bound.as_ref()
    }

    fn verdict(&self) -> Option<Reason> {
        self.1
    }

    fn submit(self, (): &mut ()) {}
}

/// The home place, and another place of which only the messages are there.
pub(crate) struct World {
    pub team: Team<Jobs>,
    pub control: Control,
    pub stage: Arc<Stage>,
    closed: AtomicBool,
    /// Tasks in all: an end that is found before they are done is not believed.
    expected: usize,
    /// The shipped permit over a sleep that is sticky too, as in the node backend. (Loom's own parking
    /// forgets a wake-up that finds its thread in a spinning wait.)
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

    /// Two places that have a bound.
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
            permits: (0..config.all_threads())
                .map(|_| (Permit::new(), Notify::new()))
                .collect(),
            team: Team::new(PlaceId::HOME, &config, Arc::clone(&stage)),
            control: Control::new(),
            stage,
            closed: AtomicBool::new(false),
            expected,
        })
    }

    /// Runs the team's workers on threads while `meanwhile` runs here; how many tasks were done.
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

    /// What the place counted, and the tasks that are left.
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
            Message::Bound(bound) => self.stage.told.lock().unwrap().push(bound),
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
