//! One measurement of one contender.

use crate::allocations;
use crate::contention::{Contended, contended};
use crate::forks::{Rayon, Runtime, Spawn};
use crate::rivals::{OwnerEnd, Rival};
use crate::work::{Empty, Fib, Nothing, Queens, Regions, Search};
use std::hint::black_box;
use std::time::{Duration, Instant};
use tautline_bench::machine::processor_time;
use tautline_bench::pools::pin;
use tautline_cli::nqueens::Size;
use tautline_cli::uts::{Tree, named};

/// The quantity that is measured.
pub(crate) struct Case {
    pub workers: usize,
    pub size: String,
    pub quick: bool,
}

/// Results.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    /// In the row's unit.
    pub figure: f64,
    /// Processor time by wall time.
    pub processors: f64,
}

/// The better of two figures: the smaller or the larger one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    Less,
    More,
}

impl Case {
    fn number(&self) -> u32 {
        self.size.parse().expect("rows have numbers as sizes")
    }

    /// The time for which something short is repeated.
    fn while_for(&self) -> Duration {
        Duration::from_millis(if self.quick { 10 } else { 300 })
    }
}

/// Wall time, and how many processors were in use.
fn timed(work: impl FnOnce()) -> (Duration, f64) {
    let (used, start) = (processor_time(), Instant::now());
    work();
    let wall = start.elapsed();
    let used = processor_time() - used;
    (wall, used.as_secs_f64() / wall.as_secs_f64())
}

/// Nanoseconds for each of `things`.
fn nanoseconds_each(things: u64, work: impl FnOnce()) -> Sample {
    let (wall, processors) = timed(work);
    let figure = wall.as_nanos() as f64 / things as f64;
    Sample { figure, processors }
}

/// Nanoseconds for each of the `batch` things that `work` does, over as many calls as fit in
/// `long`.
fn repeated(long: Duration, batch: u32, mut work: impl FnMut()) -> Sample {
    work();
    let mut calls = 0;
    let mut sample = nanoseconds_each(1, || {
        let start = Instant::now();
        while start.elapsed() < long {
            work();
            calls += 1;
        }
    });
    sample.figure /= f64::from(batch) * f64::from(calls);
    sample
}

impl Sample {
    /// Converts the figure to processor time, which other programs do not disturb.
    pub(crate) fn by_processor_time(mut self, better: Better) -> Self {
        match better {
            Better::Less => self.figure *= self.processors,
            Better::More => self.figure /= self.processors,
        }
        self
    }

    fn in_microseconds(mut self) -> Self {
        self.figure /= 1e3;
        self
    }

    /// Millions a second.
    fn as_rate(mut self) -> Self {
        self.figure = 1e3 / self.figure;
        self
    }
}

pub(crate) fn fib<R: Runtime>(case: &Case) -> Sample {
    let (runtime, fib) = (R::start(case.workers), Fib(case.number()));
    let (number, forks) = fib.known();
    assert_eq!(runtime.run(Fib(10)), 55);
    nanoseconds_each(forks, || assert_eq!(runtime.run(black_box(fib)), number))
}

pub(crate) fn search<R: Runtime>(case: &Case) -> Sample {
    let known = named::find(&case.size).expect("rows name trees as sizes");
    let tree = Tree::new(known.params).expect("sample trees are valid");
    let runtime = R::start(case.workers);
    assert_eq!(runtime.run(Fib(10)), 55);
    let counted = nanoseconds_each(known.nodes, || {
        let counts = runtime.run(Search(&tree, tree.root()));
        assert_eq!(counts.nodes, known.nodes);
        assert!(known.leaves.is_none_or(|leaves| leaves == counts.leaves));
        assert!(known.depth.is_none_or(|depth| depth == counts.max_depth));
    });
    counted.as_rate()
}

pub(crate) fn queens<R: Runtime>(case: &Case) -> Sample {
    let (runtime, size) = (R::start(case.workers), case.number());
    let known = Size::new(size).ok().and_then(Size::known);
    let queens = Queens::new(size as u8);
    let mut sample = nanoseconds_each(1, || assert_eq!(Some(runtime.run(queens)), known));
    sample.figure /= 1e9;
    sample
}

/// Scopes of `size` tasks.
pub(crate) fn spawn<R: Spawn>(case: &Case) -> Sample {
    let (runtime, tasks) = (R::start(case.workers), case.number());
    let scopes = (10_000 / tasks).max(1);
    repeated(case.while_for(), scopes * tasks, || {
        runtime.spawn(scopes, tasks)
    })
}

pub(crate) fn empty<R: Runtime>(case: &Case) -> Sample {
    let (runtime, forks) = (R::start(case.workers), case.number());
    repeated(case.while_for(), forks, || runtime.run(Empty(forks)))
}

pub(crate) fn region<R: Runtime>(case: &Case) -> Sample {
    let (runtime, regions) = (R::start(case.workers), case.number());
    let all = repeated(case.while_for(), regions, || runtime.run(Regions(regions)));
    all.in_microseconds()
}

pub(crate) fn broadcast(case: &Case) -> Sample {
    let (Rayon(pool), regions) = (Rayon::start(case.workers), case.number());
    let all = repeated(case.while_for(), regions, || {
        pool.install(|| (0..regions).for_each(|_| drop(pool.broadcast(|_| ()))));
    });
    all.in_microseconds()
}

pub(crate) fn enter<R: Runtime>(case: &Case) -> Sample {
    let (runtime, times) = (R::start(case.workers), case.number());
    let all = repeated(case.while_for(), times, || {
        (0..times).for_each(|_| runtime.run(Nothing));
    });
    all.in_microseconds()
}

/// Onto a deque that is not empty, as a task's own deque mostly is.
pub(crate) fn push_pop<D: Rival>(case: &Case) -> Sample {
    pin(0);
    let (deque, times) = (D::default(), case.number());
    let mut owner = deque.ends().0;
    owner.push(0);
    repeated(case.while_for(), times, || {
        for item in 0..times as usize {
            owner.push(black_box(item));
            black_box(owner.pop());
        }
    })
}

pub(crate) fn push_steal<D: Rival>(case: &Case) -> Sample {
    pin(0);
    let (deque, times) = (D::default(), case.number());
    let mut owner = deque.ends().0;
    repeated(case.while_for(), times, || {
        for item in 0..times as usize {
            owner.push(black_box(item));
            black_box(owner.steal_own());
        }
    })
}

fn allocations_each(things: u64, work: impl FnOnce()) -> Sample {
    let figure = allocations::during(work).times as f64 / things as f64;
    Sample {
        figure,
        processors: 1.0,
    }
}

/// Nanoseconds for each item that a thief on another processor gets while the owner works.
pub(crate) fn stolen<D: Rival>(case: &Case) -> Sample {
    under_a_thief::<D>(case, |got| got.stolen)
}

/// Nanoseconds for each item that the owner pushes while a thief on another processor steals.
pub(crate) fn pushed<D: Rival>(case: &Case) -> Sample {
    under_a_thief::<D>(case, |got| got.pushed)
}

fn under_a_thief<D: Rival>(case: &Case, items: fn(&Contended) -> u64) -> Sample {
    let mut got = None;
    let (_, processors) = timed(|| got = Some(contended::<D>(case.while_for())));
    let got = got.expect("it was measured");
    // No item was stolen: infinitely slow, as it should be.
    let figure = got.elapsed.as_nanos() as f64 / items(&got) as f64;
    Sample { figure, processors }
}

pub(crate) fn fork_allocations<R: Runtime>(case: &Case) -> Sample {
    let (runtime, fib) = (R::start(case.workers), Fib(case.number()));
    runtime.run(fib);
    let forks = fib.known().1;
    allocations_each(forks, || _ = runtime.run(fib))
}

pub(crate) fn spawn_allocations<R: Spawn>(case: &Case) -> Sample {
    let (runtime, tasks) = (R::start(case.workers), case.number());
    runtime.spawn(1, tasks);
    allocations_each(u64::from(tasks), || runtime.spawn(1, tasks))
}

/// Milliseconds of processor time a second, of a runtime that has worked and has nothing to do.
pub(crate) fn idle<R: Runtime>(case: &Case) -> Sample {
    let runtime = R::start(case.workers);
    assert_eq!(runtime.run(Fib(20)), 6765);
    // Longer than idle workers search before they park. A sleep, since runtimes do not report it.
    std::thread::sleep(Duration::from_millis(20));
    // A sleep, since the processor time of a span in which nothing happens is measured.
    let (_, processors) =
        timed(|| std::thread::sleep(Duration::from_millis(u64::from(case.number()))));
    let figure = processors * 1e3;
    Sample { figure, processors }
}
