//! The conformance suites, with harts as their threads.
//!
//! Hart 0 runs the suites. The others wait for work, which a suite gives to as many harts as it
//! needs, hart 0 among them.

use crate::Chip;
use crate::hart::Hart;
use alloc::string::String;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};
use tautline_conform::{
    Body, Done, Harness, Offer, balances, blocks, exchanges, fences, grows, meets, parks, seats,
    ticks,
};
use tautline_core::WorkerId;
use tautline_core::channel::Local;
use tautline_core::glb::Fairness;
use tautline_core::port::{Clock, Relax, Thread};
use tautline_core::sync::Lock;
use tautline_core::task::Pool;
use tautline_manycore::Manycore;
use tautline_manycore::virt::Virt;

/// Seconds after which work that has not ended hangs.
const TOO_LONG: u64 = 60;

/// Units of a ring.
const UNITS: usize = 64;

/// The body that the harts run, and the number of harts; `None` once the suites have ended.
static WORK: Lock<Option<(usize, Body)>> = Lock::new(None);
/// Works so far.
static WORKS: AtomicUsize = AtomicUsize::new(0);
/// Works that a hart other than the first has ended, or passed over; of all of them together.
static ENDED: AtomicUsize = AtomicUsize::new(0);

/// The harts of the board.
#[derive(Clone, Copy)]
struct Harts(&'static Chip);

impl Clock for Harts {
    fn now(&self) -> u64 {
        self.0.now()
    }

    fn ticks_per_second(&self) -> f64 {
        self.0.ticks_per_second()
    }
}

impl Relax for Harts {
    fn relax(&self, turn: u32) {
        self.0.relax(turn);
    }
}

impl Harts {
    /// Gives work to the other harts.
    fn give(self, work: Option<(usize, Body)>) {
        *WORK.lock(&self) = work;
        // ORDERING: Release, pairs with Acquire in attend: the work.
        WORKS.fetch_add(1, Ordering::Release);
    }
}

impl Harness for Harts {
    fn report(&self, step: &str) {
        Virt.say(format_args!("step: {step}\n"));
    }

    fn run(&self, what: &str, threads: usize, body: Body) {
        let harts = self.0.harts();
        assert!(threads <= harts, "{what}: {threads} threads, {harts} harts");
        self.give(Some((threads, Body::clone(&body))));
        body(0);
        let start = self.now();
        let limit = TOO_LONG * self.ticks_per_second() as u64;
        let mut turn = 0;
        // ORDERING: Relaxed: written by this hart alone.
        let all = WORKS.load(Ordering::Relaxed) * (harts - 1);
        // ORDERING: Acquire, pairs with Release in attend: what the other harts did.
        while ENDED.load(Ordering::Acquire) < all {
            assert!(self.now() - start < limit, "{what} does not end");
            self.relax(turn);
            turn = turn.saturating_add(1);
        }
    }
}

/// Runs on the harts but the first, until the suites have ended.
pub fn attend(chip: &'static Chip, hart: usize) {
    for done in 0.. {
        // ORDERING: Acquire, pairs with Release in give: the work.
        Hart { chip, hart }.wait(|| WORKS.load(Ordering::Acquire) > done);
        let work = WORK.lock(chip).clone();
        let Some((threads, body)) = work else { return };
        if hart < threads {
            body(hart);
        }
        drop(body);
        // ORDERING: Release, pairs with Acquire in run: what this hart did.
        ENDED.fetch_add(1, Ordering::Release);
    }
}

fn seat(chip: &Chip, worker: Option<WorkerId>) {
    // SAFETY: the suites make a hart a worker only while no other one is that worker.
    unsafe { chip.set_current(worker) }
}

/// Runs on the first hart.
pub fn run(chip: &'static Chip) -> String {
    let (harts, on) = (chip.harts(), Harts(chip));
    let fresh = move || Manycore::new(Virt, harts, harts);
    on.report("grows");
    grows(&fresh(), seat, 1 << 20);
    on.report("ticks");
    ticks(chip, || ());
    if harts == 1 {
        return "grows, ticks; the others need two harts".into();
    }
    parks(&on, fresh, seat);
    seats(&on, fresh, seat);
    fences(&on, fresh(), |_| ());
    meets(&on, fresh(), harts, |_, body| body());
    blocks(&on, fresh(), harts, |_, body| body());
    let ring = || {
        let ring = Arc::new(Local::new(UNITS));
        [Arc::clone(&ring), ring]
    };
    exchanges(&on, ring, fresh());
    on.give(None);
    "grows, ticks, parks, seats, fences, meets, blocks, exchanges".into()
}

/// Runs on the first hart; the others attend the pool.
pub fn balance(pool: &'static Pool<Chip>) -> String {
    let harts = pool.port().harts();
    let offer = Offer {
        places: &[1],
        workers: &[1, 2, 3],
        fairness: &[
            Fairness::Inline,
            Fairness::Yield,
            Fairness::OneCoreFree,
            Fairness::Never,
        ],
    };
    if harts < 4 {
        return "balances needs four harts".into();
    }
    balances(offer, move |config, tree| {
        let run = pool.with_seat(WorkerId(0), |seat| {
            seat.run(|cx| {
                cx.balancer()
                    .config(*config)
                    .run(tree, |_| (), Done::default())
            })
        });
        let run = run.expect("a free seat");
        run.expect("no scope around it is cancelled").output
    });
    "balances".into()
}
