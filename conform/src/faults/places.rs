//! Messages between places, right or with a fault.
//!
//! The workers of all places step in turn on the calling thread, so that a fault has the same
//! effect in each run.

use super::Broken;
use crate::{Done, Offer, Tree, balances};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use tautline_core::glb::{Bag, Config, Control, Fairness, Message, Step, Team, Worker, collect};
use tautline_core::port::{Clock, Relax, Transport, Unpark};
use tautline_core::{PlaceId, WorkerId};

/// A fault of the places, with each message of the kind unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Reports to the home are lost.
    LosesReports,
    /// Reports arrive twice.
    DoublesReports,
    /// Requests for work are lost.
    LosesRequests,
    /// Answers to requests are lost.
    LosesAnswers,
    /// Answers arrive without their loot.
    EmptiesAnswers,
    /// Answers arrive with their loot twice.
    DoublesAnswers,
    /// Loot along lifelines is lost.
    LosesLoot,
    /// Loot arrives twice in one message.
    DoublesLoot,
    /// A message with loot arrives twice.
    RepeatsLoot,
    /// Loot arrives at the next place.
    MisdirectsLoot,
    /// Answers arrive at the next place.
    MisdirectsAnswers,
    /// Messages arrive as if their receiver had sent them.
    Anonymous,
    /// The computation is ended by the first report.
    EndsEarly,
    /// One message of ten is lost.
    Forgetful,
}

/// The places of one computation.
struct World {
    fault: Option<Fault>,
    teams: Vec<Team<Tree>>,
    /// By place and worker: whether it was unparked since it last parked.
    permits: Vec<Vec<AtomicBool>>,
    is_closed: AtomicBool,
    /// Readings of the clock so far.
    now: AtomicU64,
    /// Messages sent so far.
    sent: AtomicU64,
}

/// The port of one place.
struct Here<'w> {
    world: &'w World,
    place: PlaceId,
}

/// Returns the tasks of `loot`, twice.
fn twice(mut loot: Tree) -> Tree {
    loot.merge(loot.clone());
    loot
}

impl World {
    fn new(fault: Option<Fault>, config: &Config) -> Self {
        let places = || (0..config.places).map(PlaceId);
        let permits = |place| (0..config.threads_of(place)).map(|_| AtomicBool::new(false));
        Self {
            fault,
            teams: places().map(|place| Team::new(place, config, ())).collect(),
            permits: places().map(|place| permits(place).collect()).collect(),
            is_closed: AtomicBool::new(false),
            now: AtomicU64::new(0),
            sent: AtomicU64::new(0),
        }
    }

    fn at(&self, place: PlaceId) -> Here<'_> {
        Here { world: self, place }
    }

    fn deliver(&self, from: PlaceId, to: PlaceId, message: Message<Tree>) {
        self.teams[to.index()].deliver(from, message, &self.at(to));
    }

    fn close(&self) {
        self.is_closed.store(true, SeqCst);
        for permit in self.permits.iter().flatten() {
            permit.store(true, SeqCst);
        }
    }

    fn carry(&self, from: PlaceId, to: PlaceId, message: Message<Tree>) {
        let count = 1 + self.sent.fetch_add(1, SeqCst);
        let next = PlaceId((to.0 + 1) % self.teams.len() as u32);
        let Some(fault) = self.fault else {
            return self.deliver(from, to, message);
        };
        let (from, to, message) = match (fault, message) {
            (Fault::LosesReports, Message::Report(_))
            | (Fault::LosesRequests, Message::Request { .. })
            | (Fault::LosesAnswers, Message::Answer(_))
            | (Fault::LosesLoot, Message::Loot(_)) => return,
            (Fault::Forgetful, _) if count % 10 == 0 => return,
            (Fault::EmptiesAnswers, Message::Answer(_)) => (from, to, Message::Answer(None)),
            (Fault::DoublesAnswers, Message::Answer(Some(loot))) => {
                (from, to, Message::Answer(Some(twice(loot))))
            }
            (Fault::DoublesLoot, Message::Loot(loot)) => (from, to, Message::Loot(twice(loot))),
            (Fault::MisdirectsLoot, loot @ Message::Loot(_)) => (from, next, loot),
            (Fault::MisdirectsAnswers, answer @ Message::Answer(_)) => (from, next, answer),
            (Fault::Anonymous, message) => (to, to, message),
            (Fault::RepeatsLoot, message @ Message::Loot(_))
            | (Fault::DoublesReports, message @ Message::Report(_)) => {
                self.deliver(from, to, message.clone());
                (from, to, message)
            }
            (Fault::EndsEarly, message @ Message::Report(_)) => {
                self.close();
                (from, to, message)
            }
            (_, message) => (from, to, message),
        };
        self.deliver(from, to, message);
    }
}

impl Clock for Here<'_> {
    fn now(&self) -> u64 {
        self.world.now.fetch_add(1, SeqCst)
    }
}

impl Relax for Here<'_> {
    fn relax(&self, _: u32) {}
}

impl Unpark for Here<'_> {
    fn unpark(&self, worker: WorkerId) {
        self.world.permits[self.place.index()][worker.index()].store(true, SeqCst);
    }
}

impl Transport<Message<Tree>> for Here<'_> {
    fn send(&self, to: PlaceId, message: Message<Tree>) {
        self.world.carry(self.place, to, message);
    }

    fn close(&self) {
        self.world.close();
    }

    fn is_closed(&self) -> bool {
        self.world.is_closed.load(SeqCst)
    }
}

/// Parks the calling thread for ever: all workers are parked, as they would be on threads.
fn hang() -> ! {
    loop {
        thread::park();
    }
}

/// Runs `tree` from the home to the end, over places that conform if there is no fault.
pub fn run(fault: Option<Fault>, config: &Config, tree: Tree) -> Done {
    let world = World::new(fault, config);
    let control = Control::new();
    world.teams[0].begin(tree, &world.at(PlaceId::HOME));
    let mut workers = Vec::new();
    for (place, permits) in world.permits.iter().enumerate() {
        for (number, permit) in permits.iter().enumerate() {
            let (me, here) = (WorkerId(number as u32), world.at(PlaceId(place as u32)));
            let worker = Worker::new(&world.teams[place], me, here, &control, ());
            workers.push((worker, Step::Served, permit));
        }
    }
    while workers.iter().any(|(_, last, _)| *last != Step::Ended) {
        let mut may_continue = false;
        for (worker, last, permit) in &mut workers {
            let may_run = match last {
                Step::Ended => false,
                Step::Parked => permit.swap(false, SeqCst),
                _ => true,
            };
            if may_run {
                *last = worker.step();
                may_continue = true;
            }
        }
        if !may_continue {
            hang();
        }
    }
    let accounts = workers.into_iter().map(|(worker, ..)| worker.close());
    let accounts: Vec<_> = accounts.collect();
    let mut done = Done::default();
    collect(world.teams, config, accounts, &mut done);
    done
}

pub(super) fn broken() -> Vec<Broken> {
    use Fault::*;
    let faults = [
        LosesReports,
        DoublesReports,
        LosesRequests,
        LosesAnswers,
        EmptiesAnswers,
        DoublesAnswers,
        LosesLoot,
        DoublesLoot,
        RepeatsLoot,
        MisdirectsLoot,
        MisdirectsAnswers,
        Anonymous,
        EndsEarly,
        Forgetful,
    ];
    let broken = |fault| {
        let offer = Offer {
            places: &[2, 3],
            workers: &[1],
            fairness: &[Fairness::Inline],
        };
        let judge = move || balances(offer, move |config, tree| run(Some(fault), config, tree));
        Broken::new(("messages between places", "balances"), fault, judge)
    };
    faults.map(broken).into()
}
