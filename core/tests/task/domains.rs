//! Tasks that are bound to a domain: where they run, regardless of the binding worker, and in which
//! order they are taken.

use super::crew::{Crew, attend, panic_of, run_on, wait_until};
use std::future::poll_fn;
use std::panic::panic_any;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Poll, Waker};
use std::thread;
use tautline_core::WorkerId;
use tautline_core::finish::Reason;
use tautline_core::flow::Ddf;
use tautline_core::hierarchy::{Domain, Hierarchy, Kind, Spec};
use tautline_core::task::{Outside, Pool, Wait};

type Cx<'s, 'e> = tautline_core::task::Cx<'s, 'e, Crew>;

const OUTSIDE: [Outside; 2] = [Outside::Deque, Outside::Inbox];

/// Two sockets of four cores, two cores share an L2: p1 and p2, p3 to p6, p7 to p14.
fn xeon() -> Hierarchy {
    let cache = || Spec::new(Kind::Cache);
    let l1 = cache().copies(2).workers(1);
    let socket = cache().copies(2).child(cache().copies(2).child(l1));
    Spec::new(Kind::Memory).child(socket).build().unwrap()
}

/// Two leaves with a worker each under one cache, and one more of these: p1 and p2; p3 to p6.
fn small() -> Hierarchy {
    let leaf = Spec::new(Kind::Cache).copies(2).workers(1);
    let pair = Spec::new(Kind::Cache).copies(2).child(leaf);
    Spec::new(Kind::Memory).child(pair).build().unwrap()
}

/// Closes the pool, however the test ends.
struct Closing<'p>(&'p Pool<Crew>);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Calls `body` with a pool on `tree`, with a seat for each of its workers; the seats from 1 on are
/// held.
fn within<R>(tree: Hierarchy, outside: Outside, body: impl FnOnce(&Pool<Crew>) -> R) -> R {
    let workers = tree.workers();
    let port = Crew::new(workers as usize);
    let pool = &Pool::on(port, tree, (0..workers).collect(), outside);
    thread::scope(|threads| {
        let _closing = Closing(pool);
        for worker in 1..workers {
            threads.spawn(move || attend(pool, worker));
        }
        body(pool)
    })
}

/// As [`within`], and runs `body` on worker 0.
fn on<'e, R>(
    tree: Hierarchy,
    outside: Outside,
    body: impl for<'s> FnOnce(&mut Cx<'s, 'e>) -> R,
) -> R {
    within(tree, outside, |pool| run_on(pool, body))
}

fn check(cx: &Cx, place: Domain) {
    let (here, below) = (cx.worker(), cx.pool().tree().subtree(place));
    assert!(below.contains(&here.0), "worker {} for {place}", here.0);
}

/// Chatterjee, acceptance fact 10: a task that is spawned at p runs on a worker of subtree(p),
/// regardless of its spawner: every worker spawns at every place.
#[test]
fn every_worker_spawns_at_every_place() {
    for outside in OUTSIDE {
        for _ in 0..5 {
            let (runs, wanted) = (AtomicUsize::new(0), 3 * 8 * 15);
            let (runs, met) = (&runs, &AtomicUsize::new(0));
            on(xeon(), outside, |cx| {
                for _ in 0..8 {
                    cx.spawn(|cx| {
                        met.fetch_add(1, SeqCst);
                        wait_until("each worker has one", || met.load(SeqCst) == 8);
                        for place in (0..15).map(Domain).cycle().take(3 * 15) {
                            cx.spawn_in(place, move |cx| {
                                check(cx, place);
                                runs.fetch_add(1, SeqCst);
                            });
                        }
                    });
                }
            });
            assert_eq!(runs.load(SeqCst), wanted, "{outside:?}");
        }
    }
}

/// The same for tasks that bound ones spawn, with forks and scopes in between.
#[test]
fn bound_tasks_spawn_bound_tasks() {
    fn go<'s>(cx: &mut Cx<'s, '_>, place: Domain, left: u32, runs: &'s AtomicUsize) {
        check(cx, place);
        runs.fetch_add(1, SeqCst);
        for next in 1..=2 {
            let next = Domain((place.0 * 7 + next * 3 + left) % 15);
            if left > 0 {
                cx.spawn_in(next, move |cx| go(cx, next, left - 1, runs));
            }
        }
        cx.scope(|cx| cx.spawn_in(place, |cx| cx.join(|cx| check(cx, place), |_| ()).0));
    }
    for outside in OUTSIDE {
        let runs = AtomicUsize::new(0);
        on(xeon(), outside, |cx| go(cx, Domain::ROOT, 8, &runs));
        assert_eq!(runs.into_inner(), (1 << 9) - 1, "{outside:?}");
    }
}

/// A put by a thread that is no worker releases a task that binds tasks to all places, whose
/// workers are parked by then.
#[test]
fn a_put_from_outside_reaches_all_places() {
    for outside in OUTSIDE {
        for _ in 0..20 {
            let (runs, cell) = (&AtomicUsize::new(0), &Ddf::new());
            on(xeon(), outside, |cx| {
                cx.spawn_async(|_| async move { *cell.wait().await });
                // A task released by a put elsewhere runs here, and binds tasks.
                cx.spawn_when(cell, move |(), cx: &mut Cx| {
                    for place in (0..15).map(Domain) {
                        cx.spawn_in(place, move |cx| {
                            check(cx, place);
                            runs.fetch_add(1, SeqCst);
                        });
                    }
                });
                thread::scope(|threads| _ = threads.spawn(|| cell.put(()).unwrap()));
            });
            assert_eq!(runs.load(SeqCst), 15);
        }
    }
}

/// A bound task that blocks on a future is not moved, regardless of its waker.
#[test]
fn a_bound_task_that_blocks_stays() {
    for outside in OUTSIDE {
        let (waker, woken) = (&Mutex::new(None::<Waker>), &AtomicBool::new(false));
        on(xeon(), outside, |cx| {
            thread::scope(|threads| {
                threads.spawn(|| {
                    wait_until("the task waits", || waker.lock().unwrap().is_some());
                    woken.store(true, SeqCst);
                    waker.lock().unwrap().take().unwrap().wake();
                });
                cx.scope(|cx| {
                    cx.spawn_in(Domain(14), |cx| {
                        check(cx, Domain(14));
                        cx.block_on(poll_fn(|cx| {
                            if woken.load(SeqCst) {
                                return Poll::Ready(());
                            }
                            *waker.lock().unwrap() = Some(cx.waker().clone());
                            Poll::Pending
                        }));
                        check(cx, Domain(14));
                    });
                });
            });
        });
    }
}

/// Chatterjee, acceptance fact 11: a worker searches its leaf, its own deque first and then the
/// others', then the parent, up to the root, and starts at the leaf again after each task that it
/// found.
#[test]
fn the_search_goes_from_the_leaf_to_the_root() {
    for outside in OUTSIDE {
        let order = &Mutex::new(String::new());
        let note = |letter| order.lock().unwrap().push(letter);
        let note = &note;
        let (leaf, inner, other) = (Domain(3), Domain(1), Domain(2));
        let tree = small();
        let pool = &Pool::on(Crew::new(4), tree, vec![0, 1, 2, 3], outside);
        let ready = &AtomicBool::new(false);
        thread::scope(|threads| {
            let _closing = Closing(pool);
            // Worker 2 is below neither; it spawns, and does not help.
            threads.spawn(move || {
                let run = pool.with_seat(WorkerId(2), |seat| {
                    seat.run(|cx| {
                        cx.spawn(|_| note('r'));
                        "pi".chars()
                            .for_each(|x| cx.spawn_in(inner, move |_| note(x)));
                        "ml".chars()
                            .for_each(|x| cx.spawn_in(leaf, move |_| note(x)));
                        cx.spawn_in(leaf, |cx| {
                            note('!');
                            cx.spawn(|_| note('R'));
                            cx.spawn_in(inner, |cx| {
                                note('P');
                                cx.spawn_in(leaf, |_| note('K'));
                            });
                            cx.spawn_in(inner, |_| note('I'));
                            cx.spawn_in(leaf, |_| note('L'));
                            cx.spawn_in(leaf, |_| note('M'));
                        });
                        // Not for worker 0.
                        cx.spawn_in(other, |_| ());
                        ready.store(true, SeqCst);
                        wait_until("all are done", || order.lock().unwrap().len() == 12);
                    })
                });
                run.unwrap();
            });
            let driven = threads.spawn(move || {
                wait_until("they are spawned", || ready.load(SeqCst));
                attend(pool, 0);
            });
            wait_until("all are done", || order.lock().unwrap().len() == 12);
            pool.close();
            driven.join().unwrap();
        });
        // Own ones are capitals, the newest first; others' the oldest first. 'K' is at the leaf,
        // and precedes the rest of the parent's.
        let order = &*order.lock().unwrap();
        assert_eq!(order, "ml!MLIPKpiRr", "{outside:?}");
    }
}

/// More threads than processors, all places, both policies, with all kinds of tasks running.
#[test]
fn places_under_load() {
    for outside in OUTSIDE {
        let runs = &AtomicUsize::new(0);
        let cells: Vec<Ddf<u32>> = (0..500).map(|_| Ddf::new()).collect();
        let cells = &cells;
        on(xeon(), outside, |cx| {
            for (at, cell) in cells.iter().enumerate() {
                let place = Domain(at as u32 % 15);
                cx.spawn_in(place, move |cx| {
                    check(cx, place);
                    cell.put(at as u32).unwrap();
                });
                cx.spawn_when((cell, &cells[(at + 7) % 500]), move |_, cx: &mut Cx| {
                    let place = Domain(at as u32 * 4 % 15);
                    cx.spawn_in(place, move |cx| {
                        check(cx, place);
                        cx.join(|_| (), |_| _ = runs.fetch_add(1, SeqCst));
                    });
                });
            }
        });
        assert_eq!(runs.load(SeqCst), 500);
    }
}

/// Workers that wait without helping run tasks that are bound to their place and inside the awaited
/// scope, and leave the others until the wait has ended: unless they wait in a cycle, all tasks
/// run.
#[test]
fn waits_that_do_not_help_do_not_starve_a_place() {
    for outside in OUTSIDE {
        for wait in [Wait::Help, Wait::Own, Wait::Park] {
            for _ in 0..10 {
                let runs = &AtomicUsize::new(0);
                // In a cycle only if waiting workers run all tasks.
                let first = |leaf| if wait == Wait::Help { 3 } else { leaf };
                on(small(), outside, |cx| {
                    for leaf in 3..7 {
                        cx.spawn_in(Domain(leaf), move |cx| {
                            cx.scope_with(wait, |cx| {
                                for next in (first(leaf)..7).map(Domain) {
                                    cx.spawn_in(next, move |cx| {
                                        check(cx, next);
                                        cx.scope(|cx| {
                                            cx.spawn(|_| _ = runs.fetch_add(1, SeqCst));
                                        });
                                    });
                                }
                            });
                        });
                    }
                });
                let wanted = if wait == Wait::Help { 16 } else { 10 };
                assert_eq!(runs.load(SeqCst), wanted, "{wait:?}");
            }
        }
    }
}

/// The number of workers changes while tasks are bound to all places.
#[test]
fn workers_on_standby_run_their_bound_tasks() {
    for outside in OUTSIDE {
        for wait in [Wait::Help, Wait::Own, Wait::Park] {
            within(xeon(), outside, |pool| {
                let over = &AtomicBool::new(false);
                thread::scope(|threads| {
                    threads.spawn(|| {
                        let turns = [1, 8, 2, 3, 1, 2, 4].iter().cycle();
                        for &wanted in turns.take_while(|_| !over.load(SeqCst)) {
                            pool.want(wanted);
                            thread::yield_now();
                        }
                    });
                    for _ in 0..10 {
                        let runs = &AtomicUsize::new(0);
                        run_on(pool, |cx| {
                            cx.scope_with(wait, |cx| {
                                for place in (0..15).cycle().take(60).map(Domain) {
                                    cx.spawn_in(place, move |cx| {
                                        check(cx, place);
                                        runs.fetch_add(1, SeqCst);
                                    });
                                }
                            });
                        });
                        assert_eq!(runs.load(SeqCst), 60);
                    }
                    over.store(true, SeqCst);
                });
                // All but one are on standby from here on.
                pool.want(1);
                let runs = &AtomicUsize::new(0);
                run_on(pool, |cx| {
                    for place in (0..15).map(Domain) {
                        cx.spawn_in(place, move |cx| {
                            check(cx, place);
                            runs.fetch_add(1, SeqCst);
                        });
                    }
                });
                assert_eq!(runs.load(SeqCst), 15);
            });
        }
    }
}

/// A worker in a wait that does not help parks although a task is bound to its place that the wait
/// must not run; afterwards it runs that task, which no other worker may.
#[test]
fn an_isolated_wait_parks_beside_a_task_that_it_may_not_run() {
    let (mine, theirs) = (Domain(1), Domain(2));
    for outside in OUTSIDE {
        for wait in [Wait::Own, Wait::Park] {
            let leaf = Spec::new(Kind::Cache).copies(2).workers(1);
            let tree = Spec::new(Kind::Memory).child(leaf).build().unwrap();
            let pool = &Pool::on(Crew::new(2), tree, vec![0, 1], outside);
            let (waits, bound) = (&AtomicBool::new(false), &AtomicBool::new(false));
            thread::scope(|threads| {
                let _closing = Closing(pool);
                threads.spawn(move || {
                    let seat = pool.with_seat(WorkerId(1), |seat| {
                        seat.run(|cx| {
                            cx.scope_with(wait, |cx| {
                                // Inside this wait, for the other worker.
                                cx.spawn_in(mine, move |_| {
                                    wait_until("the task is bound", || bound.load(SeqCst));
                                    wait_until("the waiting worker parks", || {
                                        pool.port().is_parked(WorkerId(1))
                                    });
                                });
                                waits.store(true, SeqCst);
                            });
                        });
                        seat.attend();
                    });
                    seat.unwrap();
                });
                wait_until("the task is spawned", || waits.load(SeqCst));
                let ran = &AtomicUsize::new(0);
                run_on(pool, |cx| {
                    cx.scope(|cx| {
                        cx.spawn_in(theirs, |cx| {
                            check(cx, theirs);
                            ran.fetch_add(1, SeqCst);
                        });
                        bound.store(true, SeqCst);
                    });
                });
                assert_eq!(ran.load(SeqCst), 1);
            });
        }
    }
}

/// Bound tasks are cancelled and panic like others.
#[test]
fn bound_tasks_end_early_too() {
    for outside in OUTSIDE {
        on(xeon(), outside, |cx| {
            let ended = cx.finish(|cx| {
                cx.spawn_in(Domain(14), |cx| _ = cx.cancel(Reason::Found));
                (0..15).for_each(|place| cx.spawn_in(Domain(place), |_| ()));
            });
            assert_eq!(ended.unwrap_err().reason, Reason::Found);
            let word = panic_of(|| cx.scope(|cx| cx.spawn_in(Domain(9), |_| panic_any("bound"))));
            assert_eq!(word, Some("bound"));
        });
    }
}

/// One worker per place and several, more seats than the tree has workers: a seat at the leaf of a
/// worker of the tree is below the same places.
#[test]
fn seats_share_a_place() {
    for outside in OUTSIDE {
        let stands = vec![0, 1, 0, 1];
        let tree = small();
        let pool = &Pool::on(Crew::new(4), tree, stands, outside);
        let leaf = [3, 4, 3, 4].map(Domain);
        assert!((0..4).all(|w| pool.leaf_of(WorkerId(w)) == leaf[w as usize]));
        thread::scope(|threads| {
            let _closing = Closing(pool);
            for worker in 1..4 {
                threads.spawn(move || attend(pool, worker));
            }
            let met = &AtomicUsize::new(0);
            run_on(pool, |cx| {
                for leaf in leaf {
                    cx.spawn_in(leaf, move |cx| {
                        assert_eq!(cx.pool().leaf_of(cx.worker()), leaf);
                        met.fetch_add(1, SeqCst);
                        wait_until("all run", || met.load(SeqCst) == 4);
                    });
                }
            });
        });
    }
}

/// A domain that does not exist is rejected, with the number of domains.
#[test]
fn a_missing_domain_is_refused() {
    let text = std::panic::catch_unwind(|| {
        on(small(), Outside::Deque, |cx| cx.spawn_in(Domain(7), |_| ()))
    });
    let text = *text.unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("7 domains"), "{text}");
}
