//! The stable sort: the order of its results, and what becomes of the items if comparisons panic,
//! are cancelled, contradict each other or change items.

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

fn items(drops: &[AtomicU32]) -> Vec<Item<'_>> {
    let item = |at| Item {
        key: scrambled(at) % 5000,
        at,
        drops,
    };
    (0..drops.len()).map(item).collect()
}

/// Asserts that each item is there once, and drops them: each once.
fn all_once(items: Vec<Item<'_>>, what: &str) {
    let drops = items.first().map_or(&[][..], |item| item.drops);
    let mut positions: Vec<usize> = items.iter().map(|item| item.at).collect();
    positions.sort_unstable();
    assert!(positions.into_iter().eq(0..drops.len()), "{what}");
    drop(items);
    let is_once = |count: &AtomicU32| count.load(SeqCst) == 1;
    assert!(drops.iter().all(is_once), "{what}");
}

/// Sorts items by `compare` and asserts that all are kept. Returns whether the sort completed.
fn keeps_all(
    workers: usize,
    len: usize,
    compare: impl Fn(&Item<'_>, &Item<'_>) -> Ordering + Sync,
    what: &str,
) -> bool {
    let drops = counters(len);
    let mut items = items(&drops);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        on(workers, |cx| cx.par(&mut items).sort_by(&compare));
    }));
    all_once(items, what);
    ended.is_ok()
}

/// A name, and the key of an item by its position and the length.
type Pattern = (&'static str, fn(usize, usize) -> u64);

#[test]
fn runs_and_patterns_are_sorted_as_by_the_standard_library() {
    let patterns: [Pattern; 13] = [
        ("scrambled", |i, _| scrambled(i)),
        ("few keys", |i, _| scrambled(i) % 4),
        ("equal", |_, _| 7),
        ("ascending", |i, _| i as u64),
        ("descending", |i, n| (n - i) as u64),
        ("descending, equal between quarters", |i, n| {
            (n - i + i * 4 / n) as u64
        }),
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
    for (workers, len, panics) in [(1, 1000, 100), (2, 8200, 250), (4, 33_000, 80)] {
        let mut panic_at = usize::MAX;
        let mut step = 0;
        loop {
            let calls = AtomicUsize::new(0);
            let compare = |a: &Item<'_>, b: &Item<'_>| {
                assert!(calls.fetch_add(1, SeqCst) != panic_at, "one comparison");
                a.key.cmp(&b.key)
            };
            let what = format!("{workers} workers, a panic of comparison {panic_at}");
            let is_complete = keeps_all(workers, len, compare, &what);
            match (step, is_complete) {
                // Without a panic: what all comparisons are, of which merges are the last ones.
                (0, true) => (step, panic_at) = (calls.into_inner() / panics, 0),
                (1.., false) => panic_at += step,
                (1.., true) => break,
                (0, false) => panic!("{what}: no comparison should panic"),
            }
        }
    }
}

#[test]
fn comparisons_that_contradict_each_other_lose_no_item() {
    let by_calls = |calls: &AtomicUsize| scrambled(calls.fetch_add(1, SeqCst)) % 3;
    for workers in WORKERS {
        for seed in 0..8 {
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
        let all = AtomicUsize::new(0);
        let compare = |a: &Item<'_>, b: &Item<'_>| {
            all.fetch_add(1, SeqCst);
            a.key.cmp(&b.key)
        };
        keeps_all(workers, LEN, compare, "all comparisons");
        let all = all.into_inner();
        for cancel_at in (0..all).step_by(all / 40) {
            let (token, calls) = (CancelToken::new(), AtomicUsize::new(0));
            let drops = counters(LEN);
            let mut items = items(&drops);
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
            let late = calls.into_inner().saturating_sub(cancel_at);
            // All parts are sorted by then: each worker ends the piece that it merges.
            let is_merging = workers == 2 && cancel_at > all / 10 * 9;
            assert!(
                !is_merging || late < 2 * 2048 + 100,
                "{late} comparisons after"
            );
            all_once(
                items,
                &format!("{workers} workers, cancelled at {cancel_at}"),
            );
        }
    }
}

/// An item that its comparisons change: a stale copy of one would free the number twice, and count
/// too little.
struct Changing {
    key: u64,
    compared: RefCell<Box<usize>>,
}

impl Changing {
    fn change(&self) {
        // In new memory: that of the old number is freed, once.
        let changed = Box::new(**self.compared.borrow() + 1);
        self.compared.replace(changed);
    }
}

#[test]
fn what_comparisons_change_in_items_is_kept() {
    for workers in WORKERS {
        let mut all = 0;
        // Of 16 parts of the comparisons, the merges into the buffer, and those back, are in
        // several.
        for part in [16, 1, 8, 11, 12, 13, 14, 15] {
            let calls = AtomicUsize::new(0);
            let panic_at = if part < 16 {
                all * part / 16
            } else {
                usize::MAX
            };
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
            let calls = calls.into_inner();
            assert_eq!(changes, 2 * calls.min(panic_at), "{workers}, {part}");
            assert_eq!(ended.is_ok(), part == 16, "{workers}, {part}");
            all = all.max(calls);
        }
    }
}

#[test]
fn what_a_comparison_between_merges_changes_is_kept_if_it_panics() {
    // The last item of the left half and the first one of the right half meet once, when each half
    // is in order.
    let key = |i| match i {
        0 => u64::MAX,
        _ if i == LEN - 1 => 0,
        _ => 1 + scrambled(i),
    };
    let item = |i| Changing {
        key: key(i),
        compared: RefCell::default(),
    };
    let mut items: Vec<Changing> = (0..LEN).map(item).collect();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        on(2, |cx| {
            cx.par(&mut items).sort_by(|a, b| {
                if [a.key, b.key] == [0, u64::MAX] {
                    a.change();
                    b.change();
                    panic!("halves meet");
                }
                a.key.cmp(&b.key)
            });
        });
    }));
    assert!(ended.is_err());
    for item in items {
        let is_changed = [0, u64::MAX].contains(&item.key);
        assert_eq!(
            **item.compared.borrow(),
            usize::from(is_changed),
            "{}",
            item.key
        );
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
