//! The port of a pool against the conformance suites.

use super::port::Node;
use crate::machine::{Machine, pin};
use tautline_conform::{Threads, fences, keeps_time, parks, seats, ticks, unwinds};
use tautline_core::WorkerId;
use tautline_core::port::Thread;

fn node() -> Node {
    Node::new(2, None)
}

fn seat(port: &Node, worker: Option<WorkerId>) {
    // SAFETY: there is no pool.
    unsafe { port.set_current(worker) }
}

#[test]
fn threads_park() {
    parks(&Threads, node, seat);
}

#[test]
fn threads_know_their_worker() {
    seats(&Threads, node, seat);
}

#[test]
fn fences_order_pinned_threads() {
    let machine = Machine::discover();
    let cpus = machine.cpus();
    let rounds = fences(&Threads, node(), move |thread| {
        pin(cpus[thread % cpus.len()]);
    });
    println!("{rounds} rounds");
}

#[cfg(feature = "deep-recursion")]
mod stack {
    #[test]
    fn grows() {
        tautline_conform::grows(&super::node(), super::seat, 200 << 20);
    }
}

#[test]
fn the_clock_keeps_time() {
    ticks(&node(), std::hint::spin_loop);
    keeps_time(&Threads, &node());
}

#[test]
fn panics_are_caught() {
    unwinds(&node(), |payload| payload.downcast_ref::<String>().cloned());
}
