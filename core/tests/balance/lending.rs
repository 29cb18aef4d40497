//! Requests of another rank while all workers of a rank are in long tasks.

use super::across::{Mail, Wire};
use super::crew::{Crew, attend, run_on, wait_until};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::Rank;
use tautline_core::balance::Across;
use tautline_core::glb::{Bag, Config, Run, Share, Steal};
use tautline_core::port::{Bell, Link, Lost, Spin};
use tautline_core::task::Pool;
use tautline_core::wire::Exchange;

const UNITS: usize = 64;

/// The time limit of a wait. Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// The positions of a parcel's body and kind, and the kind of messages.
const HEAD: usize = 16;
const KIND_AT: usize = 12;
const MESSAGE: u8 = 2;
/// The first bytes of the body of an answer to a request; whether it has loot follows.
const ANSWER: [u8; 2] = [0, 1];

/// The end for which the ranks wait.
struct Scene {
    workers: usize,
    /// Workers of rank 0 that are in their long task.
    busy: AtomicUsize,
    /// Whether an answer has come to rank 1, without and with loot.
    answered: [AtomicBool; 2],
    /// Whether a long task was given up.
    is_late: AtomicBool,
}

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

#[derive(Serialize, Deserialize)]
struct Units(usize);

impl Bag for Units {
    type Shared = (Rank, Arc<Scene>);
    type Output = ();

    fn process(&mut self, n: usize, (rank, scene): &Self::Shared) -> usize {
        let calls = CALLS.replace(CALLS.get() + 1);
        let are_busy = || scene.busy.load(SeqCst) >= scene.workers;
        if *rank == Rank(1) {
            wait_until("all workers of rank 0 in long tasks", are_busy);
        } else if calls == 1 {
            // In the first turn of a worker the request recorded before the start was served; in
            // its second one it has set aside more.
            scene.busy.fetch_add(1, SeqCst);
            let deadline = Instant::now() + PATIENCE;
            while !scene.answered.iter().any(|any| any.load(SeqCst)) {
                if Instant::now() > deadline {
                    scene.is_late.store(true, SeqCst);
                    break;
                }
                thread::yield_now();
            }
        }
        let done = n.min(self.0);
        self.0 -= done;
        done
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.0);
        self.0 -= taken;
        (taken > 0).then_some(Self(taken))
    }

    fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }

    fn len(&self) -> usize {
        self.0
    }

    fn submit(self, (): &mut ()) {}
}

/// Notes the answers that arrive.
struct Watched(Wire, Arc<Scene>);

impl Link for Watched {
    fn here(&self) -> Rank {
        self.0.here()
    }

    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.0.bell()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.0.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let Self(wire, scene) = self;
        let here = wire.here();
        wire.poll(&mut |from, parcel| {
            if here == Rank(1) && parcel[KIND_AT] == MESSAGE && parcel[HEAD..].starts_with(&ANSWER)
            {
                let has_loot = parcel[HEAD + ANSWER.len()];
                scene.answered[usize::from(has_loot)].store(true, SeqCst);
            }
            take(from, parcel);
        })
    }

    fn unsent(&self, to: Rank) -> usize {
        self.0.unsent(to)
    }
}

/// Runs one rank, with a thread that communicates, in addition to its workers, until both have
/// `ended`.
fn rank(link: Watched, tries: usize, ended: &AtomicUsize) -> Run<()> {
    let (here, scene) = (link.here(), Arc::clone(&link.1));
    let (workers, exchange) = (scene.workers, &Exchange::new(link, Spin));
    let pool = &Pool::new(Crew::new(workers), workers);
    thread::scope(|threads| {
        threads.spawn(|| {
            while ended.load(SeqCst) < 2 {
                exchange.turn().unwrap();
                exchange.nudge();
                thread::yield_now();
            }
        });
        (1..workers as u32).for_each(|worker| drop(threads.spawn(move || attend(pool, worker))));
        let config = Config {
            workers,
            random_steals: tries,
            steal: Steal::Count(3),
            grain: 1.into(),
            ..Config::default()
        };
        let site = Location::caller();
        let across = Across { exchange, site };
        let run = run_on(pool, |cx| {
            let shared = |_| (here, Arc::clone(&scene));
            let balancer = cx.balancer().config(config);
            balancer.across(&across, Units(UNITS), shared, ())
        });
        ended.fetch_add(1, SeqCst);
        pool.close();
        run.unwrap()
    })
}

/// Chatterjee, acceptance fact 26: a request of another rank is answered while all workers are in
/// long tasks, which last until the answer has come: with what they have set aside, or with nothing
/// if a worker is alone and sets nothing aside.
#[test]
fn a_request_is_answered_during_long_tasks() {
    for (workers, tries) in [(2, 0), (2, 1), (3, 1), (1, 0), (1, 1)] {
        let (mail, ended) = (Mail::default(), AtomicUsize::new(0));
        let scene = Arc::new(Scene {
            workers,
            busy: AtomicUsize::new(0),
            answered: Default::default(),
            is_late: AtomicBool::new(false),
        });
        let runs = thread::scope(|threads| {
            let start = |here| {
                let link = Watched(Wire(here, mail.clone()), Arc::clone(&scene));
                let ended = &ended;
                threads.spawn(move || rank(link, tries, ended))
            };
            [0, 1].map(start).map(|rank| rank.join().unwrap())
        });
        let [_, with_loot] = &scene.answered;
        let setting = format!("{workers} workers, {tries} tries");
        assert!(!scene.is_late.load(SeqCst), "{setting}: no answer");
        assert!(workers == 1 || with_loot.load(SeqCst), "{setting}: no loot");
        let done: u64 = runs[0].places.iter().map(|place| place.tally.tasks).sum();
        assert_eq!(done, UNITS as u64, "{setting}");
    }
}
