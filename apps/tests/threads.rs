//! One set of threads for everything. A test binary of its own: other tests start threads.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use tautline::prelude::*;
use tautline_cli::nqueens::{Queens, Size};
use tautline_cli::uts::{Counts, Tree, Uts, named};

/// The threads of this process by their numbers in the system.
fn threads() -> BTreeSet<u32> {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux lists the threads of a process");
    let number = |name: std::ffi::OsString| name.to_str()?.parse().ok();
    tasks
        .filter_map(|task| number(task.ok()?.file_name()))
        .collect()
}

/// Compares the threads of the process with those that it had, wherever it is called.
struct Watch {
    threads: BTreeSet<u32>,
    samples: AtomicUsize,
}

impl Watch {
    fn begin() -> Self {
        Self {
            threads: threads(),
            samples: AtomicUsize::new(0),
        }
    }

    fn sample(&self) {
        assert_eq!(threads(), self.threads, "a thread was started or has ended");
        self.samples.fetch_add(1, Relaxed);
    }
}

/// A bag that compares the threads in some of its turns.
struct Watched<'w, B>(B, &'w Watch);

impl<B: Bag> Bag for Watched<'_, B> {
    type Shared = B::Shared;
    type Output = B::Output;

    fn process(&mut self, n: usize, shared: &B::Shared) -> usize {
        self.1.sample();
        self.0.process(n, shared)
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let Self(bag, watch) = self;
        bag.split(share).map(|part| Self(part, watch))
    }

    fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn submit(self, output: &mut B::Output) {
        self.0.submit(output);
    }
}

fn fib(cx: &mut Cx, n: u64, watch: &Watch) -> u64 {
    if n < 2 {
        return n;
    }
    if n == 10 {
        watch.sample();
    }
    let (a, b) = cx.join(|cx| fib(cx, n - 1, watch), |cx| fib(cx, n - 2, watch));
    a + b
}

/// Two balanced computations, forks, a data-driven task and a phaser at once. Returns the nodes,
/// the ways to place the queens, and the Fibonacci number.
fn program(runtime: &Runtime, watch: &Watch) -> (u64, u64, u64) {
    let tree = || Tree::new(named::find("D8").unwrap().params).expect("a known tree");
    let size = Size::new(8).unwrap();
    let (nodes, queens, sum) = (Ddf::new(), Ddf::new(), AtomicU64::new(0));
    let (phases, mut both) = (AtomicU64::new(0), (0, 0));
    runtime.run(|cx| {
        cx.spawn(|cx| {
            let bag = Watched(Uts::root(&tree()), watch);
            let counts = cx.balancer().run(bag, |_| tree(), Counts::default());
            _ = nodes.put(counts.expect("nothing cancels it").output.nodes);
        });
        cx.spawn(|cx| {
            let found = cx.balancer().run(
                Watched(Queens::new(&size), watch),
                |_| size,
                Default::default(),
            );
            _ = queens.put(found.expect("nothing cancels it").output.sum);
        });
        cx.spawn(|cx| sum.store(fib(cx, 20, watch), Relaxed));
        cx.spawn_when((&nodes, &queens), |(nodes, queens), _| {
            watch.sample();
            both = (*nodes, *queens);
        });
        let mut ph = cx.phaser(Mode::SignalWait).expect("room for a task");
        for _ in 0..3 {
            cx.spawn_phased([ph.signal_wait()], async |mut task| {
                for _ in 0..10 {
                    task.next().await.expect("phases to come");
                    watch.sample();
                    phases.fetch_add(1, Relaxed);
                }
            })
            .expect("room for a task");
        }
    });
    assert_eq!(phases.into_inner(), 30);
    (both.0, both.1, sum.into_inner())
}

/// The threads that have ended leave the system's list a moment after they were joined.
fn assert_only(expected: &BTreeSet<u32>) {
    let begin = Instant::now();
    while threads() != *expected {
        let waited = begin.elapsed();
        assert!(waited < Duration::from_secs(60), "{:?} are left", threads());
        thread::yield_now();
    }
}

#[test]
fn a_program_has_the_threads_of_its_runtime() {
    let before = threads();
    for workers in 1..=4 {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        let watch = Watch::begin();
        let started = watch.threads.difference(&before).count();
        assert_eq!(started, workers - 1, "the caller is a worker");
        for _ in 0..3 {
            assert_eq!(program(&runtime, &watch), (257_042, 92, 6765));
            watch.sample();
        }
        assert!(watch.samples.into_inner() > 100);
        drop(runtime);
        assert_only(&before);
    }
}
