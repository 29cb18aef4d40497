//! Balanced computations over ranks, inside scopes that are cancelled.

use serde::{Deserialize, Serialize};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;
use tautline_core::Rank;
use tautline_core::balance::{Across, Left, RankError};
use tautline_core::finish::Reason;
use tautline_core::glb::{Bag, Config, Share};
use tautline_core::port::Spin;
use tautline_core::task::Cancelled;
use tautline_core::wire::Exchange;
use tautline_node::Loopback;
use tautline_node::pool::{Plan, Threads};

/// Long enough for a loaded machine. A wait that nothing ends takes longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time between two nudges, in nanoseconds.
const NUDGE: u64 = 10_000_000;

/// One task, which other ranks cannot take.
#[derive(Debug, Serialize, Deserialize)]
struct One {
    /// Whether it is never done.
    is_endless: bool,
    left: usize,
}

impl Bag for One {
    type Shared = ();
    type Output = ();

    fn process(&mut self, n: usize, (): &()) -> usize {
        thread::yield_now();
        let done = n.min(self.left);
        self.left -= if self.is_endless { 0 } else { done };
        done
    }

    fn split(&mut self, _: Share) -> Option<Self> {
        None
    }

    fn merge(&mut self, other: Self) {
        self.left += other.left;
    }

    fn len(&self) -> usize {
        self.left
    }

    fn submit(self, (): &mut ()) {}
}

type Outcome = Result<(), RankError>;

/// Computes as the rank of `link`, with one worker, inside a scope that is cancelled at once if
/// `is_cancelled`.
fn rank(link: Loopback, is_endless: bool, is_cancelled: bool) -> Receiver<Outcome> {
    let (put, got) = channel();
    thread::spawn(move || {
        let exchange = Arc::new(Exchange::new(link, Spin));
        let ends = Arc::new(AtomicBool::new(false));
        let (carried, until) = (Arc::clone(&exchange), Arc::clone(&ends));
        let carrier = thread::spawn(move || {
            while !until.load(SeqCst) && carried.wait(NUDGE).is_ok() {
                carried.nudge();
            }
            while carried.leave() == Ok(false) {}
        });
        let threads = Threads::start(&Plan::flat(1));
        let across = Across {
            exchange: &*exchange,
            site: Location::caller(),
        };
        let bag = One {
            is_endless,
            left: 1,
        };
        let mut outcome = Ok(());
        let scope = threads.run(|cx| {
            cx.finish(|cx| {
                if is_cancelled {
                    cx.cancel(Reason::Found);
                }
                let balancer = cx.balancer().config(Config::default());
                outcome = balancer.across(&across, bag, |_| (), ()).map(|_| ());
            })
        });
        assert_eq!(scope.is_err(), is_cancelled);
        put.send(outcome).expect("the test waits");
        ends.store(true, SeqCst);
        exchange.wake();
        carrier.join().expect("the link works");
    });
    got
}

#[test]
fn a_scope_that_is_cancelled_ends_a_rank_whose_workers_sleep() {
    let [zero, one] = Loopback::all::<2>();
    let zero = rank(zero, true, false);
    let one = rank(one, true, true);
    let reason = Reason::Found;
    let here = one
        .recv_timeout(PATIENCE)
        .expect("no worker has to work for it");
    assert_eq!(here, Err(RankError::Cancelled(Cancelled { reason })));
    let there = zero.recv_timeout(PATIENCE).expect("it is notified");
    let why = Left::Cancelled(reason);
    assert_eq!(there, Err(RankError::Abandoned { from: Rank(1), why }));
}

/// The other rank neither takes part nor leaves.
#[test]
fn a_scope_that_is_cancelled_ends_the_wait_for_the_result() {
    let [zero, _silent] = Loopback::all::<2>();
    let zero = rank(zero, false, true);
    let reason = Reason::Found;
    let here = zero
        .recv_timeout(PATIENCE)
        .expect("no other rank has to answer");
    assert_eq!(here, Err(RankError::Cancelled(Cancelled { reason })));
}
