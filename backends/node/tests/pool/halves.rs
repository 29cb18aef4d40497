//! Halves that wait for each other: idle workers must be able to steal a private fork.

use super::{Cx, PATIENCE, wait_until};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use tautline_core::flow::Ddf;
use tautline_core::task::Wait;
use tautline_node::pool::{Idle, Plan, Threads};

const ROUNDS: usize = 200;

/// Calls `body` in the first half of this number of nested forks.
fn inside(cx: &mut Cx, forks: usize, body: &(impl Fn(&mut Cx) + Sync)) {
    match forks {
        0 => body(cx),
        _ => _ = cx.join(|cx| inside(cx, forks - 1, body), |_| ()),
    }
}

/// Runs `body` by 2 and by 4 workers, inside up to 3 forks.
///
/// # Panics
/// If it does not end.
fn ends(what: &'static str, body: impl Fn(&mut Cx) + Sync + Send + Copy + 'static) {
    ends_with(None, what, body);
}

/// As [`ends`], by workers that do this between two searches.
fn ends_with(
    idle: Option<Idle>,
    what: &'static str,
    body: impl Fn(&mut Cx) + Sync + Send + Copy + 'static,
) {
    for workers in [2, 4] {
        let mut plan = Plan::flat(workers);
        plan.idle = idle.clone();
        let (done, ended) = mpsc::channel();
        // Not joined if it does not end: the test must.
        let runner = thread::spawn(move || {
            let threads = Threads::start(&plan);
            for round in 0..ROUNDS {
                threads.run(|cx| inside(cx, round % 4, &body));
            }
            _ = done.send(());
        });
        let outcome = ended.recv_timeout(PATIENCE);
        assert_ne!(
            outcome,
            Err(mpsc::RecvTimeoutError::Timeout),
            "{workers} workers: {what} does not end"
        );
        runner.join().unwrap();
    }
}

fn blocks_for_the_second_half(cx: &mut Cx) {
    let flag = AtomicBool::new(false);
    cx.join(
        |_| wait_until("the second half runs", || flag.load(SeqCst)),
        |_| flag.store(true, SeqCst),
    );
}

/// The first half spins until the second has run, so the owner neither pushes nor pops until then.
#[test]
fn a_first_half_may_block_for_the_second() {
    ends("a first half that blocks", blocks_for_the_second_half);
}

/// The same where idle workers always have something else to do, as those that communicate without
/// end.
#[test]
fn a_first_half_may_block_beside_workers_that_communicate() {
    let idle = Idle::new(std::time::Duration::ZERO, || true, || ());
    ends_with(
        Some(idle),
        "a first half that blocks",
        blocks_for_the_second_half,
    );
}

/// The same after a fork whose second half may have been seen by thieves, and was taken back.
#[test]
fn a_first_half_may_block_after_another_fork() {
    ends("a first half that blocks after another fork", |cx| {
        let flag = AtomicBool::new(false);
        cx.join(|_| thread::yield_now(), |_| ());
        cx.join(
            |_| wait_until("the second half runs", || flag.load(SeqCst)),
            |_| flag.store(true, SeqCst),
        );
    });
}

/// The first half waits in an isolated scope for what the second half puts. That wait must not run
/// the second half, which does not belong to its scope.
#[test]
fn an_isolated_wait_for_the_second_half_ends() {
    fn waits(cx: &mut Cx, wait: Wait) {
        let cell = Ddf::<u32>::new();
        cx.join(
            |cx| cx.scope_with(wait, |cx| cx.spawn_when(&cell, |_, _| ())),
            |_| cell.put(1).unwrap(),
        );
    }
    ends("Wait::Own", |cx| waits(cx, Wait::Own));
    ends("Wait::Park", |cx| waits(cx, Wait::Park));
}

/// Counts the calling thread, and waits until `all` have been counted.
fn meet(met: &AtomicUsize, all: usize) {
    met.fetch_add(1, SeqCst);
    wait_until("all halves run at once", || met.load(SeqCst) == all);
}

/// As many leaves as workers, nested in first halves; none ends before all have begun. The owner
/// blocks in the innermost, so every second half must be stolen while nothing is pushed or popped.
#[test]
fn every_second_half_of_a_chain_is_taken() {
    fn chain(cx: &mut Cx, forks: usize, leaf: &(impl Fn() + Sync)) {
        match forks {
            0 => leaf(),
            _ => _ = cx.join(|cx| chain(cx, forks - 1, leaf), |_| leaf()),
        }
    }
    for workers in [2, 4, 8] {
        let threads = super::start(workers);
        for _ in 0..ROUNDS {
            let met = AtomicUsize::new(0);
            threads.run(|cx| chain(cx, workers - 1, &|| meet(&met, workers)));
        }
    }
}

/// The same in a balanced tree, whose second halves fork too.
#[test]
fn every_leaf_of_a_tree_is_taken() {
    fn tree(cx: &mut Cx, leaves: usize, leaf: &(impl Fn() + Sync)) {
        match leaves {
            1 => leaf(),
            _ => {
                _ = cx.join(
                    |cx| tree(cx, leaves / 2, leaf),
                    |cx| tree(cx, leaves - leaves / 2, leaf),
                )
            }
        }
    }
    for workers in [2, 4, 8] {
        let threads = super::start(workers);
        for _ in 0..ROUNDS {
            let met = AtomicUsize::new(0);
            threads.run(|cx| tree(cx, workers, &|| meet(&met, workers)));
        }
    }
}
