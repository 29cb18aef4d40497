//! The conformance suites on a board whose harts are threads.
//!
//! The suite `unwinds` does not apply. It requires `catch` to return the payload of a panic, but
//! here the payload is `Infallible`: `catch` calls its body, and the panic handler ends the board.
//! On the host a panic would unwind through `catch`, so no task of these tests may panic.

mod board;
#[path = "board/pool.rs"]
mod pool;

use board::be;
use pool::on_pool;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use tautline_conform::{
    Done, Offer, Threads, balances, blocks, fences, grows, keeps_time, meets, parks, seats, ticks,
};
use tautline_core::WorkerId;
use tautline_core::glb::Fairness;
use tautline_core::port::Thread;
use tautline_manycore::Manycore;

type Chip = Manycore<board::Threads>;

const HARTS: usize = 64;

fn chip() -> Chip {
    Manycore::new(board::Threads::new(HARTS), HARTS, 2)
}

thread_local! {
    static IS_HART: Cell<bool> = const { Cell::new(false) };
}

/// Makes the calling thread a hart of its own.
fn be_a_hart() {
    static HART: AtomicUsize = AtomicUsize::new(0);
    if !IS_HART.replace(true) {
        let hart = HART.fetch_add(1, Ordering::Relaxed);
        assert!(hart < HARTS, "more threads than harts");
        be(hart);
    }
}

fn seat(port: &Chip, worker: Option<WorkerId>) {
    be_a_hart();
    // SAFETY: there is no pool.
    unsafe { port.set_current(worker) }
}

#[test]
fn harts_park() {
    parks(&Threads, chip, seat);
}

#[test]
fn harts_know_their_worker() {
    be_a_hart();
    grows(&chip(), seat, 1 << 20);
    seats(&Threads, chip, seat);
}

#[test]
fn the_clock_keeps_time() {
    ticks(&chip(), std::hint::spin_loop);
    keeps_time(&Threads, &chip());
}

#[test]
fn fences_order_the_harts() {
    assert!(fences(&Threads, chip(), be) > 0);
}

#[test]
fn lines_meet() {
    let pass = |number, body: &mut dyn FnMut()| {
        be(number);
        body();
    };
    meets(&Threads, chip(), 4, pass);
    blocks(&Threads, chip(), 4, pass);
}

/// One chip is one place; a hart for each of the balancer's threads.
#[test]
fn harts_of_one_place_balance() {
    let offer = Offer {
        places: &[1],
        workers: &[1, 2, 3, 4],
        fairness: &[
            Fairness::Inline,
            Fairness::Yield,
            Fairness::OneCoreFree,
            Fairness::Never,
        ],
    };
    balances(offer, |config, tree| {
        on_pool(config.all_threads(), |cx| {
            let run = cx
                .balancer()
                .config(*config)
                .run(tree, |_| (), Done::default());
            run.expect("no scope around it is cancelled").output
        })
    });
}
