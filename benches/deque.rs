//! What a push, a pop and a steal cost, in our deques and in others.
#![allow(missing_docs)]

#[path = "common/rivals.rs"]
mod rivals;

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use criterion::{criterion_group, criterion_main};
use rivals::{Bucket, Crossbeam, Fixed, Growable, OwnerEnd, Rival, Split, St3, ThiefEnd};
use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tautline_core::deque::Local;
use tautline_core::sync::CachePadded;

type Group<'a> = BenchmarkGroup<'a, WallTime>;

/// Items in the batch of `push64_pop64`.
const BATCH: usize = 64;

fn push_pop(group: &mut Group<'_>, name: &str, owner: &mut impl OwnerEnd) {
    group.bench_function(name, |b| {
        b.iter(|| {
            owner.push(black_box(1));
            owner.pop()
        });
    });
}

fn push64_pop64(group: &mut Group<'_>, name: &str, owner: &mut impl OwnerEnd) {
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function(name, |b| {
        b.iter(|| {
            for item in 0..BATCH {
                owner.push(black_box(item));
            }
            for _ in 0..BATCH {
                black_box(owner.pop());
            }
        });
    });
}

fn steal_own(group: &mut Group<'_>, name: &str, owner: &mut impl OwnerEnd) {
    group.bench_function(name, |b| {
        b.iter(|| {
            owner.push(black_box(1));
            owner.steal_own()
        });
    });
}

/// Pins this thread. The list is asked for once: a pinned thread is told of its own core only.
fn pin(core: usize) {
    static CORES: OnceLock<Vec<core_affinity::CoreId>> = OnceLock::new();
    let cores = CORES.get_or_init(|| core_affinity::get_core_ids().unwrap_or_default());
    if let Some(core) = cores.get(core) {
        core_affinity::set_for_current(*core);
    }
}

/// The owner pushes `items` items and pops every second time; a thief on the other core takes what
/// it can get, until all are gone.
fn contended<R: Rival>(items: usize) -> Duration {
    let deque = R::default();
    let (owner, thief) = deque.ends();
    // Lines of their own: what one end keeps to itself must not slow down the other.
    let (mut owner, mut thief) = (CachePadded::new(owner), CachePadded::new(thief));
    let flags = CachePadded::new((AtomicBool::new(false), AtomicBool::new(false)));
    let (ready, done) = &*flags;
    let stolen = AtomicUsize::new(0);
    let (elapsed, popped) = std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(1);
            ready.store(true, Ordering::Release);
            let mut count = 0;
            while !done.load(Ordering::Relaxed) {
                count += usize::from(thief.steal().is_some());
            }
            stolen.store(count, Ordering::Relaxed);
        });
        while !ready.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let start = Instant::now();
        let (mut popped, mut left) = (0, items);
        while left > 0 {
            // Bursts that fit into every rival, so that none is asked to grow or refuse.
            let burst = left.min(BATCH);
            for item in 0..burst {
                owner.push(item);
                if item % 2 == 1 {
                    popped += usize::from(owner.pop().is_some());
                }
            }
            while owner.pop().is_some() {
                popped += 1;
            }
            left -= burst;
        }
        let elapsed = start.elapsed();
        done.store(true, Ordering::Relaxed);
        (elapsed, popped)
    });
    assert_eq!(popped + stolen.into_inner(), items, "an item got lost");
    elapsed
}

fn contention<R: Rival>(group: &mut Group<'_>) {
    group.bench_function(R::NAME, |b| {
        b.iter_custom(|items| contended::<R>(usize::try_from(items).expect("a count of items")));
    });
}

/// One function on all deques, ours of one thread included.
macro_rules! everybody {
    ($c:expr, $work:ident) => {{
        let mut group = $c.benchmark_group(concat!("deque/", stringify!($work)));
        $work(&mut group, Fixed::NAME, &mut Fixed::default().ends().0);
        $work(
            &mut group,
            Growable::NAME,
            &mut Growable::default().ends().0,
        );
        $work(&mut group, Bucket::NAME, &mut Bucket::default().ends().0);
        $work(&mut group, Split::NAME, &mut Split::default().ends().0);
        $work(&mut group, "local", &mut Local::<usize>::new());
        $work(
            &mut group,
            Crossbeam::NAME,
            &mut Crossbeam::default().ends().0,
        );
        $work(&mut group, St3::NAME, &mut St3::default().ends().0);
        group.finish();
    }};
}

/// What bounds a pop: the fence that orders a store before a load.
fn fences(c: &mut Criterion) {
    let word = AtomicUsize::new(0);
    let mut group = c.benchmark_group("deque/store_fence_load");
    group.bench_function("full_fence", |b| {
        b.iter(|| {
            word.store(1, Ordering::Relaxed);
            tautline_core::sync::full_fence();
            word.load(Ordering::Relaxed)
        });
    });
    group.bench_function("fence_seq_cst", |b| {
        b.iter(|| {
            word.store(1, Ordering::Relaxed);
            std::sync::atomic::fence(Ordering::SeqCst);
            word.load(Ordering::Relaxed)
        });
    });
    group.finish();
}

fn deques(c: &mut Criterion) {
    pin(0);
    fences(c);
    everybody!(c, push_pop);
    everybody!(c, push64_pop64);
    everybody!(c, steal_own);
    let mut group = c.benchmark_group("deque/contention");
    contention::<Fixed>(&mut group);
    contention::<Growable>(&mut group);
    contention::<Bucket>(&mut group);
    contention::<Split>(&mut group);
    contention::<Crossbeam>(&mut group);
    contention::<St3>(&mut group);
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = deques
}
criterion_main!(benches);
