//! Results that depend on order: reductions in a fixed order, sorting, prefix sums.

#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;

use crew::on;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const WORKERS: [usize; 4] = [1, 2, 4, 8];

/// Numbers without a pattern.
fn scrambled(len: usize, below: u64) -> Vec<u64> {
    let scramble = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % below;
    (0..len as u64).map(scramble).collect()
}

#[test]
fn sums_in_order_have_the_same_bits_with_any_number_of_workers() {
    let numbers: Vec<f64> = scrambled(100_003, 1 << 40)
        .iter()
        .map(|n| 1.0 / (1 + n) as f64)
        .collect();
    let mut bits = Vec::new();
    for workers in WORKERS {
        for _ in 0..3 {
            on(workers, |cx| {
                bits.push(
                    cx.par(&numbers)
                        .map(|n| *n)
                        .in_order()
                        .sum::<f64>()
                        .to_bits(),
                )
            });
        }
    }
    assert!(bits.iter().all(|b| *b == bits[0]), "{bits:?}");
    let error = f64::from_bits(bits[0]) / numbers.iter().sum::<f64>() - 1.0;
    assert!(error.abs() < 1e-9, "{error}");
}

#[test]
fn operations_in_order_need_not_commute() {
    for workers in WORKERS {
        for len in [0, 1, 2, 4095, 4096, 4097, 9000] {
            let expected: String = (0..len).map(|i: u32| i.to_string()).collect();
            on(workers, |cx| {
                let text = cx.par(0..len).map(|i| i.to_string()).in_order();
                assert_eq!(text.reduce(String::new, |a, b| a + &b), expected);
            });
        }
    }
}

#[test]
fn sorts_agree_with_the_standard_library() {
    for workers in WORKERS {
        for len in [0, 1, 2, 31, 5000, 60_000] {
            for below in [1, 2, 10, 1 << 40] {
                let numbers = scrambled(len, below);
                let mut sorted = numbers.clone();
                sorted.sort_unstable();
                let reverse = sorted.iter().rev().copied().collect();
                for mut numbers in [numbers, sorted.clone(), reverse] {
                    on(workers, |cx| cx.par(&mut numbers).sort_unstable());
                    assert_eq!(
                        numbers, sorted,
                        "{workers} workers, {len} numbers below {below}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_comparison_that_panics_leaves_a_permutation() {
    for workers in WORKERS {
        for panic_at in [0, 1, 100, 40_000, 300_000] {
            for is_stable in [false, true] {
                let expected: Vec<String> =
                    scrambled(20_000, 5000).iter().map(u64::to_string).collect();
                let (mut words, calls) = (expected.clone(), AtomicUsize::new(0));
                let compare = |a: &String, b: &String| {
                    assert!(calls.fetch_add(1, SeqCst) < panic_at, "one comparison");
                    a.cmp(b)
                };
                let ended = catch_unwind(AssertUnwindSafe(|| {
                    on(workers, |cx| match is_stable {
                        true => cx.par(&mut words).sort_by(compare),
                        false => cx.par(&mut words).sort_unstable_by(compare),
                    });
                }));
                assert!(
                    ended.is_err() || panic_at == 300_000,
                    "{workers}, {panic_at}, {is_stable}"
                );
                let mut expected = expected;
                expected.sort_unstable();
                words.sort_unstable();
                assert!(
                    words == expected,
                    "{workers} workers, a panic at {panic_at}, {is_stable}"
                );
            }
        }
    }
}

#[test]
fn prefix_sums_include_each_item_once() {
    for workers in WORKERS {
        for len in [0, 1, 2, 1023, 1024, 1025, 2048, 2049, 3072, 300_000] {
            let mut numbers = scrambled(len, 1000);
            let mut expected = numbers.clone();
            (1..len).for_each(|i| expected[i] += expected[i - 1]);
            on(workers, |cx| cx.par(&mut numbers).scan(|a, b| a + b));
            assert!(numbers == expected, "{workers} workers, {len} numbers");
        }
    }
}

#[test]
fn prefixes_combine_from_left_to_right() {
    for workers in WORKERS {
        let mut ranges: Vec<(usize, usize)> = (0..5000).map(|i| (i, i + 1)).collect();
        on(workers, |cx| {
            cx.par(&mut ranges).scan(|a, b| {
                assert_eq!(a.1, b.0, "neighbours");
                (a.0, b.1)
            });
        });
        assert!(ranges.into_iter().eq((0..5000).map(|i| (0, i + 1))));
    }
}
