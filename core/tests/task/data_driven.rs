//! Data-driven tasks: released once, by the last put, to the worker that puts; and dropped if their
//! values are never put.

use super::WORKERS;
use super::crew::{Cx, on, panic_of, run_on, wait_until, within};
use std::panic::panic_any;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread;
use tautline_core::WorkerId;
use tautline_core::finish::Reason;
use tautline_core::flow::{CellRef, Ddf, Inputs};

/// Records the fate of a body: it ran, or it was dropped.
struct Body<'a> {
    ran: &'a AtomicUsize,
    dropped: &'a AtomicUsize,
    done: bool,
}

impl<'a> Body<'a> {
    fn new([ran, dropped]: &'a [AtomicUsize; 2]) -> Self {
        Self {
            ran,
            dropped,
            done: false,
        }
    }

    fn run(mut self) {
        self.done = true;
        self.ran.fetch_add(1, SeqCst);
    }
}

impl Drop for Body<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.dropped.fetch_add(1, SeqCst);
        }
    }
}

fn fates() -> [AtomicUsize; 2] {
    Default::default()
}

fn seen([ran, dropped]: &[AtomicUsize; 2]) -> (usize, usize) {
    (ran.load(SeqCst), dropped.load(SeqCst))
}

pub(super) fn cells<T>(n: usize) -> Vec<Ddf<T>> {
    (0..n).map(|_| Ddf::new()).collect()
}

/// Returns all orders of `0..n`.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in permutations(n - 1) {
        for at in 0..n {
            let mut longer = shorter.clone();
            longer.insert(at, n - 1);
            all.push(longer);
        }
    }
    all
}

/// Chatterjee, acceptance fact 13: a task that waits for n cells runs once, after the n-th put, in
/// every order of puts; `before` of them precede the spawn.
#[test]
fn all_of_a_list_in_every_order_of_puts() {
    for workers in [1, 4] {
        for n in 1..=5 {
            for order in permutations(n) {
                for early in 0..=n {
                    let (cells, runs, puts) = (cells(n), AtomicUsize::new(0), AtomicUsize::new(0));
                    let put = |cell: usize| {
                        puts.fetch_add(1, SeqCst);
                        cells[cell].put(1 << cell).unwrap();
                    };
                    on(workers, |cx| {
                        order[..early].iter().for_each(|&cell| put(cell));
                        let list: Vec<&Ddf<u32>> = cells.iter().collect();
                        cx.spawn_when(list, |values: Vec<&u32>, _| {
                            assert_eq!(puts.load(SeqCst), n, "before the last put");
                            assert!(values.iter().enumerate().all(|(k, &&v)| v == 1 << k));
                            runs.fetch_add(1, SeqCst);
                        });
                        order[early..].iter().for_each(|&cell| put(cell));
                    });
                    assert_eq!(runs.into_inner(), 1, "{order:?}, {early} early");
                }
            }
        }
    }
}

/// The same where each put is a separate task, and where the list is a tuple or an array.
#[test]
fn tasks_put_for_tasks() {
    for workers in WORKERS {
        for round in 0..200 {
            let (x, y, z) = (Ddf::new(), Ddf::new(), Ddf::new());
            let (ab, sums): ([Ddf<u64>; 2], _) = (Default::default(), AtomicU64::new(0));
            on(workers, |cx| {
                cx.spawn_when((&x, &y, &z), |(x, y, z): (&u64, &u64, &u64), _| {
                    _ = ab[0].put(x + y + z);
                });
                cx.spawn_when([&ab[0], &ab[1]], |[a, b]: [&u64; 2], _| {
                    sums.fetch_add(a * b, SeqCst);
                });
                cx.spawn_when(&x, |&x, _| _ = ab[1].put(2 * x));
                cx.spawn(|_| _ = x.put(round));
                cx.spawn(|_| _ = y.put(2));
                cx.spawn(|_| _ = z.put(3));
            });
            assert_eq!(sums.into_inner(), (round + 5) * 2 * round);
        }
    }
}

/// A task that waits for nothing runs, and so does one whose cells are full.
#[test]
fn nothing_to_wait_for() {
    for workers in WORKERS {
        let (full, runs) = (Ddf::new(), AtomicUsize::new(0));
        full.put(7).unwrap();
        on(workers, |cx| {
            let none: Vec<&Ddf<u8>> = Vec::new();
            cx.spawn_when(none, |values, _| {
                _ = runs.fetch_add(1 + values.len(), SeqCst)
            });
            cx.spawn_when(&full, |&value, _| _ = runs.fetch_add(value, SeqCst));
            cx.spawn_when_any([&full], |(at, &value), _| {
                _ = runs.fetch_add(at + value, SeqCst)
            })
            .unwrap();
        });
        assert_eq!(runs.into_inner(), 15);
    }
}

/// Chatterjee, acceptance fact 14: a task that waits for one of a list is released once, however
/// many cells are put concurrently, and the index names a full cell.
#[test]
fn one_of_a_list_is_enough() {
    for workers in WORKERS {
        for n in [1, 2, 3, 8] {
            for round in 0..50 {
                let (cells, runs) = (cells(n), AtomicUsize::new(0));
                on(workers, |cx| {
                    let put = |k: usize| cells[k].put(10 * k).unwrap();
                    // One of them may be full by then, another may become full in the meantime.
                    let (early, late) = (round % n, (round + 1) % n);
                    let others = (0..n).filter(|&k| (k != early && k != late) || n < 3);
                    others.for_each(|k| cx.spawn(move |_| put(k)));
                    let list: Vec<&Ddf<usize>> = cells.iter().collect();
                    cx.spawn_when_any(&list, |(k, &value): (usize, &usize), _| {
                        assert_eq!((cells[k].get(), value), (Ok(&(10 * k)), 10 * k));
                        runs.fetch_add(1, SeqCst);
                    })
                    .unwrap();
                    if n >= 3 {
                        cx.spawn(move |_| put(late));
                        put(early);
                    }
                });
                assert_eq!(runs.into_inner(), 1, "{workers} workers, {n} cells");
            }
        }
    }
}

/// The same cell twice; and an empty list is an error, for which nothing waits.
#[test]
fn a_cell_twice_and_an_empty_list() {
    for workers in WORKERS {
        let (cell, runs) = (Ddf::new(), AtomicUsize::new(0));
        on(workers, |cx| {
            cx.spawn_when_any([&cell, &cell], |(_, &v), _| _ = runs.fetch_add(v, SeqCst))
                .unwrap();
            cx.spawn_when((&cell, &cell), |(&a, &b), _| {
                _ = runs.fetch_add(a + b, SeqCst)
            });
            let none: [&Ddf<usize>; 0] = [];
            let refused = cx.spawn_when_any(none, |_, _| unreachable!("no cell is full"));
            assert!(refused.is_err());
            cell.put(1).unwrap();
        });
        assert_eq!(runs.into_inner(), 3);
    }
}

/// Chatterjee, acceptance fact 15: a released task is pushed by the worker that puts, as its
/// newest.
#[test]
fn a_released_task_is_the_newest_of_the_putting_worker() {
    let order = Mutex::new(String::new());
    let note = |letter| order.lock().unwrap().push(letter);
    let (one, two, three) = (Ddf::new(), Ddf::new(), Ddf::new());
    on(1, |cx| {
        cx.spawn_when(&one, |(), _| note('1'));
        cx.spawn_when((&one, &two), |_: (&(), &()), _| note('2'));
        cx.spawn_when_any([&two, &three], |_, _| note('3')).unwrap();
        cx.spawn(|_| note('a'));
        cx.spawn(|_| {
            note('b');
            two.put(()).unwrap();
            note('c');
        });
        one.put(()).unwrap();
        cx.spawn(|_| note('d'));
    });
    // '1' is above 'b', '2' and '3' are put on top of 'a'.
    let order = order.into_inner().unwrap();
    assert!(
        ["d1bc23a", "d1bc32a"].contains(&order.as_str()),
        "ran in the order {order}"
    );
}

/// The same with several workers: while all others are busy, the worker that puts runs it,
/// regardless of its spawner.
#[test]
fn the_worker_that_puts_runs_it() {
    for workers in [2, 4, 8] {
        let (cells, turn, here) = (cells(workers), AtomicUsize::new(0), AtomicUsize::new(0));
        on(workers, |cx| {
            for (k, cell) in cells.iter().enumerate() {
                let turn = &turn;
                cx.spawn_when(cell, move |putter, cx: &mut Cx| {
                    assert_eq!(cx.worker(), *putter);
                    turn.store(k + 1, SeqCst);
                    // Otherwise this worker could steal the next one.
                    wait_until("all have released one", || turn.load(SeqCst) == workers);
                });
                let here = &here;
                cx.spawn(move |cx| {
                    here.fetch_add(1, SeqCst);
                    wait_until("all workers are busy", || here.load(SeqCst) == workers);
                    wait_until("the previous one has released", || turn.load(SeqCst) == k);
                    cell.put(cx.worker()).unwrap();
                });
            }
        });
        assert_eq!(turn.into_inner(), workers);
    }
}

/// A put by a thread that is no worker releases a task too, for which a worker must be woken.
#[test]
fn a_put_from_outside_is_found() {
    for workers in WORKERS {
        for _ in 0..50 {
            let (one, two, runs) = (Ddf::new(), Ddf::new(), AtomicUsize::new(0));
            thread::scope(|threads| {
                threads.spawn(|| one.put(3).unwrap());
                threads.spawn(|| two.put(4).unwrap());
                on(workers, |cx| {
                    cx.spawn_when((&one, &two), |(&a, &b), _| {
                        _ = runs.fetch_add(a * b, SeqCst)
                    });
                    cx.spawn_when_any([&one, &two], |(k, _), _| _ = runs.fetch_add(k / 2, SeqCst))
                        .unwrap();
                });
            });
            assert_eq!(runs.into_inner(), 12);
        }
    }
}

/// The same where all workers are parked: one is woken. The task in turn releases one that awaits a
/// cell.
#[test]
fn a_put_from_outside_wakes_an_idle_pool() {
    for workers in WORKERS {
        let (cell, next, got) = (Ddf::new(), Ddf::new(), AtomicUsize::new(0));
        within(workers, |pool| {
            thread::scope(|threads| {
                threads.spawn(|| {
                    let parked = |w| pool.port().is_parked(WorkerId(w as u32));
                    wait_until("all are parked", || (0..workers).all(parked));
                    cell.put(3).unwrap();
                });
                run_on(pool, |cx| {
                    cx.spawn_when(&cell, |n, _| next.put(2 * n).unwrap());
                    cx.spawn_async(|_| async { got.store(*next.wait().await, SeqCst) });
                });
            });
        });
        assert_eq!(got.into_inner(), 6, "{workers} workers");
    }
}

/// The reasons why a scope is aborted.
const ENDS: [&str; 3] = ["a task cancels", "a task panics", "the body panics"];

/// Opens a finish that is aborted; `body` leaves tasks in it.
fn end_early<'e>(
    end: &'static str,
    workers: usize,
    body: impl for<'s> FnOnce(&mut Cx<'s, 'e>) + Send + 'e,
) {
    let panicked = panic_of(|| {
        let ended = on(workers, |cx| {
            cx.finish(|cx| {
                body(cx);
                cx.spawn(move |cx| match end {
                    "a task cancels" => assert!(cx.cancel(Reason::Found)),
                    "a task panics" => panic_any(end),
                    _ => {}
                });
                if end == "the body panics" {
                    panic_any(end);
                }
            })
        });
        assert_eq!(ended.unwrap_err().reason, Reason::Found);
    });
    assert_eq!(panicked, (end != "a task cancels").then_some(end));
}

/// A scope that is aborted does not wait for cells that are never put: the bodies are dropped
/// before it ends, and later puts release nothing.
#[test]
fn an_abort_drops_waiting_tasks() {
    for workers in WORKERS {
        for end in ENDS {
            let (fates, bodies) = (fates(), 4);
            let (one, two) = (Ddf::new(), Ddf::new());
            end_early(end, workers, |cx| {
                let [a, b, c, d] = [(); 4].map(|()| Body::new(&fates));
                cx.spawn_when(&one, |(), _| a.run());
                cx.spawn_when((&one, &two), |_, _| b.run());
                cx.spawn_when((&two, &one), |_, _| c.run());
                cx.spawn_when_any([&one, &two], |_, _| d.run()).unwrap();
            });
            assert_eq!(seen(&fates), (0, bodies), "{workers} workers, {end}");
            one.put(()).unwrap();
            two.put(()).unwrap();
            assert_eq!(seen(&fates), (0, bodies));
        }
    }
}

/// The same for tasks of nested scopes, and for tasks that begin to wait after the abort.
#[test]
fn an_abort_reaches_nested_scopes() {
    for workers in WORKERS {
        let (fates, never) = (fates(), Ddf::<()>::new());
        let waiting = AtomicUsize::new(0);
        let ended = on(workers, |cx| {
            cx.finish(|cx| {
                cx.spawn(|cx| {
                    let inner = cx.finish(|cx| {
                        let body = Body::new(&fates);
                        cx.spawn_when(&never, |(), _| body.run());
                        waiting.fetch_add(1, SeqCst);
                    });
                    assert_eq!(inner.unwrap_err().reason, Reason::Found);
                });
                cx.spawn(|cx| {
                    if workers > 1 {
                        wait_until("the other task waits", || waiting.load(SeqCst) == 1);
                    }
                    assert!(cx.cancel(Reason::Found));
                    let body = Body::new(&fates);
                    cx.spawn_when(&never, |(), _| body.run());
                });
            })
        });
        assert_eq!(ended.unwrap_err().reason, Reason::Found);
        assert_eq!(seen(&fates), (0, 1 + waiting.into_inner()));
    }
}

/// Two cells, of which the second is alive only while the scope is.
struct Short<'a>(&'a Ddf<u32>, &'a Ddf<u32>, &'a AtomicBool);

// SAFETY: two cells, always the same; no method panics unless the test fails.
unsafe impl<'a> Inputs<'a> for Short<'a> {
    type Values = u32;

    fn count(&self) -> usize {
        2
    }

    fn latch_at(&self, index: usize) -> Option<CellRef<'a>> {
        assert!(!self.2.load(SeqCst), "the second cell is gone");
        [self.0, self.1].latch_at(index)
    }

    fn is_full(&self) -> bool {
        [self.0, self.1].is_full()
    }

    fn into_values(self) -> u32 {
        [self.0, self.1].into_values().into_iter().sum()
    }
}

/// A cell may outlive the scope and the other cells of a list: a later put into it does not access
/// those.
#[test]
fn a_late_put_accesses_no_further_cell() {
    for workers in WORKERS {
        for end in ENDS {
            let (fates, gone, long) = (fates(), AtomicBool::new(false), Ddf::new());
            {
                let short = Ddf::new();
                let inputs = Short(&long, &short, &gone);
                end_early(end, workers, |cx| {
                    let body = Body::new(&fates);
                    cx.spawn_when(inputs, |_, _| body.run());
                });
            }
            gone.store(true, SeqCst);
            long.put(1).unwrap();
            assert_eq!(seen(&fates), (0, 1));
        }
    }
}

/// Puts race with the abort: each body runs or is dropped, once, before the scope has ended.
#[test]
fn puts_race_with_the_abort() {
    const MANY: usize = 40;
    for workers in WORKERS {
        let mut total = (0, 0);
        for round in 0..100 {
            let (fates, cells) = (fates(), cells::<usize>(MANY));
            let go = AtomicBool::new(false);
            let (go, cells) = (&go, &cells);
            thread::scope(|threads| {
                for parity in 0..2 {
                    threads.spawn(move || {
                        wait_until("the tasks wait", || go.load(SeqCst));
                        for cell in cells.iter().skip(parity).step_by(2) {
                            cell.put(round).unwrap();
                        }
                    });
                }
                _ = on(workers, |cx| {
                    cx.finish(|cx| {
                        for k in 0..MANY {
                            let [one, both, any] = [(); 3].map(|()| Body::new(&fates));
                            let (a, b) = (&cells[k], &cells[(k + 1) % MANY]);
                            cx.spawn_when(a, |_, _| one.run());
                            cx.spawn_when((a, b), |_, _| both.run());
                            cx.spawn_when_any([a, b], |_, _| any.run()).unwrap();
                        }
                        cx.spawn(|cx| {
                            go.store(true, SeqCst);
                            wait_until("the first put", || cells[0].is_full());
                            cx.cancel(Reason::Found);
                        });
                    })
                });
                let (ran, dropped) = seen(&fates);
                assert_eq!(ran + dropped, 3 * MANY, "{ran} ran, {dropped} dropped");
                total = (total.0 + ran, total.1 + dropped);
            });
        }
        println!(
            "{workers} workers: {} ran, {} were dropped",
            total.0, total.1
        );
    }
}

/// A body whose drop panics when its scope is aborted: the first panic propagates, and nothing
/// deadlocks.
#[test]
fn a_body_may_panic_when_it_is_dropped() {
    struct Spring;
    impl Drop for Spring {
        fn drop(&mut self) {
            panic_any("dropped");
        }
    }
    for workers in WORKERS {
        let (never, spring) = (Ddf::<()>::new(), Spring);
        let word = panic_of(|| {
            on(workers, |cx| {
                cx.scope(|cx| {
                    cx.spawn_when(&never, move |(), _| drop(spring));
                    cx.spawn(|_| panic_any("first"));
                });
            });
        });
        assert_eq!(word, Some("first"));
    }
}
