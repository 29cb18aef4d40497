//! Messages between places in one process: a right transport, and each with a fault.

use super::catches;
use super::driver::{Scene, World};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::{mem, thread};
use tautline_core::glb::{Account, Bag, Config, Fairness, Message, Step, Worker, collect};
use tautline_core::{PlaceId, WorkerId};
use tautline_verify::conform::{Done, Offer, Tree, balances};

/// What a [`Wire`] does wrong, with each message of the kind unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    LosesReports,
    DoublesReports,
    LosesRequests,
    LosesAnswers,
    /// Answers arrive without their loot.
    EmptiesAnswers,
    /// Answers arrive with their loot twice.
    DoublesAnswers,
    LosesLoot,
    /// Loot arrives twice in one message.
    DoublesLoot,
    /// The message arrives twice.
    RepeatsLoot,
    MisdirectsLoot,
    MisdirectsAnswers,
    /// Messages arrive as if their receiver had sent them.
    Anonymous,
    /// The computation is ended by the first report.
    EndsEarly,
    /// One message of ten is lost.
    Forgetful,
}

/// What carries the messages of one computation.
struct Wire {
    fault: Fault,
    places: u32,
    /// Messages sent so far.
    sent: AtomicUsize,
}

/// Returns the tasks of `loot`, twice.
fn twice(mut loot: Tree) -> Tree {
    loot.merge(loot.clone());
    loot
}

impl Scene for Wire {
    type Bag = Tree;

    fn carry(world: &World<Self>, from: PlaceId, to: PlaceId, message: Message<Tree>) {
        let wire = &world.scene;
        let count = 1 + wire.sent.fetch_add(1, SeqCst);
        let next = PlaceId((to.0 + 1) % wire.places);
        let (from, to, message) = match (wire.fault, message) {
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
                world.hand(from, to, message.clone());
                (from, to, message)
            }
            (Fault::EndsEarly, message @ Message::Report(_)) => {
                world.close();
                (from, to, message)
            }
            (_, message) => (from, to, message),
        };
        world.hand(from, to, message);
    }
}

/// All workers are parked, and would be for ever on threads: this one is, too.
fn hang() -> ! {
    loop {
        thread::park();
    }
}

/// Runs `bag` from the home to the end on this thread: the workers step in turn, so that a fault has the same effect in
/// each run.
fn in_turn(world: &World<Wire>, bag: Tree) -> Vec<Account<()>> {
    world.teams[0].begin(bag, &world.at(PlaceId::HOME));
    let mut workers = Vec::new();
    for (place, permits) in world.permits.iter().enumerate() {
        for (number, permit) in permits.iter().enumerate() {
            let (me, here) = (WorkerId(number as u32), world.at(PlaceId(place as u32)));
            let worker = Worker::new(&world.teams[place], me, here, &world.control, ());
            workers.push((worker, Step::Served, permit));
        }
    }
    while workers.iter().any(|(_, last, _)| *last != Step::Ended) {
        let mut may_continue = false;
        for (worker, last, permit) in &mut workers {
            let may_run = match last {
                Step::Ended => false,
                Step::Parked => mem::take(&mut *permit.given.lock().unwrap()),
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
    accounts.collect()
}

/// Runs `tree` on places whose messages have this fault, by `work`.
fn run(
    fault: Fault,
    work: impl Fn(&World<Wire>, Tree) -> Vec<Account<()>>,
    config: &Config,
    tree: Tree,
) -> Done {
    let places = config.places;
    let sent = AtomicUsize::new(0);
    let wire = Wire {
        fault,
        places,
        sent,
    };
    let world = World::of(wire, config, places, || ());
    let accounts = work(&world, tree);
    let mut done = Done::default();
    collect(world.teams, config, accounts, &mut done);
    done
}

#[test]
fn teams_over_a_right_transport_conform() {
    let offer = Offer {
        places: &[1, 2, 3, 5],
        workers: &[1, 2],
        fairness: &[Fairness::Inline, Fairness::OneCoreFree],
    };
    balances(offer, |config, tree| {
        run(Fault::Nothing, World::work, config, tree)
    });
    balances(offer, |config, tree| {
        run(Fault::Nothing, in_turn, config, tree)
    });
}

#[test]
fn messages_that_go_wrong_are_seen() {
    use Fault::*;
    let offer = Offer {
        places: &[2, 3],
        workers: &[1],
        fairness: &[Fairness::Inline],
    };
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
    // At the same time, since some are seen by a computation that does not end.
    thread::scope(|scope| {
        for fault in faults {
            let suite =
                move || balances(offer, move |config, tree| run(fault, in_turn, config, tree));
            scope.spawn(move || catches(&format!("{fault:?}"), suite));
        }
    });
}
