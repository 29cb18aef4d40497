//! Runs a balanced computation on the threads of this process.

use crate::machine::pin;
use crate::park::{self, Parker};
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread::Builder;
use std::time::{Duration, Instant};
use tautline_core::glb::{
    Account, Bag, Config, Control, Message, Observer, Reason, Tally, Team, Times, Worker,
};
use tautline_core::port::{Clock, Park, Relax, Transport, Unpark};
use tautline_core::{PlaceId, WorkerId};

/// What a computation left behind.
#[derive(Debug)]
pub struct Run<T, O = ()> {
    /// What the bags submitted.
    pub output: T,
    /// All work was done. False if the computation was stopped: the output is partial.
    pub complete: bool,
    /// Why it was stopped, if it was.
    pub stopped: Option<Reason>,
    /// From the first worker's start to the last one's end.
    pub elapsed: Duration,
    /// Ticks a second of the clock that the times and the observers use.
    pub ticks_per_second: f64,
    /// What each place counted, in order.
    pub places: Vec<PlaceRun>,
    /// The tick at which the computation began.
    pub began: u64,
    /// The observers, place by place and worker by worker.
    pub observers: Vec<(PlaceId, WorkerId, O)>,
}

/// What one place counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlaceRun {
    /// Messages and loot.
    pub tally: Tally,
    /// Where the time of its threads went.
    pub times: Times,
}

/// Runs `bag` to the end over the places and workers of `config`, pinned in turn to `cpus` (none: not
/// pinned). `observe` is called once for each thread, before the start.
///
/// # Errors
/// A thread that the system would not start; nothing has run then.
///
/// # Panics
/// With the payload of the first panic of a task, after all workers have stopped.
pub fn run<B: Bag, O: Observer>(
    config: &Config,
    cpus: &[usize],
    bag: B,
    shared: impl Fn(PlaceId) -> B::Shared,
    mut output: B::Output,
    control: &Control,
    observe: impl FnMut(PlaceId, WorkerId) -> O,
) -> io::Result<Run<B::Output, O>> {
    let node = Node::new(config, shared);
    let began = node.now();
    let accounts = node.staff(cpus, bag, control, observe)?;
    let elapsed = Duration::from_nanos(node.now() - began);
    if let Some(payload) = node.panic.into_inner().expect("held only to store") {
        resume_unwind(payload);
    }
    let mut complete = true;
    let mut places = Vec::with_capacity(node.teams.len());
    for team in node.teams {
        let (tally, bags) = team.wind_up();
        for bag in bags {
            complete &= bag.is_empty();
            bag.submit(&mut output);
        }
        places.push(PlaceRun {
            tally,
            times: Times::default(),
        });
    }
    let mut observers = Vec::with_capacity(accounts.len());
    for (place, worker, account) in accounts {
        let account = account.expect("who has no account has panicked");
        let counted = &mut places[place.index()];
        counted.tally.tasks += account.tasks;
        counted.times.merge(&account.times);
        observers.push((place, worker, account.observer));
    }
    Ok(Run {
        output,
        complete,
        stopped: control.reason(),
        elapsed,
        ticks_per_second: 1e9,
        began,
        places,
        observers,
    })
}

/// The places of a computation on the threads of this process.
struct Node<B: Bag> {
    teams: Vec<Team<B>>,
    /// By place and worker.
    parkers: Vec<Vec<Parker>>,
    closed: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    origin: Instant,
}

impl<B: Bag> Node<B> {
    fn new(config: &Config, shared: impl Fn(PlaceId) -> B::Shared) -> Self {
        let teams: Vec<_> = (0..config.places)
            .map(|p| Team::new(PlaceId(p), config, shared(PlaceId(p))))
            .collect();
        let parkers_of = |_: &Team<B>| (0..config.threads()).map(|_| Parker::default()).collect();
        let parkers = teams.iter().map(parkers_of).collect();
        Self {
            teams,
            parkers,
            closed: AtomicBool::new(false),
            panic: Mutex::default(),
            origin: Instant::now(),
        }
    }

    /// Starts a thread for every worker, lets them run `bag` to the end, and collects what they have
    /// to show.
    #[expect(clippy::type_complexity, reason = "who, and what it did")]
    fn staff<O: Observer>(
        &self,
        cpus: &[usize],
        bag: B,
        control: &Control,
        mut observe: impl FnMut(PlaceId, WorkerId) -> O,
    ) -> io::Result<Vec<(PlaceId, WorkerId, Option<Account<O>>)>> {
        // Before the first thread waits for the launch: the program's code may panic.
        let observers: Vec<O> = self
            .seats()
            .map(|(place, worker)| observe(place, worker))
            .collect();
        let launch = Launch::default();
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (i, ((place, worker), observer)) in self.seats().zip(observers).enumerate() {
                let cpu = (!cpus.is_empty()).then(|| cpus[i % cpus.len()]);
                let launch = &launch;
                let name = format!("tautline-{}.{}", place.0, worker.0);
                let body = move || {
                    cpu.into_iter().for_each(|cpu| _ = pin(cpu));
                    launch
                        .wait()
                        .then(|| self.attend(place, worker, control, observer))
                        .flatten()
                };
                let thread = Builder::new().name(name).spawn_scoped(scope, body);
                threads.push((place, worker, thread.inspect_err(|_| launch.give(false))?));
            }
            for (place, worker, thread) in &threads {
                self.parker(*place, *worker)
                    .belongs_to(thread.thread().clone());
            }
            self.teams[PlaceId::HOME.index()].begin(bag, &self.at(PlaceId::HOME));
            launch.give(true);
            let join = |(place, worker, thread): (_, _, std::thread::ScopedJoinHandle<'_, _>)| {
                (
                    place,
                    worker,
                    thread.join().expect("panics are caught inside"),
                )
            };
            Ok(threads.into_iter().map(join).collect())
        })
    }

    /// One thread's part. `None` if a task panicked in it.
    fn attend<O: Observer>(
        &self,
        place: PlaceId,
        worker: WorkerId,
        control: &Control,
        observer: O,
    ) -> Option<Account<O>> {
        let here = self.at(place);
        let team = &self.teams[place.index()];
        let work = || Worker::new(team, worker, here, control, observer).run();
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(account) => Some(account),
            Err(payload) => {
                self.panic
                    .lock()
                    .expect("held only to store")
                    .get_or_insert(payload);
                self.close();
                None
            }
        }
    }

    /// Every thread: its place and its number there.
    fn seats(&self) -> impl Iterator<Item = (PlaceId, WorkerId)> + '_ {
        let seats_of = |(place, parkers): (usize, &Vec<Parker>)| {
            (0..parkers.len() as u32).map(move |worker| (PlaceId(place as u32), WorkerId(worker)))
        };
        self.parkers.iter().enumerate().flat_map(seats_of)
    }

    fn parker(&self, place: PlaceId, worker: WorkerId) -> &Parker {
        &self.parkers[place.index()][worker.index()]
    }
}

/// One place's view of the node.
struct Here<'a, B: Bag> {
    node: &'a Node<B>,
    place: PlaceId,
}

impl<B: Bag> Clock for Here<'_, B> {
    fn now(&self) -> u64 {
        self.node.now()
    }
}

impl<B: Bag> Relax for Here<'_, B> {
    fn relax(&self, turn: u32) {
        park::relax(turn);
    }
}

impl<B: Bag> Unpark for Here<'_, B> {
    fn unpark(&self, worker: WorkerId) {
        self.node.parker(self.place, worker).unpark();
    }
}

impl<B: Bag> Park for Here<'_, B> {
    fn park(&self, worker: WorkerId) {
        self.node.parker(self.place, worker).park(self);
    }
}

impl<B: Bag> Transport<Message<B>> for Here<'_, B> {
    fn send(&self, to: PlaceId, message: Message<B>) {
        let there = self.node.at(to);
        self.node.teams[to.index()].deliver(self.place, message, &there);
    }

    fn close(&self) {
        self.node.close();
    }

    fn is_closed(&self) -> bool {
        self.node.is_closed()
    }
}

impl<B: Bag> Node<B> {
    fn at(&self, place: PlaceId) -> Here<'_, B> {
        Here { node: self, place }
    }

    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    fn close(&self) {
        // ORDERING: Release, pairs with Acquire in is_closed: what led to the end is seen by threads that find it; no mutant:
        // models run the team on a transport of their own, this one runs under ThreadSanitizer.
        self.closed.store(true, Ordering::Release);
        self.parkers.iter().flatten().for_each(Parker::unpark);
    }

    fn is_closed(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in close; no mutant: as there.
        self.closed.load(Ordering::Acquire)
    }
}

/// Holds the threads back until all of them could be started, or one could not.
#[derive(Default)]
struct Launch {
    go: Mutex<Option<bool>>,
    given: Condvar,
}

impl Launch {
    fn give(&self, go: bool) {
        *self.go.lock().expect("held only to store") = Some(go);
        self.given.notify_all();
    }

    fn wait(&self) -> bool {
        let guard = self.go.lock().expect("held only to store");
        let go = self
            .given
            .wait_while(guard, |go| go.is_none())
            .expect("held only to store");
        go.expect("given, above")
    }
}
