//! Holds of scopes, released by plain threads.

use super::{Cx, start, wait_until};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use tautline_core::WorkerId;
use tautline_core::watch::{Awaits, State};
use tautline_node::pool::{Node, Threads};

type Hold = tautline_core::task::Hold<Node>;

const WORKERS: [usize; 2] = [1, 2];

fn sleeps(threads: &Threads, owner: WorkerId) -> bool {
    let mut workers = threads.pool().inspect();
    let owner = workers
        .find(|worker| worker.worker == owner)
        .expect("a worker");
    let waits = owner.doing.awaits == Some(Awaits::Scope);
    waits && owner.parked && owner.doing.state == Some(State::Waiting)
}

/// A thread that is no worker drops the last hold while the owner of the scope sleeps.
#[test]
fn a_plain_thread_wakes_the_owner() {
    for workers in WORKERS {
        let (threads, released) = (&start(workers), &AtomicBool::new(false));
        thread::scope(|plain| {
            for _ in 0..20 {
                released.store(false, Relaxed);
                threads.run(|cx| {
                    let owner = cx.worker();
                    cx.scope(|cx| {
                        let hold = cx.hold();
                        plain.spawn(move || {
                            wait_until("the owner sleeps", || sleeps(threads, owner));
                            released.store(true, Relaxed);
                            drop(hold);
                        });
                    });
                    assert!(released.load(Relaxed), "{workers} workers");
                });
            }
        });
    }
}

/// A hold of each of several nested scopes: each waits for its own, the innermost first.
#[test]
fn nested_scopes_wait_for_their_own_holds() {
    const DEEP: usize = 10;
    fn nest(cx: &mut Cx, to: &mpsc::Sender<Hold>, released: &AtomicUsize, left: usize) {
        if left == 0 {
            return;
        }
        cx.scope(|cx| {
            to.send(cx.hold()).unwrap();
            nest(cx, to, released, left - 1);
        });
        assert!(released.load(Relaxed) >= left, "scope {left}");
    }
    for workers in WORKERS {
        let released = &AtomicUsize::new(0);
        let (to, holds) = mpsc::channel::<Hold>();
        thread::scope(|plain| {
            plain.spawn(move || {
                let taken: Vec<_> = holds.iter().take(DEEP).collect();
                for hold in taken.into_iter().rev() {
                    released.fetch_add(1, Relaxed);
                    drop(hold);
                }
            });
            start(workers).run(|cx| nest(cx, &to, released, DEEP));
        });
        assert_eq!(released.load(Relaxed), DEEP);
    }
}

/// A hold of a scope is moved into a task of another caller's run, which drops it.
#[test]
fn a_task_of_another_scope_releases_a_hold() {
    for workers in WORKERS {
        let (threads, released) = (&start(workers), &AtomicBool::new(false));
        let (to, holds) = mpsc::channel::<Hold>();
        thread::scope(|plain| {
            plain.spawn(move || {
                let hold = holds.recv().unwrap();
                threads.run(|cx| {
                    cx.spawn(|_| {
                        released.store(true, Relaxed);
                        drop(hold);
                    });
                });
            });
            threads.run(|cx| {
                cx.scope(|cx| to.send(cx.hold()).unwrap());
                assert!(released.load(Relaxed), "{workers} workers");
            });
        });
    }
}

/// Ten thousand holds, released by four plain threads while the owner takes more, and while it
/// waits.
#[test]
fn four_threads_release_ten_thousand_holds() {
    const THREADS: usize = 4;
    const HOLDS: usize = 10_000;
    for workers in WORKERS {
        let (threads, released) = (start(workers), &AtomicUsize::new(0));
        thread::scope(|plain| {
            let senders: Vec<_> = (0..THREADS)
                .map(|_| {
                    let (to, holds) = mpsc::channel::<Hold>();
                    plain.spawn(move || {
                        for hold in holds {
                            released.fetch_add(1, Relaxed);
                            drop(hold);
                        }
                    });
                    to
                })
                .collect();
            threads.run(|cx| {
                for round in 1..=2 {
                    cx.scope(|cx| {
                        for n in 0..HOLDS {
                            senders[n % THREADS].send(cx.hold()).unwrap();
                        }
                    });
                    assert_eq!(released.load(Relaxed), round * HOLDS, "{workers} workers");
                }
            });
        });
    }
}
