//! Tasks that are bound to a domain: no worker below it parks without having observed them.

use super::machine::{Cell, Cxt, Machine, with_others_of};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline_core::WorkerId;
use tautline_core::hierarchy::{Domain, Hierarchy, Kind, Spec};
use tautline_core::port::Park;
use tautline_core::task::{Outside, Pool};
use tautline_verify::model::Model;

/// Creates a pool with this number of leaves under the root, and workers per leaf.
pub(crate) fn pool(leaves: u32, workers: u32, outside: Outside) -> Pool<Machine> {
    let leaf = Spec::new(Kind::Cache).copies(leaves).workers(workers);
    let tree: Hierarchy = Spec::new(Kind::Memory).child(leaf).build().unwrap();
    let seats = tree.workers();
    Pool::on(
        Machine::new(seats as usize),
        tree,
        (0..seats).collect(),
        outside,
    )
}

/// Binds a task to the other worker only, which may be about to park.
fn bind(outside: Outside) {
    let cell = Cell::default();
    let ran = with_others_of(pool(2, 1, outside), |cx| {
        cx.scope(|cx| {
            cx.spawn_in(Domain(2), |cx| {
                assert_eq!(cx.worker(), WorkerId(1));
                cell.set(1);
            });
        });
        cell.get()
    });
    assert_eq!(ran.unwrap(), 1);
}

#[test]
fn placed_deque() {
    Model::new("placed_deque")
        .bound(1)
        .floor(73_000)
        .check(|| bind(Outside::Deque));
}

#[test]
fn placed_inbox() {
    Model::new("placed_inbox")
        .bound(1)
        .floor(44_000)
        .check(|| bind(Outside::Inbox));
}

/// A worker on standby is woken for a task that only it may run.
#[test]
fn placed_apart() {
    Model::new("placed_apart")
        .bound(2)
        .floor(110_000)
        .check(|| {
            let pool = pool(2, 1, Outside::Deque);
            pool.want(1);
            // Consumes the permit from that, so that its first park blocks.
            pool.port().park(WorkerId(1));
            let cell = Cell::default();
            let ran = with_others_of(pool, |cx| {
                cx.scope(|cx| cx.spawn_in(Domain(2), |_| cell.set(1)));
                cell.get()
            });
            assert_eq!(ran.unwrap(), 1);
        });
}

/// Two workers of a leaf: the one that bound it and waits, and a thief.
#[test]
fn placed_shared() {
    let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let seen = Arc::clone(&counts);
    Model::new("placed_shared")
        .bound(2)
        .floor(195_000)
        .check(move || {
            let (cell, stolen) = (Cell::default(), AtomicUsize::new(0));
            let ran = with_others_of(pool(1, 2, Outside::Deque), |cx| {
                cx.scope(|cx| {
                    cx.spawn_in(Domain(1), |cx: &mut Cxt<'_, '_>| {
                        cell.set(1);
                        stolen.store(cx.worker().index(), Relaxed);
                    });
                });
                cell.get()
            });
            assert_eq!(ran.unwrap(), 1);
            counts[stolen.load(Relaxed)].fetch_add(1, Relaxed);
        });
    assert!(seen.iter().all(|count| count.load(Relaxed) > 0), "{seen:?}");
}
