//! The stable sort: the order of its results, and what becomes of the items if comparisons panic, are cancelled, contradict each
//! other or change items.

#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;

use crew::on;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use tautline_core::finish::Reason;
use tautline_core::task::CancelToken;

const WORKERS: [usize; 4] = [1, 2, 4, 8];

/// Enough for two levels of merges with two workers, and for four with four: merges are divided.
const LEN: usize = 40_000;

/// A key, its position in the slice that is to be sorted, and a counter of drops.
struct Item<'d> {
    key: u64,
    at: usize,
    drops: &'d [AtomicU32],
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.drops[self.at].fetch_add(1, SeqCst);
    }
}

fn scrambled(i: usize) -> u64 {
    (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

fn counters(len: usize) -> Vec<AtomicU32> {
    (0..len).map(|_| AtomicU32::new(0)).collect()
}

/// Sorts items by `compare` and asserts that each is in the slice once after, and is dropped once. Returns whether the sort
/// completed.
fn keeps_all(
    workers: usize,
    len: usize,
    compare: impl Fn(&Item<'_>, &Item<'_>) -> Ordering + Sync,
    what: &str,
) -> bool {
    let drops = counters(len);
    let drops = &drops[..];
    let item = |at| Item {
        key: scrambled(at) % 5000,
        at,
        drops,
    };
    let mut items: Vec<Item<'_>> = (0..len).map(item).collect();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        on(workers, |cx| cx.par(&mut items).sort_by(&compare));
    }));
    let mut positions: Vec<usize> = items.iter().map(|item| item.at).collect();
    positions.sort_unstable();
    assert!(positions.into_iter().eq(0..len), "{what}: a permutation");
    drop(items);
    let is_once = |count: &AtomicU32| count.load(SeqCst) == 1;
    assert!(drops.iter().all(is_once), "{what}: each is dropped once");
    ended.is_ok()
}

#[test]
fn runs_and_patterns_are_sorted_as_by_the_standard_library() {
    let patterns: [(&str, fn(usize, usize) -> u64); 12] = [
        ("scrambled", |i, _| scrambled(i)),
        ("few keys", |i, _| scrambled(i) % 4),
        ("equal", |_, _| 7),
        ("ascending", |i, _| i as u64),
        ("descending", |i, n| (n - i) as u64),
        ("descending, some equal", |i, n| ((n - i) / 2) as u64),
        ("ascending, a last small one", |i, n| {
            (i as u64 + 1) * u64::from(i + 1 < n)
        }),
        ("descending, a last large one", |i, n| {
            if i + 1 < n { (n - i) as u64 } else { u64::MAX }
        }),
        ("up and down", |i, n| i.min(n - i) as u64),
        ("down and up", |i, n| i.max(n - i) as u64),
        ("ascending, then scrambled", |i, n| {
            if 2 * i < n { i as u64 } else { scrambled(i) }
        }),
        ("descending quarters", |i, n| (i * 4 / n * n + n - i) as u64),
    ];
    for workers in WORKERS {
        for len in [0, 1, 2, 2047, 8191, 8192, 8193, 16_385, LEN] {
            for (name, key) in patterns {
                let mut items: Vec<_> = (0..len).map(|i| (key(i, len), i)).collect();
                let mut expected = items.clone();
                expected.sort_by_key(|item| item.0);
                on(workers, |cx| cx.par(&mut items).sort_by_key(|item| item.0));
                assert!(items == expected, "{workers} workers, {len} keys, {name}");
            }
        }
    }
}

#[test]
fn a_sorted_slice_is_compared_once() {
    for workers in WORKERS {
        for descends in [false, true] {
            let calls = AtomicUsize::new(0);
            let mut items: Vec<usize> = (0..LEN).collect();
            if descends {
                items.reverse();
            }
            on(workers, |cx| {
                cx.par(&mut items).sort_by(|a, b| {
                    calls.fetch_add(1, SeqCst);
                    a.cmp(b)
                });
            });
            assert!(items.into_iter().eq(0..LEN));
            let calls = calls.into_inner();
            // Each part of the slice compares its first items twice, and each merge one pair.
            assert!(calls < LEN + 200, "{workers} workers: {calls} comparisons");
        }
    }
}

#[test]
fn a_panic_of_any_comparison_loses_no_item_and_drops_none_twice() {
    for (workers, len, step) in [(1, 1000, 101), (2, 8200, 211), (4, 33_000, 8009)] {
        let mut panic_at = 0;
        loop {
            let calls = AtomicUsize::new(0);
            let compare = |a: &Item<'_>, b: &Item<'_>| {
                assert!(calls.fetch_add(1, SeqCst) != panic_at, "one comparison");
                a.key.cmp(&b.key)
            };
            let what = format!("{workers} workers, a panic of comparison {panic_at}");
            if keeps_all(workers, len, compare, &what) {
                break;
            }
            panic_at += step;
        }
        assert!(panic_at > 2 * len, "{panic_at}");
    }
}

#[test]
fn comparisons_that_contradict_each_other_lose_no_item() {
    let by_calls = |calls: &AtomicUsize| scrambled(calls.fetch_add(1, SeqCst)) % 3;
    for workers in WORKERS {
        for seed in 0..20 {
            let calls = AtomicUsize::new(1000 * seed);
            let random = |_: &Item<'_>, _: &Item<'_>| by_calls(&calls).cmp(&1);
            keeps_all(workers, LEN, random, "random");
        }
        let constants = [Ordering::Less, Ordering::Equal, Ordering::Greater];
        for constant in constants {
            keeps_all(workers, LEN, |_, _| constant, "constant");
        }
        let rotating = |a: &Item<'_>, b: &Item<'_>| (a.key % 3).cmp(&((b.key + 1) % 3));
        keeps_all(workers, LEN, rotating, "a circle");
    }
}

#[test]
fn a_cancelled_sort_keeps_all_items() {
    for workers in [2, 4] {
        for cancel_at in (0..600_000).step_by(29_989) {
            let (token, calls) = (CancelToken::new(), AtomicUsize::new(0));
            let drops = counters(LEN);
            let item = |at| Item {
                key: scrambled(at),
                at,
                drops: &drops,
            };
            let mut items: Vec<Item<'_>> = (0..LEN).map(item).collect();
            on(workers, |cx| {
                let ended = cx.finish_until(&token, |cx| {
                    cx.par(&mut items).sort_by(|a, b| {
                        if calls.fetch_add(1, SeqCst) == cancel_at {
                            token.cancel(Reason::Found);
                        }
                        a.key.cmp(&b.key)
                    });
                });
                let is_cancelled = calls.load(SeqCst) > cancel_at;
                assert_eq!(ended.is_err(), is_cancelled, "{workers}, {cancel_at}");
            });
            let mut positions: Vec<usize> = items.iter().map(|item| item.at).collect();
            positions.sort_unstable();
            assert!(positions.into_iter().eq(0..LEN), "{workers}, {cancel_at}");
            drop(items);
            assert!(drops.iter().all(|count| count.load(SeqCst) == 1));
        }
    }
}

/// An item that its comparisons change: a stale copy of one would free the number twice, and count too little.
struct Changing {
    key: u64,
    compared: RefCell<Box<usize>>,
}

impl Changing {
    fn change(&self) {
        let mut compared = self.compared.borrow_mut();
        *compared = Box::new(**compared + 1);
    }
}

#[test]
fn what_comparisons_change_in_items_is_kept() {
    for workers in WORKERS {
        for panic_at in [usize::MAX, 100, 300_000, 450_000, 550_000] {
            let calls = AtomicUsize::new(0);
            let item = |i| Changing {
                key: scrambled(i),
                compared: RefCell::default(),
            };
            let mut items: Vec<Changing> = (0..LEN).map(item).collect();
            let ended = catch_unwind(AssertUnwindSafe(|| {
                on(workers, |cx| {
                    cx.par(&mut items).sort_by(|a, b| {
                        assert!(calls.fetch_add(1, SeqCst) < panic_at, "one comparison");
                        a.change();
                        b.change();
                        a.key.cmp(&b.key)
                    });
                });
            }));
            let changes: usize = items.iter().map(|item| **item.compared.borrow()).sum();
            assert_eq!(changes, 2 * calls.into_inner().min(panic_at), "{workers}");
            assert_eq!(ended.is_ok(), items.is_sorted_by_key(|item| item.key));
        }
    }
}

#[test]
fn items_without_bytes_are_dropped_once() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPS.fetch_add(1, SeqCst);
        }
    }
    let mut items: Vec<Nothing> = (0..LEN).map(|_| Nothing).collect();
    on(4, |cx| cx.par(&mut items).sort_by(|_, _| Ordering::Less));
    assert_eq!(DROPS.load(SeqCst), 0);
    drop(items);
    assert_eq!(DROPS.load(SeqCst), LEN);
}

#[test]
fn large_items_are_moved_whole() {
    for workers in WORKERS {
        let item = |i| [scrambled(i); 100];
        let mut items: Vec<[u64; 100]> = (0..10_000).map(item).collect();
        on(workers, |cx| {
            cx.par(&mut items).sort_by_key(|item| item[99])
        });
        assert!(items.is_sorted() && items.iter().all(|item| item.iter().all(|n| *n == item[0])));
    }
}
