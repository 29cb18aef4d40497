//! Observation of a balanced computation while it runs: its progress, and the best solution so
//! far.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tautline::balance::{Control, Progress, Reason};
use tautline::prelude::*;

const MS: Duration = Duration::from_millis(1);

/// Keeps the processor busy, as a task of that duration does.
fn compute(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn runtime() -> Runtime {
    Runtime::builder().workers(2).pinned(false).build().unwrap()
}

/// Far fewer tasks than would be published by their number alone.
#[test]
fn the_number_of_tasks_done_grows_by_time() {
    let control = Control::new();
    let seen = Mutex::new(vec![0]);
    thread::scope(|threads| {
        let run = threads.spawn(|| {
            let tasks = (0..1000).map(|_| MS);
            runtime()
                .balancer()
                .control(&control)
                .sum(tasks, |time, _| {
                    compute(time);
                    1u32
                })
        });
        while !run.is_finished() {
            let (done, mut seen) = (control.done(), seen.lock().unwrap());
            if seen.last() != Some(&done) {
                seen.push(done);
            }
            // A sleep between two polls, as a program's display has.
            thread::sleep(MS);
        }
        assert_eq!(run.join().unwrap().unwrap().output, 1000);
    });
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() > 5 && seen.is_sorted(), "{seen:?}");
    // No step is a large part of all.
    let step = seen.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert!(step < Some(500), "{seen:?}");
    assert_eq!(control.done(), 1000);
}

#[test]
fn progress_is_reported_while_it_runs_and_at_the_end() {
    let control = Control::new();
    let reports = Mutex::new(Vec::<Progress>::new());
    let rt = runtime();
    let balancer = rt
        .balancer()
        .progress(20 * MS, |progress| reports.lock().unwrap().push(progress))
        .control(&control);
    for _ in 0..2 {
        // The second run counts from 0 again, though the control does not.
        let run = balancer.sum((0..300).map(|_| MS), |time, _| {
            compute(time);
            1u64
        });
        assert_eq!(run.unwrap().output, 300);
        let reports = std::mem::take(&mut *reports.lock().unwrap());
        let (last, before) = reports.split_last().expect("reports");
        assert_eq!((last.done, last.ended), (300, true));
        assert!(before.len() >= 3 && before.iter().all(|report| !report.ended));
        assert!(reports.is_sorted_by_key(|report| (report.done, report.elapsed)));
        assert!(
            before.iter().any(|report| (1..300).contains(&report.done)),
            "{reports:?}"
        );
    }
    assert_eq!(control.done(), 600);
}

#[test]
fn a_report_that_panics_stops_the_computation() {
    let rt = runtime();
    let balancer = rt.balancer().progress(5 * MS, |_| panic!("no report"));
    let endless = || {
        balancer.sum([()], |(), todo| {
            todo.push(());
            1u64
        })
    };
    let payload = catch_unwind(AssertUnwindSafe(endless)).expect_err("the report panics");
    assert_eq!(payload.downcast_ref(), Some(&"no report"));
}

/// A subset of the items whose weights come next: those taken so far, their weight, and the next
/// item.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Subset {
    taken: Vec<usize>,
    sum: u32,
    next: usize,
}

/// Subsets of these weights are to sum up to at least the goal, by as little as possible.
const WEIGHTS: [u32; 18] = [
    771, 121, 281, 854, 885, 734, 486, 1003, 83, 62, 313, 417, 929, 559, 698, 374, 210, 145,
];
const GOAL: u32 = 4444;

fn sum_of(taken: &[usize]) -> u32 {
    taken.iter().map(|item| WEIGHTS[*item]).sum()
}

impl Task for Subset {
    type Shared = Arc<Best<u32, Vec<usize>>>;
    type Sum = Best<u32, Vec<usize>>;

    fn run(self, todo: &mut Local<Self>, found: &mut Self::Sum, best: &Self::Shared) {
        if self.sum >= GOAL {
            if best.add(self.sum, self.taken.clone()) {
                found.add(self.sum, self.taken);
            }
            return;
        }
        let rest: u32 = WEIGHTS[self.next..].iter().sum();
        if self.sum + rest < GOAL || best.bound() <= GOAL {
            return;
        }
        let with = [&self.taken[..], &[self.next]].concat();
        todo.push(Self {
            taken: with,
            sum: self.sum + WEIGHTS[self.next],
            next: self.next + 1,
        });
        todo.push(Self {
            next: self.next + 1,
            ..self
        });
    }

    fn add(found: &mut Self::Sum, other: Self::Sum) {
        found.merge(other);
    }

    fn bound(best: &Self::Shared) -> Option<&dyn AnyBound> {
        Some(&**best)
    }
}

fn root() -> [Subset; 1] {
    [Subset {
        taken: Vec::new(),
        sum: 0,
        next: 0,
    }]
}

/// The least sum, by trying all subsets.
fn optimum() -> u32 {
    let sums = (0..1u32 << WEIGHTS.len()).map(|set| {
        let taken = (0..WEIGHTS.len()).filter(|item| set >> item & 1 == 1);
        taken.map(|item| WEIGHTS[item]).sum::<u32>()
    });
    sums.filter(|sum| *sum >= GOAL).min().expect("all together")
}

#[test]
fn the_best_solution_is_that_of_its_cost() {
    let optimum = optimum();
    for (places, workers) in [(1, 1), (1, 2), (3, 2)] {
        let rt = Runtime::builder()
            .places(places)
            .workers(workers)
            .pinned(false)
            .build()
            .unwrap();
        let balancer = rt.balancer();
        // One for each place, between which only the bound travels; and one for all.
        let one = Arc::new(Best::new());
        for shared in [None, Some(&one)] {
            let of_place = |_| shared.map_or_else(|| Arc::new(Best::new()), Arc::clone);
            let run = balancer.run(root(), of_place, Best::new()).unwrap();
            let (cost, taken) = run.output.into_incumbent().expect("all weights together");
            assert_eq!((cost, sum_of(&taken)), (optimum, optimum));
        }
        let (cost, taken) = one.incumbent().expect("all weights together");
        assert_eq!(
            (one.bound(), cost, sum_of(&taken)),
            (optimum, optimum, optimum)
        );
    }
}

/// A start value with its solution: the result is never less than that.
#[test]
fn a_known_solution_is_the_result_if_none_is_better() {
    let optimum = optimum();
    let run = || {
        runtime()
            .balancer()
            .run(root(), |_| Arc::new(Best::new()), Best::new())
            .unwrap()
    };
    let known = run().output.into_incumbent().expect("a solution");
    let best = Arc::new(Best::from(known.clone()));
    let again = runtime()
        .balancer()
        .run(root(), |_| best.clone(), Best::from(known.clone()));
    assert_eq!(again.unwrap().output.into_incumbent(), Some(known));
    assert_eq!(best.bound(), optimum);
}

#[test]
fn the_incumbent_is_seen_while_the_computation_runs() {
    let best = Arc::new(Best::<u32, u32>::new());
    let seen = AtomicU32::new(u32::MAX);
    // The tasks continue until the incumbent of a task was seen outside.
    let rt = runtime();
    let balancer = rt.balancer().progress(2 * MS, |_| {
        if let Some((cost, solution)) = best.incumbent() {
            assert_eq!(cost, 1000 - solution);
            seen.fetch_min(cost, Relaxed);
        }
    });
    let run = balancer.sum([1u32], |n, todo| {
        compute(MS / 10);
        best.add(1000 - n, n);
        if seen.load(Relaxed) > 990 {
            todo.push(n.min(900) + 1);
        }
        1u32
    });
    assert!(run.unwrap().complete);
}

#[cfg(feature = "sim")]
#[test]
fn a_simulated_computation_reports_and_is_stopped() {
    let cluster = tautline::machines::find("cluster").unwrap();
    let control = Control::new();
    let last = Mutex::new(None);
    let rt = Runtime::builder().places(4).build().unwrap();
    let balancer = rt.balancer().control(&control);
    let balancer = balancer.progress(MS, |progress| {
        if progress.done > 1000 {
            control.stop(Reason::GivenUp);
        }
        *last.lock().unwrap() = Some(progress);
    });
    /// Leaves another one.
    struct Endless;
    impl Task for Endless {
        type Shared = ();
        type Sum = u64;
        fn run(self, todo: &mut Local<Self>, sum: &mut u64, (): &()) {
            *sum += 1;
            todo.push(self);
        }
        fn add(sum: &mut u64, other: u64) {
            *sum += other;
        }
    }
    let outcome = balancer
        .simulated(&cluster, 100)
        .run(Tasks::from_iter([Endless]), |_| (), 0);
    let outcome = outcome.unwrap();
    assert_eq!(outcome.stopped, Some(Reason::GivenUp));
    let last = last.lock().unwrap().take().expect("a report");
    assert_eq!((last.done, last.ended), (outcome.tasks, true));
}

#[cfg(feature = "serde")]
#[test]
fn the_solution_reaches_every_rank() {
    let optimum = optimum();
    let runs = tautline::world::loopback(3, |world| {
        let rt = Runtime::builder().workers(1).pinned(false).build().unwrap();
        let balancer = rt.balancer().across(world);
        balancer.run(root(), |_| Arc::new(Best::new()), Best::new())
    });
    for run in runs {
        let (cost, taken) = run.unwrap().output.into_incumbent().expect("a solution");
        assert_eq!((cost, sum_of(&taken)), (optimum, optimum));
    }
}

/// Each worker is in a task that is far longer than the deadline.
#[test]
fn a_long_task_can_ask_whether_the_deadline_has_passed() {
    let control = Control::new();
    let rt = runtime();
    let balancer = rt.balancer().control(&control).deadline(50 * MS);
    let began = Instant::now();
    let run = balancer.sum([0..20_000u32, 0..20_000], |mut steps, todo| {
        let mut done = 0u32;
        while !control.is_stopped() && steps.next().is_some() {
            compute(MS);
            done += 1;
        }
        if !steps.is_empty() {
            todo.push(steps); // the rest
        }
        done
    });
    let run = run.unwrap();
    assert!(began.elapsed() < 5000 * MS, "{:?}", began.elapsed());
    assert_eq!((run.complete, run.stopped), (false, Some(Reason::Deadline)));
    assert!((1..2000).contains(&run.output), "{}", run.output);
}
