//! The balancer's workers, turn by turn.
//!
//! No test waits for a time: a turn lasts until the event that must coincide with it has happened.

#[path = "glb/driver.rs"]
mod driver;
#[path = "glb/late.rs"]
mod late;
#[path = "glb/refused.rs"]
mod refused;
#[path = "glb/world.rs"]
mod world;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use tautline_core::glb::{Config, Fairness, Message, Share, Steal};
use tautline_core::lifeline::Graph;
use tautline_core::{PlaceId, WorkerId};
use world::{Hooks, World, note, notes_of, seat, wait_until};

const ASK: Message<world::Units> = Message::Request { lifeline: false };

/// The home and one other place.
fn two_places(workers: usize, fairness: Fairness) -> Config {
    Config {
        places: 2,
        workers,
        random_steals: 0,
        lifelines: Graph::Ring,
        grain: 1.into(),
        fairness,
        ..Config::default()
    }
}

/// Saraswat, acceptance fact 6: the steal handler and distribute, case by
/// case: half; k; k/2 where k would leave nothing; none where even that would; equal rations.
#[test]
fn shares_are_those_of_the_handler() {
    let half = |len| Share::Half.of(len);
    assert_eq!([0, 1, 2, 3, 10, 11].map(half), [0, 0, 1, 1, 5, 5]);
    for (k, len, taken) in [
        (7, 0, 0),
        (7, 3, 0),
        (7, 4, 3),
        (7, 7, 3),
        (7, 8, 7),
        (7, 100, 7),
        (1, 0, 0),
        (1, 1, 0),
        (1, 2, 1),
        (2, 1, 0),
        (2, 2, 1),
        (3, 2, 1),
    ] {
        assert_eq!(Share::Count(k).of(len), taken, "{k} of {len}");
    }
    for (thieves, len, taken) in [
        (1, 2, 0),
        (1, 3, 1),
        (1, 10, 5),
        (3, 100, 25),
        (9, 5, 1),
        (9, 3, 1),
        (0, 10, 10),
    ] {
        assert_eq!(
            Share::Ration(thieves).of(len),
            taken,
            "{thieves} thieves, {len} tasks"
        );
    }
    assert_eq!(Share::from(Steal::Half), Share::Half);
    assert_eq!(Share::from(Steal::Count(7)), Share::Count(7));
}

/// A share that leaves nothing, or exceeds the bag, would break every bag.
#[test]
fn a_share_leaves_something() {
    for len in 0..50 {
        let counts = (1..60).map(Share::Count);
        let rations = (1..60).map(Share::Ration);
        for share in counts.chain(rations).chain([Share::Half]) {
            assert!(share.of(len) == 0 || share.of(len) < len, "{share:?} {len}");
        }
    }
}

/// The first turn of [`a_turn_keeps_its_order`], from 64 units.
const TURN: [&str; 13] = [
    // The message is present before the turn, so it is passed on to the idle worker.
    "wake 1",
    // 1 Grow.
    "split Half: 32",
    "wake 1",
    // 2 and 3: feed intra (units 32 to 47) and inter (48 to 54).
    "split Half: 16",
    "split Count(7): 7",
    // 4 Answer: the two thieves recorded before the start share the contents of inter.
    "split Ration(1): 3",
    "give 1",
    "give 2",
    // 5 Yield: the waiting message is served, from the own bag as inter is empty.
    "split Count(7): 7",
    "answer 2",
    // 6 Work: the remaining units.
    "work 2",
    // 7 Dry: half of intra.
    "split Refill: 8",
    "merge [32, 33, 34, 35, 36, 37, 38, 39]",
];

/// Finnerty, acceptance fact 5: a turn is grow, feed intra, feed inter, answer, yield, work; a dry
/// worker takes from intra before inter, and leaves when both are empty.
#[test]
fn a_turn_keeps_its_order() {
    let config = Config {
        places: 3,
        workers: 2,
        lifelines: Graph::Full,
        steal: Steal::Count(7),
        ..two_places(2, Fairness::Inline)
    };
    let hooks = Hooks {
        turn: Box::new(|_, bag| {
            note(|| format!("work {}", bag.0.len()));
            Some(bag.0.len())
        }),
        sent: Box::new(|_, _, to, message| {
            let kind = match message {
                Message::Request { .. } => "ask",
                Message::Answer(_) => "answer",
                Message::Loot(_) => "give",
                Message::Report(_) => "report",
                Message::Bound(_) => "bound",
            };
            note(|| format!("{kind} {}", to.0));
        }),
        // The other worker has no thread: when this one parks, all events have happened.
        parks: Box::new(|world, _, _| {
            note(|| "leave".into());
            world.close();
        }),
        ..Hooks::default()
    };
    let world = World::new(&config, 1, hooks);
    world.deliver(PlaceId(2), ASK);
    world.teams[0].begin(world::Units((0..64).collect()), &world.at(PlaceId(0)));
    let notes = notes_of(|| {
        world.attend(PlaceId(0), WorkerId(0));
    });
    assert_eq!(notes[..TURN.len()], TURN);
    // Dry after every grain: half of intra until it is empty, then half of inter, which later turns
    // feed again, until it is empty; then leave.
    let taken = notes.iter().filter(|line| line.starts_with("merge"));
    let first: Vec<_> = taken.map(|line| &line[7..9]).collect();
    assert_eq!(first.join(" "), "32 40 44 46 47 32 32 35 35 37 38");
    let dry = notes.iter().position(|line| line == "leave").unwrap();
    assert_eq!(
        notes[dry - 2..dry],
        ["merge [38]", "work 1"],
        "both reserves are empty"
    );
}

/// Finnerty, acceptance fact 6; Saraswat, acceptance fact 7 in part: requests are sent only when
/// every worker of the place is dry: nothing in a bag, in a slot or in a reserve.
#[test]
fn only_a_dry_place_asks() {
    const ANSWERS: usize = 5;
    const LOOT: usize = 50;
    let [asked, given] = [const { AtomicUsize::new(0) }; 2].map(Arc::new);
    let hooks = Hooks {
        sent: Box::new({
            let (asked, given) = (Arc::clone(&asked), Arc::clone(&given));
            move |world, _, _, message| match message {
                Message::Request { lifeline } => {
                    let before = asked.fetch_add(1, SeqCst);
                    let came = 300 + LOOT * before.min(ANSWERS);
                    let gone = world.scene.done.load(SeqCst) + given.load(SeqCst);
                    assert_eq!(gone, came, "sent a request with work left");
                    assert_eq!(*lifeline, before > ANSWERS, "random first");
                }
                Message::Loot(loot) | Message::Answer(Some(loot)) => {
                    given.fetch_add(loot.0.len(), SeqCst);
                }
                _ => {}
            }
        }),
        ..Hooks::default()
    };
    let config = Config {
        random_steals: 1,
        ..two_places(3, Fairness::Inline)
    };
    let world = World::new(&config, 1, hooks);
    let answer = || world::Units((0..LOOT as u32).collect());
    *world.scene.answers.lock().unwrap() = (0..ANSWERS).map(|_| answer()).collect();
    world.run(300);
    assert_eq!(asked.load(SeqCst), ANSWERS + 2);
}

/// Finnerty, acceptance fact 8: every running worker starts another one in each turn, so 2^i run
/// before the i-th grain is done, and never more than the maximum, also where a place has a thread
/// more.
#[test]
fn workers_double_every_turn() {
    const WORKERS: usize = 8;
    for (workers, fairness, threads) in [
        (WORKERS, Fairness::Inline, WORKERS),
        (WORKERS, Fairness::Yield, WORKERS + 1),
        (WORKERS + 1, Fairness::OneCoreFree, WORKERS + 1),
    ] {
        let started: Arc<Mutex<HashSet<WorkerId>>> = Arc::default();
        let [live, most] = [const { AtomicUsize::new(0) }; 2].map(Arc::new);
        let hooks = Hooks {
            turn: Box::new({
                let (started, live) = (Arc::clone(&started), Arc::clone(&live));
                let most = Arc::clone(&most);
                let turns: [AtomicUsize; WORKERS + 1] = Default::default();
                move |_, _| {
                    let me = seat().1;
                    most.fetch_max(1 + live.fetch_add(1, SeqCst), SeqCst);
                    started.lock().unwrap().insert(me);
                    let turn = 1 + turns[me.index()].fetch_add(1, SeqCst);
                    let due = (1 << turn.min(3)).min(WORKERS);
                    wait_until("twice as many workers", || {
                        started.lock().unwrap().len() >= due
                    });
                    live.fetch_sub(1, SeqCst);
                    None
                }
            }),
            ..Hooks::default()
        };
        let config = Config {
            places: 1,
            ..two_places(workers, fairness)
        };
        let world = World::new(&config, 1, hooks);
        assert_eq!(config.all_threads(), threads);
        assert_eq!(world.run(10_000), 10_000);
        assert_eq!(started.lock().unwrap().len(), WORKERS);
        let most = most.load(SeqCst);
        assert!(
            (2..=WORKERS).contains(&most),
            "{most} at once, {fairness:?}"
        );
    }
}

/// A hook that records in `word` whether the home's server thread, its second thread, is parked.
fn is_server_parked(word: &Arc<AtomicUsize>, now: usize) -> Box<world::Seat> {
    let word = Arc::clone(word);
    Box::new(move |_, place, worker| {
        if (place, worker) == (PlaceId::HOME, WorkerId(1)) {
            word.store(now, SeqCst);
        }
    })
}

/// Finnerty, acceptance fact 11; Saraswat, acceptance fact 7: loot restarts a quiet place
/// repeatedly under the one finish, whose end is detected once, after the last unit; and there are
/// no more reports than activities.
#[test]
fn loot_restarts_a_quiet_place() {
    const RESTARTS: usize = 5;
    let [reports, loots, asleep] = [const { AtomicUsize::new(0) }; 3].map(Arc::new);
    let hooks = Hooks {
        turn: Box::new({
            let (reports, loots) = (Arc::clone(&reports), Arc::clone(&loots));
            let asleep = Arc::clone(&asleep);
            move |_, _| {
                if seat().0 == PlaceId::HOME {
                    // A turn lasts until the other place has processed its loot and is quiet, and
                    // the server thread, which has recorded that, is parked.
                    let given = loots.load(SeqCst);
                    wait_until("quiet again", || reports.load(SeqCst) >= given);
                    wait_until("the server thread parks", || asleep.load(SeqCst) == 1);
                }
                None
            }
        }),
        sent: Box::new({
            let (reports, loots) = (Arc::clone(&reports), Arc::clone(&loots));
            move |world, from, _, message| {
                assert_eq!(world.closes.load(SeqCst), 0, "a message after the end");
                match message {
                    Message::Report(_) => {
                        assert_ne!(from, PlaceId::HOME, "the home reports to itself");
                        reports.fetch_add(1, SeqCst);
                    }
                    Message::Loot(_) => {
                        loots.fetch_add(1, SeqCst);
                    }
                    _ => {}
                }
            }
        }),
        parks: is_server_parked(&asleep, 1),
        wakes: is_server_parked(&asleep, 0),
    };
    // The server thread answers while the home's worker is in its turn.
    let world = World::new(&two_places(2, Fairness::OneCoreFree), 2, hooks);
    assert_eq!(world.run(2000), 2000);
    assert_eq!(world.closes.load(SeqCst), 1);
    let (reports, loots) = (reports.load(SeqCst), loots.load(SeqCst));
    assert!(
        reports >= RESTARTS && reports <= loots,
        "{reports} reports, {loots} loots"
    );
}

/// Returns the number of grains that the home's only worker began while a request, sent during its
/// fifth, waited for its answer; and the number of all its grains.
fn grains_while_waiting(fairness: Fairness) -> (usize, usize) {
    const ASKED_IN: usize = 5;
    let [grains, answered_in, asleep] = [const { AtomicUsize::new(0) }; 3].map(Arc::new);
    let has_server = matches!(fairness, Fairness::Yield | Fairness::OneCoreFree);
    let hooks = Hooks {
        turn: Box::new({
            let (grains, answered_in) = (Arc::clone(&grains), Arc::clone(&answered_in));
            let asleep = Arc::clone(&asleep);
            move |world, _| {
                if 1 + grains.fetch_add(1, SeqCst) == ASKED_IN {
                    let idle = || !has_server || asleep.load(SeqCst) == 1;
                    wait_until("nothing else is being served", idle);
                    world.deliver(PlaceId(1), ASK);
                    if fairness == Fairness::OneCoreFree {
                        wait_until("answered", || answered_in.load(SeqCst) > 0);
                    }
                }
                None
            }
        }),
        sent: Box::new({
            let (grains, answered_in) = (Arc::clone(&grains), Arc::clone(&answered_in));
            move |_, _, _, message| {
                if let Message::Answer(_) = message {
                    answered_in.store(grains.load(SeqCst), SeqCst);
                }
            }
        }),
        parks: is_server_parked(&asleep, 1),
        wakes: is_server_parked(&asleep, 0),
    };
    let workers = if fairness == Fairness::OneCoreFree {
        2
    } else {
        1
    };
    World::new(&two_places(workers, fairness), 1, hooks).run(100);
    let (grains, answered_in) = (grains.load(SeqCst), answered_in.load(SeqCst));
    assert!(answered_in >= ASKED_IN, "{answered_in}");
    (answered_in - ASKED_IN, grains - ASKED_IN)
}

/// Finnerty, acceptance fact 12, for any duration of a grain: with all workers busy a request is
/// served before the worker begins another grain, by a server thread even during the grain; in the
/// mode for comparison it waits until the worker has ended.
#[test]
fn a_request_waits_for_one_grain() {
    for fairness in [Fairness::Inline, Fairness::Yield, Fairness::OneCoreFree] {
        let (waited, more) = grains_while_waiting(fairness);
        assert!(more > 5, "{fairness:?}: the worker was not busy");
        assert_eq!(waited, 0, "{fairness:?}");
    }
    let (waited, more) = grains_while_waiting(Fairness::Never);
    assert!(more > 5);
    assert_eq!(waited, more);
}

/// The state of the gate's test.
#[derive(Default)]
struct Watched {
    /// Bits of the workers that have yielded.
    parked: AtomicUsize,
    begun: AtomicUsize,
    server_is_parked: AtomicBool,
    asked: AtomicBool,
    /// Turns that the other workers did while one was parked.
    turns: AtomicUsize,
    /// Whether the worker that yielded has begun another turn.
    resumed: AtomicBool,
    served: AtomicBool,
    given_up: AtomicBool,
}

impl Watched {
    /// The turn of a worker: how much it is to process.
    fn turn(&self, world: &World, by_an_end: bool) -> Option<usize> {
        if !self.asked.load(SeqCst) {
            if self.begun.fetch_add(1, SeqCst) == 2 {
                wait_until("the server thread parks", || {
                    self.server_is_parked.load(SeqCst)
                });
                world.deliver(PlaceId(1), ASK);
                self.asked.store(true, SeqCst);
            }
            wait_until("all workers busy", || self.asked.load(SeqCst));
            return None;
        }
        if self.parked.load(SeqCst) & 1 << seat().1.0 != 0 {
            self.resumed.store(true, SeqCst);
        }
        if self.resumed.load(SeqCst) {
            return None;
        }
        // Between the message and the opening: two workers run turns while the third yields.
        if self.turns.fetch_add(1, SeqCst) < 6 {
            return None;
        }
        wait_until("one yields", || self.parked.load(SeqCst) > 0);
        if by_an_end && !self.given_up.swap(true, SeqCst) {
            // One of the two processes everything that is left, and ends.
            return Some(usize::MAX);
        }
        if !by_an_end {
            wait_until("the gate opens", || self.resumed.load(SeqCst));
        }
        Some(usize::MAX)
    }
}

/// Runs three workers and their server thread, which `by_an_end` keeps from serving until a worker
/// has ended.
fn gate(by_an_end: bool) -> Arc<Watched> {
    let watched = Arc::new(Watched::default());
    let server = WorkerId(3);
    let hooks = Hooks {
        turn: Box::new({
            let watched = Arc::clone(&watched);
            move |world, _| watched.turn(world, by_an_end)
        }),
        sent: Box::new({
            let watched = Arc::clone(&watched);
            move |_, _, _, message| {
                if let Message::Answer(_) = message {
                    watched.served.store(true, SeqCst);
                }
            }
        }),
        parks: Box::new({
            let watched = Arc::clone(&watched);
            move |_, _, worker| {
                if worker == server {
                    watched.server_is_parked.store(true, SeqCst);
                } else if watched.asked.load(SeqCst)
                    && !watched.resumed.load(SeqCst)
                    && !watched.given_up.load(SeqCst)
                {
                    watched.parked.fetch_or(1 << worker.0, SeqCst);
                }
            }
        }),
        wakes: Box::new({
            let watched = Arc::clone(&watched);
            move |_, _, worker| {
                let begun = watched.asked.load(SeqCst) && !watched.resumed.load(SeqCst);
                if worker != server || !begun {
                    return;
                }
                if by_an_end {
                    wait_until("an end opens the gate", || watched.resumed.load(SeqCst));
                } else {
                    let both = || watched.parked.load(SeqCst) > 0 && watched.turns.load(SeqCst) > 6;
                    wait_until("one yields, the others continue", both);
                }
            }
        }),
    };
    let world = World::new(&two_places(3, Fairness::Yield), 1, hooks);
    world.run(5000);
    watched
}

/// Finnerty, acceptance fact 13: at most one worker yields, while the others continue; it resumes
/// when a message has been served, or when a worker has ended.
#[test]
fn the_gate_holds_one_worker() {
    for by_an_end in [false, true] {
        let watched = gate(by_an_end);
        let parked = watched.parked.load(SeqCst);
        assert_eq!(parked.count_ones(), 1, "{by_an_end}: {parked:b}");
        assert!(watched.served.load(SeqCst), "{by_an_end}");
        assert!(watched.resumed.load(SeqCst), "{by_an_end}");
        assert!(watched.turns.load(SeqCst) > 6, "{by_an_end}");
    }
}
