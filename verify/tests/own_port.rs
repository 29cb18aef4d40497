//! The conformance suite on the port of `docs/backend.md`, which is an example.

#[path = "../../platforms/examples/own_port/port.rs"]
mod port;

use port::{Threads, run};
use tautline_core::glb::{Control, Fairness};
use tautline_core::port::Thread;
use tautline_core::task::Balance;
use tautline_conform::{Done, Offer, balances, parks, ticks, unwinds};

#[test]
fn no_wake_up_is_lost() {
    parks(
        || Threads::new(2),
        // SAFETY: the suite makes a thread a worker only while no other thread is that worker.
        |port, worker| unsafe { port.set_current(worker) },
    );
}

#[test]
fn time_passes_and_panics_are_caught() {
    let port = Threads::new(1);
    ticks(&port, || ());
    unwinds(&port, |payload| payload.downcast_ref::<String>().cloned());
}

#[test]
fn work_is_balanced() {
    let offer = Offer {
        places: &[1, 2, 3],
        workers: &[1, 2],
        fairness: &[Fairness::Inline, Fairness::Yield],
    };
    balances(offer, |config, tree| {
        let control = Control::new();
        let balance = Balance::new(*config, &control);
        let ran = run(config.all_threads(), |cx| {
            cx.balance_as(balance, tree, |_| (), Done::default())
        });
        ran.expect("no scope around it is cancelled").output
    });
}
