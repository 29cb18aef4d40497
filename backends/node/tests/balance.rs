//! Balanced computations among other tasks.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use tautline_core::glb::{Bag, Config, Control, Fairness, Reason, Share};
use tautline_core::task::Cx;
use tautline_node::pool::{Node, Plan, Threads};

/// Numbers to be added up, each of which is one task.
struct Numbers {
    todo: Vec<u64>,
    sum: u64,
}

impl Numbers {
    fn up_to(n: u64) -> Self {
        Self {
            todo: (1..=n).collect(),
            sum: 0,
        }
    }
}

impl Bag for Numbers {
    type Shared = ();
    type Output = u64;

    fn process(&mut self, n: usize, (): &()) -> usize {
        let done = n.min(self.todo.len());
        self.sum += self.todo.drain(self.todo.len() - done..).sum::<u64>();
        done
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.todo.len());
        let todo = self.todo.drain(..taken).collect();
        (taken > 0).then_some(Self { todo, sum: 0 })
    }

    fn merge(&mut self, other: Self) {
        self.todo.extend(other.todo);
        self.sum += other.sum;
    }

    fn len(&self) -> usize {
        self.todo.len()
    }

    fn submit(self, output: &mut u64) {
        *output += self.sum;
    }
}

/// One task that is never done.
struct Endless(&'static AtomicUsize);

impl Bag for Endless {
    type Shared = ();
    type Output = ();

    fn process(&mut self, _: usize, (): &()) -> usize {
        self.0.fetch_add(1, SeqCst);
        1
    }

    fn split(&mut self, _: Share) -> Option<Self> {
        None
    }

    fn merge(&mut self, _: Self) {}

    fn len(&self) -> usize {
        1
    }

    fn submit(self, (): &mut ()) {}
}

fn endless() -> (Endless, &'static AtomicUsize) {
    let turns = Box::leak(Box::default());
    (Endless(turns), turns)
}

fn config(places: u32, workers: usize) -> Config {
    Config {
        places,
        workers,
        grain: 7.into(),
        ..Config::default()
    }
}

const N: u64 = 30_000;
const SUM: u64 = N * (N + 1) / 2;

/// Two computations and a task share the workers of a pool, and so they do on one worker.
#[test]
fn computations_share_the_pool() {
    for workers in [1, 2, 3] {
        let threads = Threads::start(&Plan::flat(workers));
        let other = AtomicBool::new(false);
        let sum = |cx: &mut Cx<'_, '_, Node>| {
            let run = cx.balancer().run(Numbers::up_to(N), |_| (), 0);
            run.map(|run| run.output)
        };
        let sums = threads.run(|cx| {
            cx.spawn(|_| other.store(true, SeqCst));
            cx.join(sum, sum)
        });
        assert_eq!(sums, (Ok(SUM), Ok(SUM)), "{workers} workers");
        assert!(other.load(SeqCst));
    }
}

/// A computation may have more workers than the pool: they take turns.
#[test]
fn workers_of_a_computation_take_turns() {
    let threads = Threads::start(&Plan::flat(1));
    for (places, workers) in [(1, 4), (4, 1), (3, 2)] {
        let run = threads.run(|cx| {
            let balancer = cx.balancer().config(config(places, workers));
            balancer.run(Numbers::up_to(N), |_| (), 0)
        });
        let run = run.expect("nothing cancels it");
        assert!(run.complete);
        assert_eq!(run.output, SUM, "{places} places of {workers}");
    }
}

/// Places whose numbers of workers differ by one.
#[test]
fn unequal_places() {
    let threads = Threads::start(&Plan::flat(2));
    for (places, all, fairness) in [
        (2, 3, Fairness::Inline),
        (3, 4, Fairness::Yield),
        (3, 8, Fairness::OneCoreFree),
    ] {
        let config = Config {
            fairness,
            ..config(1, 1).divided(places, all)
        };
        let seats: Vec<_> = config.seats().collect();
        assert_eq!(seats.len(), config.all_threads());
        let run = threads.run(|cx| {
            let balancer = cx.balancer().config(config);
            balancer.run(Numbers::up_to(N), |_| (), 0)
        });
        let run = run.expect("nothing cancels it");
        assert_eq!(run.output, SUM, "{all} workers in {places} places");
        let observed: Vec<_> = run.observers.iter().map(|&(p, w, ())| (p, w)).collect();
        assert_eq!(observed, seats);
    }
}

/// A computation without an end lets other tasks of its only worker run.
#[test]
fn a_long_computation_yields() {
    let threads = Threads::start(&Plan::flat(1));
    let (bag, _) = endless();
    let control = Control::new();
    let stopped = threads.run(|cx| {
        cx.spawn(|_| control.stop(Reason::Interrupted));
        let balancer = cx.balancer().config(config(1, 1)).control(&control);
        let run = balancer.run(bag, |_| (), ());
        run.expect("nothing cancels it").stopped
    });
    assert_eq!(stopped, Some(Reason::Interrupted));
}

/// A computation ends with the finish around it, and its result does not appear to be a success.
#[test]
fn a_cancelled_computation_has_no_result() {
    for workers in [1, 2] {
        let threads = Threads::start(&Plan::flat(workers));
        let (bag, turns) = endless();
        let result = threads.run(|cx| {
            cx.finish(|cx| {
                let task = cx.task();
                cx.spawn(move |cx| {
                    while turns.load(SeqCst) == 0 {
                        if workers == 1 {
                            break;
                        }
                        std::thread::yield_now();
                    }
                    cx.cancel(Reason::GivenUp);
                    drop(task);
                });
                cx.balancer().run(bag, |_| (), ()).map(|run| run.output)
            })
        });
        assert_eq!(result.map_err(|c| c.reason), Err(Reason::GivenUp));
    }
}

/// The tasks of a bag may fork, with the context that the computation lends it.
#[test]
fn a_bag_may_fork() {
    let threads = Threads::start(&Plan::flat(2));
    let forks = AtomicU64::new(0);
    let run = threads.run(|cx| {
        cx.balancer().config(config(2, 1)).run_with(
            |bag: &mut Numbers, n, shared, cx| {
                let (done, one) = cx.join(|_| bag.process(n, shared), |_| 1);
                forks.fetch_add(one, SeqCst);
                done
            },
            Numbers::up_to(N),
            |_| (),
            0,
        )
    });
    assert_eq!(run.expect("nothing cancels it").output, SUM);
    assert!(forks.load(SeqCst) >= N / 7);
}

/// A deadline ends a computation without a thread of its own.
#[test]
fn a_deadline_ends_a_computation() {
    let threads = Threads::start(&Plan::flat(2));
    let (bag, _) = endless();
    let run = threads.run(|cx| {
        let balancer = cx.balancer().config(config(1, 2));
        balancer
            .deadline(Duration::from_millis(5))
            .run(bag, |_| (), ())
    });
    let run = run.expect("nothing cancels it");
    assert_eq!((run.complete, run.stopped), (false, Some(Reason::Deadline)));
    assert!(run.elapsed >= Duration::from_millis(5));
}

/// Every worker has its observer, place by place.
#[test]
fn observers_come_back_in_order() {
    let threads = Threads::start(&Plan::flat(2));
    let run = threads.run(|cx| {
        let balancer = cx.balancer().config(config(2, 2));
        balancer.run(Numbers::up_to(N), |_| (), 0)
    });
    let seats = run.expect("nothing cancels it").observers;
    let seats: Vec<_> = seats.iter().map(|(p, w, ())| (p.0, w.0)).collect();
    assert_eq!(seats, [(0, 0), (0, 1), (1, 0), (1, 1)]);
}
