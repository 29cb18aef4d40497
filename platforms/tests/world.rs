//! Ranks that do not come: what is reported of them, and the limit of a wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;
use tautline::prelude::*;
use tautline::world::{self, Rank, World};

fn sum(world: &World) -> tautline::Result<u64> {
    let rt = Runtime::builder().workers(1).pinned(false).build().unwrap();
    let balancer = rt.balancer().across(world);
    balancer.sum(0..100u64, |n, _| n).map(|run| run.output)
}

/// Ranks 2 and 3 neither make the call nor end before the others have their error.
#[test]
fn a_limit_ends_the_wait_for_a_rank_that_does_not_come() {
    let ended = Barrier::new(4);
    let errors = world::loopback(4, |world| {
        world.wait_at_most(Duration::from_millis(200));
        let comes = world.rank().0 < 2;
        let error = comes.then(|| sum(world).unwrap_err().to_string());
        ended.wait();
        // A rank that comes too late gets the same error.
        error.unwrap_or_else(|| sum(world).unwrap_err().to_string())
    });
    for error in errors {
        let named = "rank 2, rank 3 have not opened it within 200.0ms";
        assert!(
            error.contains("channel 1 (balanced computation)"),
            "{error}"
        );
        assert!(error.ends_with(named), "{error}");
    }
}

/// Without a limit, the rank that is awaited is reported.
#[test]
fn the_awaited_rank_is_reported() {
    let comes = Barrier::new(2);
    let sums = world::loopback(3, |world| match world.rank() {
        Rank(0) => thread::scope(|threads| {
            let sum = threads.spawn(|| sum(world));
            // Until rank 2 has come, and is no longer among them.
            let waiting = loop {
                let waiting = world.waiting();
                match waiting {
                    Some(waiting) if waiting.ranks() == [Rank(1)] => break waiting,
                    _ => thread::yield_now(),
                }
            };
            comes.wait();
            let line = waiting.to_string();
            let start =
                "rank 0: channel 1 (balanced computation): rank 1 has not opened it within ";
            assert!(line.starts_with(start), "{line}");
            let sum = sum.join().expect("no panic");
            while world.waiting().is_some() {
                thread::yield_now();
            }
            sum
        }),
        Rank(1) => {
            comes.wait();
            sum(world)
        }
        _ => sum(world),
    });
    for sum in sums {
        assert_eq!(sum.expect("all ranks come"), 4950);
    }
}

/// A panic names the thread: it should be the rank.
#[test]
fn threads_of_ranks_have_their_names() {
    let names = world::loopback(2, |_| thread::current().name().map(String::from));
    assert_eq!(names, [Some("rank 0".into()), Some("rank 1".into())]);
}

/// Each other rank has one line: a rank that panics does not read as one that makes other calls,
/// nor one that ends because of it as lost.
#[test]
fn a_panic_of_the_program_is_named_at_the_other_ranks() {
    for ranks in [2, 3, 5, 8] {
        let errors = Mutex::new(Vec::new());
        let ended = catch_unwind(AssertUnwindSafe(|| {
            world::loopback(ranks, |world| {
                assert!(world.rank() != Rank(1), "this rank is broken");
                let error = world.barrier().unwrap_err().to_string();
                errors.lock().unwrap().push(error);
            })
        }));
        let payload = ended.unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"this rank is broken"));
        let errors = errors.into_inner().unwrap();
        assert_eq!(errors.len(), ranks as usize - 1);
        for error in errors {
            let named = ": rank 1 gave up: its program panicked";
            assert!(error.ends_with(named), "{ranks} ranks: {error}");
        }
    }
}
