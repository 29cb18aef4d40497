//! The verbs of parallel iteration against those of sequential iterators, without items, with one
//! and with many; which failure is returned; panics, drops and cancellation.

#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;
#[path = "loops_verbs/drops.rs"]
mod drops;
#[path = "loops_verbs/early.rs"]
mod early;
#[path = "loops_verbs/sources.rs"]
mod sources;

use crew::{Cx, on};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::SeqCst};
use tautline_core::loops::Schedule;

const WORKERS: [usize; 3] = [1, 2, 4];
const LENGTHS: [usize; 6] = [0, 1, 2, 7, 1000, 30_000];

/// Calls `test` for each number of workers and each length, with as many numbers, of which many are
/// equal.
fn each(test: impl Fn(&mut Cx<'_, '_>, &[usize]) + Sync) {
    for workers in WORKERS {
        for len in LENGTHS {
            let numbers: Vec<usize> = (0..len).map(|i| i * 7919 % 1009).collect();
            on(workers, |cx| test(cx, &numbers));
        }
    }
}

#[test]
fn adaptors_of_any_source() {
    each(|cx, x| {
        let even = |n: &usize| n.is_multiple_of(2).then_some(n / 2);
        let found: Vec<_> = cx.par(x).filter_map(even).collect();
        assert!(x.iter().filter_map(even).eq(found));
        // From none to six for each item, and nested.
        let found: Vec<_> = cx.par(x).flat_map(|n| 0..n % 7).collect();
        assert!(x.iter().flat_map(|n| 0..n % 7).eq(found));
        let lists: Vec<Vec<usize>> = x.iter().map(|n| vec![*n; n % 3]).collect();
        let found: Vec<usize> = cx.par(&lists).flatten().copied().collect();
        assert!(lists.iter().flatten().copied().eq(found));
        let found: Vec<usize> = cx
            .par(lists.clone())
            .flatten()
            .filter(|n| n % 5 > 0)
            .collect();
        assert!(lists.into_iter().flatten().filter(|n| n % 5 > 0).eq(found));
        let found: Vec<usize> = cx.par(x).cloned().update(|n| *n += 1).collect();
        assert!(x.iter().map(|n| n + 1).eq(found));
        let seen = AtomicUsize::new(0);
        let count = |n: &&usize| _ = seen.fetch_add(**n, SeqCst);
        assert_eq!(cx.par(x).inspect(count).count(), x.len());
        assert_eq!(seen.into_inner(), x.iter().sum());
        let found: Vec<usize> = cx
            .par(x)
            .copied()
            .filter(|n| n % 2 == 1)
            .chain(3..9)
            .collect();
        assert!(
            x.iter()
                .copied()
                .filter(|n| n % 2 == 1)
                .chain(3..9)
                .eq(found)
        );
    });
}

#[test]
fn adaptors_of_positions() {
    each(|cx, x| {
        let found: Vec<_> = cx.par(x).rev().enumerate().collect();
        assert!(x.iter().rev().enumerate().eq(found));
        for n in [1, 2, 3, 29_999, 30_000, 30_001, usize::MAX] {
            let found: Vec<_> = cx.par(x).step_by(n).collect();
            assert!(x.iter().step_by(n).eq(found), "{n}");
            let found: Vec<_> = cx.par(x).skip(n).collect();
            assert!(x.iter().skip(n).eq(found), "{n}");
            let found: Vec<_> = cx.par(x).take(n).rev().collect();
            assert!(x.iter().take(n).rev().eq(found), "{n}");
            let found: Vec<_> = cx.par(x).windows(n).collect();
            assert!(x.windows(n).eq(found), "{n}");
            let found: Vec<_> = cx.par(x).chunks_exact(n).collect();
            assert!(x.chunks_exact(n).eq(found), "{n}");
        }
        assert_eq!(cx.par(x).take(0).count(), 0);
        assert_eq!(cx.par(x).skip(0).count(), x.len());
        let found: Vec<_> = cx.par(x).chain(x).skip(1).step_by(3).zip(x).collect();
        let all = x.iter().chain(x).skip(1).step_by(3).zip(x);
        assert!(all.eq(found));
        let mut copy = x.to_vec();
        cx.par(&mut copy).rev().step_by(2).for_each(|n| *n = 0);
        let expected = x.iter().rev().enumerate();
        let expected: Vec<_> = expected.map(|(i, n)| n * (i % 2)).collect();
        assert!(copy.iter().rev().eq(&expected));
        cx.par(&mut copy)
            .chunks_exact(4)
            .for_each(|four| four.fill(1));
        let ones = copy.iter().filter(|n| **n == 1).count();
        assert!(ones >= x.len() / 4 * 4);
    });
}

#[test]
fn slices_without_bytes_may_have_any_length() {
    let mut units = [(); usize::MAX];
    on(2, |cx| {
        let last = |at: usize| usize::MAX - at;
        assert_eq!(cx.par(&units).windows(1).skip(last(3)).count(), 3);
        assert_eq!(cx.par(&units).windows(3).skip(last(3)).count(), 1);
        assert_eq!(
            cx.par(&units).chunks(last(3)).map(<[()]>::len).max(),
            Some(last(3))
        );
        assert_eq!(cx.par(&units).rev().take(5).enumerate().count(), 5);
        cx.par(&mut units).sort_unstable();
        cx.par(&mut units).sort();
    });
}

#[test]
fn a_step_and_a_size_of_0_are_refused() {
    let refused: [fn(&mut Cx<'_, '_>) -> usize; 3] = [
        |cx| cx.par(0..9).step_by(0).count(),
        |cx| cx.par(&[1, 2]).windows(0).count(),
        |cx| cx.par(&[1, 2]).chunks_exact(0).count(),
    ];
    for refused in refused {
        assert!(catch_unwind(|| on(1, refused)).is_err());
    }
    let long = |cx: &mut Cx<'_, '_>| cx.par(0..usize::MAX).chain(0..1).any(|_| true);
    assert!(catch_unwind(|| on(1, long)).is_err());
}

#[test]
fn collections_of_std() {
    each(|cx, x| {
        macro_rules! check {
            ($($collection:ty),* $(,)?) => {$(
                let found: $collection = cx.par(x).copied().collect();
                assert_eq!(found, x.iter().copied().collect::<$collection>());
            )*};
        }
        check!(
            Vec<_>,
            Box<[_]>,
            Rc<[_]>,
            VecDeque<_>,
            LinkedList<_>,
            HashSet<_>,
            BTreeSet<_>
        );
        let found: BinaryHeap<_> = cx.par(x).copied().collect();
        assert_eq!(
            found.into_sorted_vec(),
            x.iter()
                .copied()
                .collect::<BinaryHeap<_>>()
                .into_sorted_vec()
        );
        let pair = |n: &usize| (n % 10, *n);
        let found: HashMap<_, _> = cx.par(x).map(pair).collect();
        assert_eq!(found, x.iter().map(pair).collect());
        let found: BTreeMap<_, _> = cx.par(x).map(pair).collect();
        assert_eq!(found, x.iter().map(pair).collect());
        let found: (Vec<_>, BTreeSet<_>) = cx.par(x).map(pair).collect();
        assert_eq!(found, x.iter().map(pair).collect());
        let found: String = cx.par(x).map(usize::to_string).collect();
        assert_eq!(found, x.iter().map(usize::to_string).collect::<String>());
        () = cx.par(x).map(|_| ()).collect();
        let found: Option<Vec<_>> = cx.par(x).map(|n| n.checked_sub(1)).collect();
        assert_eq!(found, x.iter().map(|n| n.checked_sub(1)).collect());
        let small = |n: &usize| if *n < 500 { Ok(*n) } else { Err(*n) };
        let found: Result<HashSet<_>, _> = cx.par(x).map(small).collect();
        assert_eq!(found, x.iter().map(small).collect());

        let (mut found, mut set) = (vec![5], BTreeSet::from([5000]));
        cx.par(x).copied().collect_into(&mut found);
        assert!(found.iter().eq([5].iter().chain(x)));
        cx.par(x)
            .copied()
            .filter(|n| n % 2 == 0)
            .collect_into(&mut set);
        assert!(set.contains(&5000) && set.len() <= x.len() + 1);
        let even = |n: &&usize| n.is_multiple_of(2);
        let (yes, no): (Vec<_>, VecDeque<_>) = cx.par(x).partition(even);
        assert_eq!((yes, no.into()), x.iter().partition::<Vec<_>, _>(even));
        let (found, set): (Vec<_>, HashSet<_>) = cx.par(x).map(pair).unzip();
        assert_eq!((found, set), x.iter().map(pair).unzip());
    });
}

/// `Par::collect` relies on it.
#[test]
fn a_vector_of_a_vector_is_the_same_memory() {
    let vector = vec![1; 1000];
    let memory = vector.as_ptr();
    let vector: Vec<i32> = vector.into_iter().collect();
    assert_eq!(vector.as_ptr(), memory);
}

#[test]
fn sums_and_products() {
    each(|cx, x| {
        let factor = |n: &usize| {
            if n.is_multiple_of(1000) {
                *n as u128 + 2
            } else {
                1
            }
        };
        assert_eq!(
            cx.par(x)
                .map(factor)
                .map(|n| n % 3 + 1)
                .take(80)
                .product::<u128>(),
            x.iter().map(factor).map(|n| n % 3 + 1).take(80).product()
        );
        let checked = cx
            .par(x)
            .map(|n| (*n < 1008).then_some(*n))
            .sum::<Option<usize>>();
        assert_eq!(checked, x.iter().map(|n| (*n < 1008).then_some(*n)).sum());
        // The same bits with any number of workers.
        let mut sum = || {
            cx.par(x)
                .map(|n| 1.0 / (*n as f64 + 0.3))
                .in_order()
                .sum::<f64>()
        };
        let bits = sum().to_bits();
        assert_eq!(sum().to_bits(), bits);
        assert_eq!(
            on(3, |cx| cx
                .par(x)
                .map(|n| 1.0 / (*n as f64 + 0.3))
                .in_order()
                .sum::<f64>())
            .to_bits(),
            bits
        );
        let unordered = cx.par(x).map(|n| 1.0 / (*n as f64 + 0.3)).sum::<f64>();
        assert!((unordered - f64::from_bits(bits)).abs() <= 1e-9 * unordered);
    });
}

#[test]
fn extremes() {
    each(|cx, x| {
        let key = |n: &&usize| (**n as isize - 500).abs();
        let found = cx.par(x).min_by_key(key);
        assert_eq!(found.as_ref().map(key), x.iter().map(|n| key(&n)).min());
        let found = cx.par(x).max_by_key(key);
        assert_eq!(found.as_ref().map(key), x.iter().map(|n| key(&n)).max());
        assert_eq!(cx.par(x).min_by(|a, b| b.cmp(a)), x.iter().max());
        assert_eq!(cx.par(x).max_by(|a, b| b.cmp(a)), x.iter().min());
        // In order: the first of the smallest, the last of the largest, as of iterators.
        let items = || x.iter().enumerate();
        let found = cx
            .par(x)
            .enumerate()
            .in_order()
            .min_by_key(|(_, n)| **n % 10);
        assert_eq!(found, items().min_by_key(|(_, n)| **n % 10));
        let found = cx
            .par(x)
            .enumerate()
            .in_order()
            .max_by_key(|(_, n)| **n % 10);
        assert_eq!(found, items().max_by_key(|(_, n)| **n % 10));
    });
}

#[test]
fn sorts_by_keys() {
    each(|cx, x| {
        let pairs: Vec<(usize, usize)> = x.iter().map(|n| n % 100).zip(0..).collect();
        let mut expected = pairs.clone();
        expected.sort_by_key(|(n, _)| *n);
        let mut sorted = pairs.clone();
        cx.par(&mut sorted).sort_by_key(|(n, _)| *n);
        assert!(sorted == expected);
        let (mut sorted, calls) = (pairs.clone(), AtomicUsize::new(0));
        cx.par(&mut sorted).sort_by_cached_key(|(n, _)| {
            calls.fetch_add(1, SeqCst);
            format!("{n:03}")
        });
        assert!(sorted == expected);
        assert_eq!(calls.into_inner(), x.len(), "each key once");
        let mut sorted = pairs;
        cx.par(&mut sorted).sort_unstable_by_key(|(n, _)| *n);
        assert!(sorted.is_sorted_by_key(|(n, _)| *n));
        sorted.sort_unstable();
        assert!(sorted == expected);
    });
}

/// A value for each worker at most, which may be one that is not sent, and is dropped where it was
/// made.
#[test]
fn initial_values_stay_on_their_workers() {
    for workers in WORKERS {
        let (made, alive) = (AtomicUsize::new(0), AtomicIsize::new(0));
        struct Local<'a>(Rc<Cell<usize>>, std::thread::ThreadId, &'a AtomicIsize);
        impl Drop for Local<'_> {
            fn drop(&mut self) {
                assert_eq!(std::thread::current().id(), self.1);
                self.2.fetch_sub(1, SeqCst);
            }
        }
        let init = || {
            made.fetch_add(1, SeqCst);
            alive.fetch_add(1, SeqCst);
            Local(Rc::new(Cell::new(0)), std::thread::current().id(), &alive)
        };
        on(workers, |cx| {
            let count = |local: &mut Local<'_>, i: usize| {
                assert_eq!(std::thread::current().id(), local.1);
                local.0.set(local.0.get() + 1);
                (i, local.0.get())
            };
            let found: Vec<_> = cx
                .par(0..50_000)
                .map_init(init, count)
                .enumerate()
                .collect();
            assert_eq!(alive.load(SeqCst), 0);
            let firsts = found.iter().filter(|(_, (_, nth))| *nth == 1).count();
            assert_eq!(firsts, made.swap(0, SeqCst));
            assert!(firsts <= workers, "{firsts} values");
            assert!(found.iter().all(|(at, (i, _))| at == i));
            let sum = AtomicUsize::new(0);
            cx.par(0..1000).for_each_init(init, |local, i| {
                count(local, i);
                sum.fetch_add(i, SeqCst);
            });
            assert_eq!(sum.into_inner(), 499_500);
            let in_order = cx
                .par(0..1000)
                .map_init(init, count)
                .in_order()
                .map(|(i, _)| i);
            assert_eq!(in_order.sum::<usize>(), 499_500);
            made.store(0, SeqCst);
            assert_eq!(cx.par(0..0).map_init(init, count).count(), 0);
            assert_eq!(made.swap(0, SeqCst), 0, "no items, no value");
            let ended = catch_unwind(AssertUnwindSafe(|| {
                cx.par(0..1000)
                    .for_each_init(init, |local, i| assert_ne!(count(local, i).0, 500));
            }));
            assert!(ended.is_err());
            assert_eq!(alive.load(SeqCst), 0, "dropped although an item panics");
        });
    }
}

/// Settings reach the loop through all adaptors.
#[test]
fn settings_pass_adaptors() {
    on(2, |cx| {
        let mut report = None;
        let numbers = cx
            .par(0..10_000)
            .named("numbers")
            .schedule(Schedule::Static)
            .explain(&mut report);
        let found: HashSet<_> = numbers.rev().skip(1).flat_map(|n| [n, n]).collect();
        assert_eq!(found.len(), 9999);
        let report = report.expect("a report");
        assert_eq!(
            (report.name, report.schedule),
            (Some("numbers"), Schedule::Static)
        );
    });
}
