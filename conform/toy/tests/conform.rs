//! The suites of a host, on the toy backend.

use tautline_conform::{
    Done, Offer, Threads, balances, fences, grows, keeps_time, parks, seats, ticks, unwinds,
};
use tautline_core::WorkerId;
use tautline_core::glb::Fairness;
use tautline_core::port::Thread;
use tautline_toy::{Node, run};

fn two() -> Node {
    Node::new(2)
}

fn seat(port: &Node, worker: Option<WorkerId>) {
    // SAFETY: the suites make a thread a worker only while no other thread is that worker.
    unsafe { port.set_current(worker) }
}

#[test]
fn the_host_conforms() {
    parks(&Threads, two, seat);
    seats(&Threads, two, seat);
    grows(&two(), seat, 1 << 20);
    fences(&Threads, two(), |_| ());
    ticks(&two(), || ());
    keeps_time(&Threads, &two());
    unwinds(&two(), |payload| payload.downcast_ref::<String>().cloned());
}

#[test]
fn work_is_balanced() {
    let offer = Offer {
        places: &[1, 2, 3],
        workers: &[1, 2],
        fairness: &[Fairness::Inline, Fairness::Yield],
    };
    balances(offer, |config, tree| {
        let ran = run(config.all_threads(), |cx| {
            cx.balancer()
                .config(*config)
                .run(tree, |_| (), Done::default())
        });
        ran.expect("no scope around it is cancelled").output
    });
}
