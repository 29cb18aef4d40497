//! The balancer on threads: what the common suite cannot require of every backend.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tautline_core::glb::{Bag, Config, Control, Fairness, Observer, Reason, Run, Share, State};
use tautline_core::lifeline::Graph;
use tautline_core::{PlaceId, WorkerId};

#[path = "balanced/mod.rs"]
mod balanced;

use balanced::run;

const FAIRNESS: [Fairness; 4] = [
    Fairness::Inline,
    Fairness::Yield,
    Fairness::OneCoreFree,
    Fairness::Never,
];

fn config(places: u32, workers: usize, fairness: Fairness) -> Config {
    Config {
        places,
        workers: workers.max(1 + usize::from(fairness == Fairness::OneCoreFree)),
        grain: 10.into(),
        fairness,
        lifelines: Graph::Hypercube { radix: 2 },
        ..Config::default()
    }
}

fn go<B: Bag>(
    config: &Config,
    bag: B,
    shared: impl Fn(PlaceId) -> B::Shared,
    output: B::Output,
) -> Run<B::Output> {
    run(config, bag, shared, output, &Control::new(), |_, _| ())
}

/// Units that can not be divided; every place that works on them is recorded.
struct Solid(usize, Vec<PlaceId>);

impl Bag for Solid {
    type Shared = PlaceId;
    type Output = Vec<PlaceId>;

    fn process(&mut self, n: usize, here: &PlaceId) -> usize {
        self.1.push(*here);
        let done = n.min(self.0);
        self.0 -= done;
        done
    }

    fn split(&mut self, _: Share) -> Option<Self> {
        None
    }

    fn merge(&mut self, _: Self) {
        unreachable!("there is one bag");
    }

    fn len(&self) -> usize {
        self.0
    }

    fn is_splittable(&self) -> bool {
        false
    }

    fn submit(self, output: &mut Self::Output) {
        assert_eq!(self.0, 0);
        output.extend(self.1);
    }
}

/// Finnerty, acceptance fact 3: work that cannot be divided is done by one worker, the home's, and
/// then the run ends.
#[test]
fn a_solid_bag_stays_with_one_worker() {
    for fairness in FAIRNESS {
        for (places, workers) in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)] {
            let config = config(places, workers, fairness);
            let run = go(&config, Solid(1000, Vec::new()), |here| here, Vec::new());
            assert!(run.complete);
            assert_eq!(run.output.len(), 100, "{config:?}");
            let home = |place: &PlaceId| *place == PlaceId::HOME;
            assert!(run.output.iter().all(home), "{config:?}");
            let sent: u64 = run.places.iter().map(|p| p.tally.sent.count).sum();
            assert_eq!(sent, 0);
        }
    }
}

/// The records of the instrumented bags.
struct Eyes {
    /// The number of times that each unit was done.
    done: Vec<AtomicU8>,
    splits: AtomicUsize,
    merges: AtomicUsize,
    /// Whether two threads were in one bag.
    crowded: AtomicBool,
}

impl Eyes {
    fn new(units: u32) -> Arc<Self> {
        Arc::new(Self {
            done: (0..units).map(|_| AtomicU8::new(0)).collect(),
            splits: AtomicUsize::new(0),
            merges: AtomicUsize::new(0),
            crowded: AtomicBool::new(false),
        })
    }
}

/// Numbered units; a flag is set while a thread is inside. The flag is not protected by `&mut`,
/// so a lock that admits two threads is noticed.
struct Watched {
    units: Vec<u32>,
    inside: Arc<AtomicBool>,
    eyes: Arc<Eyes>,
}

struct Inside(Arc<AtomicBool>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

impl Watched {
    fn new(units: Vec<u32>, eyes: &Arc<Eyes>) -> Self {
        Self {
            units,
            inside: Arc::default(),
            eyes: Arc::clone(eyes),
        }
    }

    fn enter(&self) -> Inside {
        if self.inside.swap(true, SeqCst) {
            self.eyes.crowded.store(true, SeqCst);
        }
        Inside(Arc::clone(&self.inside))
    }
}

impl Bag for Watched {
    type Shared = ();
    type Output = ();

    fn process(&mut self, n: usize, (): &()) -> usize {
        let _inside = self.enter();
        let done = n.min(self.units.len());
        for unit in self.units.drain(self.units.len() - done..) {
            self.eyes.done[unit as usize].fetch_add(1, SeqCst);
        }
        done
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let _inside = self.enter();
        let n = share.of(self.units.len());
        self.eyes.splits.fetch_add(usize::from(n > 0), SeqCst);
        (n > 0).then(|| Self::new(self.units.drain(..n).collect(), &self.eyes))
    }

    fn merge(&mut self, other: Self) {
        let _inside = (self.enter(), other.enter());
        self.eyes.merges.fetch_add(1, SeqCst);
        self.units.extend(other.units);
    }

    fn len(&self) -> usize {
        self.units.len()
    }

    fn submit(self, (): &mut ()) {
        let _inside = self.enter();
        assert!(self.units.is_empty());
    }
}

/// Finnerty, acceptance fact 4: never two threads in one bag, and every unit done exactly once.
#[test]
fn a_bag_has_one_thread_at_a_time() {
    const UNITS: u32 = 20_000;
    let (mut splits, mut merges) = (0, 0);
    for fairness in FAIRNESS {
        for (places, workers) in [(1, 1), (1, 4), (4, 1), (3, 3)] {
            let config = config(places, workers, fairness);
            let eyes = Eyes::new(UNITS);
            let bag = Watched::new((0..UNITS).collect(), &eyes);
            assert!(go(&config, bag, |_| (), ()).complete);
            assert!(!eyes.crowded.load(SeqCst), "{config:?}");
            let wrong = eyes.done.iter().position(|times| times.load(SeqCst) != 1);
            assert_eq!(wrong, None, "{config:?}");
            splits += eyes.splits.load(SeqCst);
            merges += eyes.merges.load(SeqCst);
        }
    }
    assert!(splits > 100 && merges > 100, "{splits} {merges}");
}

/// Finnerty, acceptance fact 4: an empty bag returns at once: nothing is processed and no loot
/// sent.
#[test]
fn an_empty_bag_returns() {
    for fairness in FAIRNESS {
        for (places, workers) in [(1, 1), (1, 2), (2, 1), (8, 2)] {
            let config = config(places, workers, fairness);
            let bag = Watched::new(Vec::new(), &Eyes::new(0));
            let run = go(&config, bag, |_| (), ());
            assert!(run.complete, "{config:?}");
            let loot: u64 = run.places.iter().map(|p| p.tally.sent.count).sum();
            let tasks = run.tasks();
            assert_eq!((tasks, loot), (0, 0), "{config:?}");
        }
    }
}

/// Every unit produces another one, for ever; `at` acts at certain units.
struct Endless<'a>(usize, &'a (dyn Fn(PlaceId) + Sync));

impl Bag for Endless<'_> {
    type Shared = PlaceId;
    type Output = usize;

    fn process(&mut self, n: usize, here: &PlaceId) -> usize {
        (self.1)(*here);
        n
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let n = share.of(self.0);
        self.0 -= n;
        (n > 0).then_some(Self(n, self.1))
    }

    fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }

    fn len(&self) -> usize {
        self.0
    }

    fn submit(self, output: &mut usize) {
        *output += self.0;
    }
}

/// A task's panic reaches the caller with its payload, from any place, while all others work.
#[test]
fn a_panic_reaches_the_caller() {
    struct Payload(u32);
    for fairness in FAIRNESS {
        for (places, workers) in [(1, 1), (1, 3), (4, 1), (3, 2)] {
            let last = PlaceId(places - 1);
            let at = |here| {
                if here == last {
                    std::panic::resume_unwind(Box::new(Payload(7)));
                }
            };
            let config = config(places, workers, fairness);
            let bag = Endless(1000, &at);
            let caught = catch_unwind(AssertUnwindSafe(|| go(&config, bag, |here| here, 0)));
            let payload = caught.expect_err("a panic is no result");
            let payload = payload.downcast::<Payload>().expect("the task's own");
            assert_eq!(payload.0, 7, "{config:?}");
        }
    }
}

/// A run that is stopped returns a partial result, marked as such.
#[test]
fn a_stopped_run_is_partial() {
    for fairness in FAIRNESS {
        for (places, workers) in [(1, 1), (1, 3), (4, 1), (3, 2)] {
            let (control, calls) = (Control::new(), AtomicUsize::new(0));
            let at = |_| {
                if calls.fetch_add(1, SeqCst) == 100 {
                    control.stop(Reason::Interrupted);
                }
            };
            let config = config(places, workers, fairness);
            let bag = Endless(1000, &at);
            let run = run(&config, bag, |here| here, 0, &control, |_, _| ());
            assert!(!run.complete, "{config:?}");
            assert_eq!(run.output, 1000, "every unit is in some bag: {config:?}");
        }
    }
}

/// Spans in the order in which they come.
#[derive(Default)]
struct Spans(Arc<Mutex<Vec<(State, u64, u64)>>>);

impl Observer for Spans {
    fn span(&mut self, state: State, from: u64, to: u64) {
        self.0.lock().unwrap().push((state, from, to));
    }
}

/// Saraswat, acceptance fact 8: the times of a worker's states are the whole of its time, without
/// gaps and without overlaps, and no longer than the run.
#[test]
fn times_are_the_whole_time() {
    let config = config(3, 2, Fairness::Yield);
    let eyes = Eyes::new(50_000);
    let bag = Watched::new((0..50_000).collect(), &eyes);
    let began = Instant::now();
    let observe = |_, _| Spans::default();
    let run = run(&config, bag, |_| (), (), &Control::new(), observe);
    assert!(run.elapsed <= began.elapsed());
    let mut totals = [0; 3];
    for (place, worker, spans) in &run.observers {
        let spans = spans.0.lock().unwrap();
        assert!(!spans.is_empty(), "{place} {worker:?}");
        for pair in spans.windows(2) {
            assert_eq!(pair[0].2, pair[1].1, "a gap");
        }
        let whole = spans[spans.len() - 1].2 - spans[0].1;
        assert!(u128::from(whole) <= run.elapsed.as_nanos());
        totals[place.index()] += whole;
    }
    let counted = run.places.iter().map(|p| p.times.total());
    assert_eq!(counted.collect::<Vec<_>>(), totals);
}

/// The program's own code may panic before the first thread has work: no thread waits for ever.
#[test]
fn observer_that_panics_ends_the_run() {
    let bag = Solid(1, Vec::new());
    let config = config(2, 2, Fairness::Inline);
    let observe = |_, worker: WorkerId| assert_eq!(worker.0, 0, "no observer for this worker");
    let start = || {
        run(
            &config,
            bag,
            |here| here,
            Vec::new(),
            &Control::new(),
            observe,
        )
    };
    let payload = catch_unwind(AssertUnwindSafe(start)).expect_err("the panic reaches the caller");
    assert!(
        payload
            .downcast_ref::<String>()
            .is_some_and(|m| m.contains("no observer"))
    );
}
