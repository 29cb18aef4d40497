//! The facade's balancer, from a program's point of view.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use tautline::Error;
use tautline::balance::{Control, Fairness, Graph, Local, Reason, Steal, Task, Tasks};
use tautline::balance::{Observer, State, Times};
use tautline::prelude::*;

/// Numbers that count down to zero, each leaving two of the next.
#[derive(Clone)]
struct Halving(u32);

/// A task of this size is one too many.
struct Forbidden(Option<u32>);

impl Task for Halving {
    type Shared = Forbidden;
    type Sum = u64;

    fn run(self, todo: &mut Local<Self>, sum: &mut u64, forbidden: &Forbidden) {
        assert!(forbidden.0 != Some(self.0), "{} is forbidden", self.0);
        *sum += 1;
        if self.0 > 0 {
            todo.push(Self(self.0 - 1));
            todo.push(Self(self.0 - 1));
        }
    }

    fn add(sum: &mut u64, other: u64) {
        *sum += other;
    }
}

fn halving(from: u32) -> Tasks<Halving> {
    [Halving(from)].into_iter().collect()
}

#[test]
fn every_setting_gives_the_exact_count() {
    for (places, workers) in [(1, 1), (1, 3), (4, 1), (3, 2)] {
        for lifelines in [Graph::Ring, Graph::Hypercube { radix: 2 }, Graph::Full] {
            for steal in [Steal::Half, Steal::Count(7)] {
                let builder = Runtime::builder().places(places).workers(workers);
                let rt = builder.pinned(false).build().unwrap();
                let run = rt
                    .balancer()
                    .random_steals(2)
                    .lifelines(lifelines)
                    .steal(steal)
                    .grain(31)
                    .fairness(Fairness::Inline)
                    .seed(9)
                    .run(halving(13), |_| Forbidden(None), 0)
                    .unwrap();
                assert_eq!((run.output, run.complete), ((1 << 14) - 1, true));
                assert_eq!(run.places.len(), places as usize);
                let tasks: u64 = run.places.iter().map(|place| place.tally.tasks).sum();
                assert_eq!(tasks, run.output);
            }
        }
    }
}

/// Ticks watched.
struct Watch(u64);

impl Observer for Watch {
    fn span(&mut self, _: State, from: u64, to: u64) {
        self.0 += to - from;
    }
}

#[test]
fn every_worker_is_watched_all_the_time() {
    let run = Runtime::builder()
        .places(2)
        .workers(2)
        .build()
        .unwrap()
        .balancer()
        .observed(|_, _| Watch(0))
        .run(halving(12), |_| Forbidden(None), 0)
        .unwrap();
    assert_eq!(run.observers.len(), 4);
    for (place, counted) in run.places.iter().enumerate() {
        let watched = run.observers.iter().filter(|(p, _, _)| p.index() == place);
        let watched: u64 = watched.map(|(_, _, watch)| watch.0).sum();
        assert_eq!(watched, counted.times.total(), "place {place}");
    }
}

#[test]
fn the_statistics_of_the_workers_add_up_to_those_of_their_places() {
    let run = Runtime::builder()
        .places(2)
        .workers(3)
        .build()
        .unwrap()
        .balancer()
        .run(halving(12), |_| Forbidden(None), 0)
        .unwrap();
    let seats: Vec<_> = run
        .workers
        .iter()
        .map(|w| (w.place.0, w.worker.0))
        .collect();
    assert_eq!(seats, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    for (number, place) in run.places.iter().enumerate() {
        let workers = run.workers.iter().filter(|w| w.place.index() == number);
        let tasks: u64 = workers.clone().map(|w| w.tasks).sum();
        assert_eq!(tasks, place.tally.tasks, "place {number}");
        let mut times = Times::default();
        workers.for_each(|w| times.merge(&w.times));
        assert_eq!(times, place.times, "place {number}");
    }
}

/// Processes the bag, and forks each time: one half processes, the other counts, and refuses after
/// as many calls.
fn forking(
    forks: &AtomicU64,
    most: u64,
) -> impl Fn(&mut Tasks<Halving>, usize, &Forbidden, &mut Cx) -> usize + Sync {
    move |bag, n, forbidden, cx| {
        let count = |_: &mut Cx| assert!(forks.fetch_add(1, SeqCst) < most, "one fork too many");
        cx.join(|_| bag.process(n, forbidden), count).0
    }
}

#[test]
fn what_processes_a_bag_may_fork() {
    for (places, workers) in [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2)] {
        let builder = Runtime::builder().places(places).workers(workers);
        let rt = builder.pinned(false).build().unwrap();
        let balancer = rt.balancer().grain(31);
        let forks = AtomicU64::new(0);
        let process = forking(&forks, u64::MAX);
        let run = balancer.run_with(process, halving(13), |_| Forbidden(None), 0);
        let run = run.unwrap();
        assert_eq!((run.output, run.complete), ((1 << 14) - 1, true));
        assert_eq!(run.tasks(), run.output);
        assert!(forks.load(SeqCst) >= run.output / 31);

        // A panic in either half, and the runtime is usable after it.
        for (most, forbidden, message) in [
            (u64::MAX, Some(3), "3 is forbidden"),
            (7, None, "one fork too many"),
        ] {
            let forks = AtomicU64::new(0);
            let process = forking(&forks, most);
            let run = || balancer.run_with(process, halving(13), |_| Forbidden(forbidden), 0);
            let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            assert_eq!(text, Some(message), "{places} places of {workers}");
        }
        let run = balancer.run(halving(10), |_| Forbidden(None), 0).unwrap();
        assert_eq!(run.output, (1 << 11) - 1);
    }
}

/// In a task, with its own settings, and with the loops of a program.
#[test]
fn a_balanced_computation_in_a_task_may_fork() {
    let rt = Runtime::builder().workers(2).pinned(false).build().unwrap();
    let looped = AtomicU64::new(0);
    let run = rt.run(|cx| {
        let process = |bag: &mut Tasks<Halving>, n: usize, forbidden: &Forbidden, cx: &mut Cx| {
            let items = cx.par(0..100u64).map(|_| 1).sum::<u64>();
            let done = bag.process(n, forbidden);
            looped.fetch_add(items * done as u64, SeqCst);
            done
        };
        let balancer = cx.balancer();
        balancer.run_with(process, halving(13), |_| Forbidden(None), 0)
    });
    assert_eq!(run.unwrap().output, (1 << 14) - 1);
    assert_eq!(looped.into_inner(), 100 * ((1 << 14) - 1));
}

#[test]
fn a_stopped_run_says_that_it_is_incomplete() {
    let control = Control::new();
    control.stop(Reason::Interrupted);
    let run = Runtime::builder()
        .workers(2)
        .build()
        .unwrap()
        .balancer()
        .control(&control)
        .run(halving(20), |_| Forbidden(None), 0)
        .unwrap();
    assert!(!run.complete && run.output < (1 << 21) - 1);
}

/// A task that always leaves another.
struct Endless;

impl Task for Endless {
    type Shared = ();
    type Sum = u64;

    fn run(self, todo: &mut Local<Self>, sum: &mut u64, (): &()) {
        *sum += 1;
        todo.push(Self);
    }

    fn add(sum: &mut u64, other: u64) {
        *sum += other;
    }
}

#[test]
fn a_deadline_ends_what_has_no_end() {
    for (places, workers) in [(1, 1), (2, 2)] {
        let control = Control::new();
        let builder = Runtime::builder().places(places).workers(workers);
        let rt = builder.build().unwrap();
        let balancer = rt.balancer().deadline(Duration::from_millis(20));
        let run = balancer
            .clone()
            .control(&control)
            .run(Tasks::from_iter([Endless]), |_| (), 0)
            .unwrap();
        assert!(!run.complete && run.output > 0);
        assert_eq!(run.stopped, Some(Reason::Deadline));
        assert_eq!(control.reason(), Some(Reason::Deadline));
        // Without a control as well.
        let run = balancer
            .run(Tasks::from_iter([Endless]), |_| (), 0)
            .unwrap();
        assert_eq!(run.stopped, Some(Reason::Deadline));
    }
}

#[test]
fn a_run_does_not_wait_for_its_deadline() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let balancer = rt.balancer().deadline(Duration::MAX);
    let run = balancer.run(halving(8), |_| Forbidden(None), 0).unwrap();
    assert_eq!((run.output, run.stopped), ((1 << 9) - 1, None));
    assert!(run.complete);
}

#[test]
fn a_panic_reaches_the_caller_with_its_message() {
    let rt = Runtime::builder().places(2).workers(2).build().unwrap();
    let balancer = rt.balancer().deadline(Duration::MAX);
    let run = || {
        balancer
            .run(halving(10), |_| Forbidden(Some(3)), 0)
            .map(drop)
    };
    let payload = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    let message = payload.downcast_ref::<String>().unwrap();
    assert_eq!(message, "3 is forbidden");
}

#[test]
fn a_bad_setting_runs_nothing() {
    let shared = |_| -> Forbidden { panic!("it was started") };
    let refused = tautline::balancer().places(0).run(halving(3), shared, 0);
    assert!(matches!(
        refused,
        Err(Error::Setting {
            setting: "places",
            ..
        })
    ));
}

/// Saraswat, acceptance fact 10: roots, expansion and reduction of the program's own in under 30
/// lines: a whole program by `sum`, a type of task by `Task`. `cargo ci examples` runs both.
#[test]
fn a_task_of_ones_own_needs_few_lines() {
    let whole = include_str!("../examples/first.rs");
    assert!(whole.contains(".sum(["), "the roots and their expansion");
    assert!(whole.lines().count() < 30);
    let text = include_str!("../examples/pentomino.rs");
    assert!(text.contains("Tasks::from_iter"), "the roots");
    let from = text
        .lines()
        .skip_while(|line| !line.starts_with("impl Task for Board"));
    // With the type itself and the closing brace.
    let lines = 2 + from.take_while(|line| *line != "}").count();
    assert!((10..30).contains(&lines), "{lines} lines");
}
