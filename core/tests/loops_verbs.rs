//! The verbs of parallel iteration against those of sequential iterators, without items, with one and with many; which failure is
//! returned; panics, drops and cancellation.

#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;

use crew::{Cx, on};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::SeqCst};
use tautline_core::finish::Reason;
use tautline_core::loops::Schedule;

const WORKERS: [usize; 3] = [1, 2, 4];
const LENGTHS: [usize; 6] = [0, 1, 2, 7, 1000, 30_000];

/// Calls `test` for each number of workers and each length, with as many numbers, of which many are equal.
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
fn ranges_of_all_integers() {
    macro_rules! check {
        ($cx:ident: $($range:expr),* $(,)?) => {$(
            let found: Vec<_> = $cx.par($range).collect();
            assert!($range.eq(found), "{}", stringify!($range));
        )*};
    }
    for workers in WORKERS {
        on(workers, |cx| {
            check!(cx: 0..200u8, 0..=u8::MAX, 9..3u8, 9..=8u8, 7..=7u8);
            check!(cx: i8::MIN..i8::MAX, i8::MIN..=i8::MAX, -1..=1i8);
            check!(cx: 0..=u16::MAX, i16::MIN..=i16::MAX);
            check!(cx: u32::MAX - 3..=u32::MAX, i32::MAX - 3..=i32::MAX, i32::MIN..i32::MIN + 9);
            check!(cx: u64::MAX - 3..=u64::MAX, i64::MIN..=i64::MIN + 9, 0..1000u64);
            check!(cx: u128::MAX - 3..=u128::MAX, i128::MIN..i128::MIN + 999);
            check!(cx: usize::MAX - 3..=usize::MAX, -999..=isize::MIN + 3, -7..9isize);
            check!(cx: 'a'..='z', 'a'..'a', 'z'..='a', '\0'..=char::MAX);
            check!(cx: '\u{d7fe}'..='\u{e001}', '\u{d7ff}'..'\u{e000}', '\u{e000}'..'\u{f000}');
            let mut used = 1..=3;
            while used.next().is_some() {}
            assert_eq!(cx.par(used).count(), 0, "a range that was iterated over");
            assert_eq!(
                cx.par(i64::MIN..=i64::MAX - 1).find_first(|_| true),
                Some(i64::MIN)
            );
            let chunks: Vec<_> = cx.par('a'..'f').chunks(2).collect();
            assert_eq!(chunks, ['a'..'c', 'c'..'e', 'e'..'f']);
            // The type of the collection determines that of the numbers.
            let numbers: Vec<u16> = cx.par(0..3).chain(7..=8).rev().collect();
            assert_eq!(numbers, [8, 7, 2, 1, 0]);
        });
    }
    for run in [
        (|cx| cx.par(0..=usize::MAX).any(|_| true)) as fn(&mut Cx<'_, '_>) -> bool,
        |cx| cx.par(0..u128::MAX).any(|_| true),
    ] {
        assert!(
            catch_unwind(|| on(1, run)).is_err(),
            "a loop that is too long"
        );
    }
}

#[test]
fn values_that_own_their_items() {
    for workers in WORKERS {
        on(workers, |cx| {
            let boxed: Box<[String]> = ["a", "b"].map(String::from).into();
            assert_eq!(cx.par(&boxed).map(String::len).sum::<usize>(), 2);
            assert_eq!(cx.par(boxed).collect::<Vec<_>>(), ["a", "b"]);
            let found: Vec<String> = cx.par(["c", "d"].map(String::from)).rev().collect();
            assert_eq!(found, ["d", "c"]);
            let mut boxed: Box<[u8]> = Box::new([1, 2]);
            cx.par(&mut boxed).for_each(|n| *n *= 2);
            assert_eq!(*boxed, [2, 4]);
        });
    }
}

/// Texts with separators of several bytes, at the ends, in a row, and none.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        "a",
        "\n",
        "\r\n",
        "a\r",
        "a\nb",
        "\na\r\n\r\nb\n",
        "a\r\r\nb",
        " a  b ",
        "ä\u{2003}ö\u{2003}",
        "\u{2003}",
    ]
    .map(String::from)
    .into();
    texts.push("x".repeat(5000));
    texts.push("word ".repeat(5000));
    texts.push(
        (0..20_000)
            .map(|i| char::from(b"ab \n"[i * i % 97 % 4]))
            .collect(),
    );
    texts.push(
        (0..9000)
            .map(|i| ['€', '\n', 'é', '\u{2003}', 'z'][i * i % 13 % 5])
            .collect(),
    );
    texts.push(format!("{}\n{}", "long ".repeat(3000), "line\n".repeat(10)));
    texts
}

#[test]
fn strings_by_characters_lines_and_words() {
    for workers in WORKERS {
        for text in &texts() {
            on(workers, |cx| {
                // Fixed sizes of chunks divide a text at each of its bytes.
                for schedule in [Schedule::Auto, Schedule::Dynamic(1), Schedule::Static] {
                    let found: String = cx.par(text).schedule(schedule).collect();
                    assert_eq!(&found, text);
                    let found: Vec<&str> = cx.par(text).schedule(schedule).lines().collect();
                    assert!(text.lines().eq(found), "{text:.20}, {schedule:?}");
                    let words = cx.par(text.as_str()).schedule(schedule).split_whitespace();
                    let found: Vec<&str> = words.collect();
                    assert!(
                        text.split_whitespace().eq(found),
                        "{text:.20}, {schedule:?}"
                    );
                    let separates = |c| c == 'b' || c == '€';
                    let parts = cx.par(text).schedule(schedule).split(separates);
                    let found: Vec<&str> = parts.collect();
                    assert!(text.split_terminator(separates).eq(found), "{text:.20}");
                }
            });
        }
    }
}

/// A text that is one long line is not searched once for each claim.
#[test]
fn a_long_line_is_searched_once() {
    let (text, calls) = ("x".repeat(100_000), AtomicUsize::new(0));
    on(4, |cx| {
        let parts = cx.par(&text).schedule(Schedule::Dynamic(1));
        let count = parts
            .split(|_| calls.fetch_add(1, SeqCst) == usize::MAX)
            .count();
        assert_eq!(count, 1);
    });
    // Twice or thrice each byte: by its claim, as the byte before the next claim, and as a part of the line.
    assert!(calls.into_inner() <= 300_000);
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

#[test]
fn searches() {
    each(|cx, x| {
        for wanted in [0, 1, 500, 1008, 5000] {
            let is = |n: &usize| *n == wanted;
            let first = x.iter().position(is);
            assert_eq!(cx.par(x).position_first(is), first);
            let any = cx.par(x).position_any(is);
            assert_eq!(any.map(|at| x[at]), first.map(|_| wanted));
            let found = cx.par(x).enumerate().find_first(|(_, n)| is(n));
            assert_eq!(found.map(|(at, _)| at), first);
            let pairs = || cx_filter(x);
            let found = cx
                .par(x)
                .enumerate()
                .filter(|(i, _)| i % 3 > 0)
                .find_map_first(|(i, n)| is(n).then_some(i));
            assert_eq!(found, pairs().find(|(_, n)| is(n)).map(|(i, _)| i));
            let found = cx.par(x).find_map_any(|n| is(n).then_some(*n));
            assert_eq!(found, first.map(|_| wanted));
            let last = cx.par(x).rev().position_first(is);
            assert_eq!(last, x.iter().rev().position(is));
        }
    });
}

fn cx_filter(x: &[usize]) -> impl Iterator<Item = (usize, &usize)> {
    x.iter().enumerate().filter(|(i, _)| i % 3 > 0)
}

/// The first of many, wherever the workers are: later ones take less time.
#[test]
fn the_first_is_found_although_others_are_found_earlier() {
    for workers in WORKERS {
        on(workers, |cx| {
            for first in [0, 1, 77, 5000, 9999] {
                let slow = |i: usize| {
                    (0..(10_000 - i) / 10).for_each(|_| std::hint::spin_loop());
                    i
                };
                assert_eq!(
                    cx.par(0..10_000).map(slow).find_first(|i| *i >= first),
                    Some(first)
                );
                assert_eq!(
                    cx.par(0..10_000).map(slow).position_first(|i| i >= first),
                    Some(first)
                );
                let check = |i| if slow(i) < first { Ok(()) } else { Err(i) };
                assert_eq!(cx.par(0..10_000).try_for_each(check), Err(first));
                let found: Result<Vec<()>, _> = cx.par(0..10_000).map(check).try_collect();
                assert_eq!(found, Err(first));
                let found: Result<Vec<()>, _> = cx.par(0..10_000).map(check).collect();
                assert_eq!(found, Err(first));
            }
        });
    }
}

/// A loop that cannot end otherwise.
#[test]
fn the_rest_is_left_out() {
    for workers in WORKERS {
        on(workers, |cx| {
            assert_eq!(
                cx.par(0..u64::MAX).find_first(|i| *i > 12_345),
                Some(12_346)
            );
            assert_eq!(
                cx.par(0..u64::MAX).find_map_first(|i| i.checked_sub(999)),
                Some(0)
            );
            assert_eq!(cx.par(0..usize::MAX).position_first(|i| i == 70), Some(70));
            assert!(
                cx.par(0..usize::MAX)
                    .find_map_any(|i| i.checked_sub(9))
                    .is_some()
            );
            assert!(
                cx.par(0..usize::MAX)
                    .position_any(|i| i == 70_000)
                    .is_some()
            );
            let check = |i| if i < 4321 { Ok(()) } else { Err(i) };
            assert_eq!(cx.par(0..u64::MAX).try_for_each(check), Err(4321));
            let add = |sum: u8, n: u64| sum.checked_add((n % 2) as u8);
            assert_eq!(
                cx.par(0..u64::MAX).try_fold(|| 0, add, u8::checked_add),
                None
            );
            let ones = cx.par(0..u64::MAX).map(|i| (i < 9).then_some(1));
            assert_eq!(ones.try_reduce(|| 0, i32::checked_add), None);
            let calls = AtomicUsize::new(0);
            let found: Option<Vec<u32>> = cx
                .par(0..1_000_000_000u32)
                .filter_map(|i| {
                    calls.fetch_add(1, SeqCst);
                    Some((i < 100).then_some(i))
                })
                .try_collect();
            assert!(found.is_none() && calls.into_inner() < 100_000_000);
        });
    }
}

#[test]
fn bodies_that_may_fail() {
    each(|cx, x| {
        let check = |n: &usize| if *n < 1000 { Ok(*n) } else { Err(*n) };
        let expected: Result<Vec<_>, _> = x.iter().map(check).collect();
        let found: Result<Vec<_>, _> = cx.par(x).map(check).try_collect();
        assert_eq!(found, expected);
        let found = cx.par(x).try_for_each(|n| check(n).map(drop));
        assert_eq!(found, expected.as_ref().map(drop).map_err(|n| *n));
        let found = cx.par(x).try_for_each(|n| check(n).ok().map(drop));
        assert_eq!(found.is_some(), expected.is_ok());
        let found = cx.par(x).try_for_each(|n| match check(n) {
            Ok(_) => ControlFlow::Continue(()),
            Err(n) => ControlFlow::Break(n),
        });
        assert_eq!(found.break_value(), expected.as_ref().err().copied());
        let sum = expected.map(|x| x.iter().sum::<usize>());
        let fold = |sum, n: &usize| check(n).map(|n| sum + n);
        assert_eq!(cx.par(x).try_fold(|| 0, fold, |a, b| Ok(a + b)), sum);
        assert_eq!(
            cx.par(x).in_order().try_fold(|| 0, fold, |a, b| Ok(a + b)),
            sum
        );
        assert_eq!(cx.par(x).map(check).try_reduce(|| 0, |a, b| Ok(a + b)), sum);
        // Associative but not commutative.
        let letters = |n: &usize| Some(n.to_string());
        let joined = cx
            .par(x)
            .in_order()
            .map(letters)
            .try_reduce(String::new, |a, b| Some(a + &b));
        assert_eq!(joined, x.iter().map(letters).collect());
        // A combination that fails.
        let failed = cx
            .par(x)
            .try_fold(|| 0, |a, _| Ok(a + 1), |_, _| Err::<usize, _>("combined"));
        assert!(failed == Ok(x.len()) || failed == Err("combined"));
    });
}

/// A value for each worker at most, which may be one that is not sent, and is dropped where it was made.
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

/// Counts the values that are alive; a second drop of one makes it negative.
struct Counted(usize, Arc<AtomicIsize>);

impl Counted {
    fn new(n: usize, alive: &Arc<AtomicIsize>) -> Self {
        alive.fetch_add(1, SeqCst);
        Self(n, Arc::clone(alive))
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new(self.0, &self.1)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(1, SeqCst);
    }
}

/// A verb that consumes counted items, and calls its last argument with each.
type Owning = (
    &'static str,
    fn(&mut Cx<'_, '_>, Vec<Counted>, &(dyn Fn(usize) + Sync)),
);

const OWNING: &[Owning] = &[
    ("filter_map", |cx, items, step| {
        let some = |item: Counted| {
            step(item.0);
            item.0.is_multiple_of(3).then_some(item)
        };
        _ = cx.par(items).filter_map(some).collect::<Vec<_>>();
    }),
    ("flat_map", |cx, items, step| {
        let twice = |item: Counted| [item.clone(), item];
        _ = cx
            .par(items)
            .flat_map(twice)
            .inspect(|item| step(item.0))
            .collect::<Vec<_>>();
    }),
    ("flatten", |cx, items, step| {
        let lists: Vec<_> = items.into_iter().map(|item| vec![item]).collect();
        cx.par(lists).flatten().for_each(|item| step(item.0));
    }),
    ("cloned", |cx, items, step| {
        _ = cx
            .par(&items)
            .cloned()
            .update(|item| step(item.0))
            .collect::<VecDeque<_>>();
    }),
    ("rev", |cx, items, step| {
        _ = cx
            .par(items)
            .rev()
            .inspect(|item| step(item.0))
            .collect::<Vec<_>>();
    }),
    ("step_by, skip, take", |cx, items, step| {
        let some = cx.par(items).skip(5).take(2000).step_by(3);
        some.for_each(|item| step(item.0));
    }),
    ("chain", |cx, mut items, step| {
        let second = items.split_off(items.len() / 2);
        _ = cx
            .par(items)
            .chain(second)
            .inspect(|item| step(item.0))
            .collect::<Vec<_>>();
    }),
    ("map_init", |cx, items, step| {
        let keep = |last: &mut Option<_>, item: Counted| {
            step(item.0);
            last.replace(item)
        };
        _ = cx.par(items).map_init(|| None, keep).collect::<Vec<_>>();
    }),
    ("collect into a set", |cx, items, step| {
        let numbers = cx.par(items).map(|item| {
            step(item.0);
            item.0
        });
        _ = numbers.collect::<HashSet<_>>();
    }),
    ("partition", |cx, items, step| {
        _ = cx.par(items).partition::<Vec<_>, Vec<_>>(|item| {
            step(item.0);
            item.0.is_multiple_of(2)
        });
    }),
    ("unzip", |cx, items, step| {
        let pairs = cx.par(items).map(|item| {
            step(item.0);
            (item.clone(), item)
        });
        _ = pairs.unzip::<_, _, Vec<_>, Vec<_>>();
    }),
    ("try_collect", |cx, items, step| {
        let some = |item: Counted| {
            step(item.0);
            (item.0 < 2900).then_some(item)
        };
        _ = cx.par(items).map(some).try_collect::<Option<Vec<_>>>();
    }),
    ("try_fold", |cx, items, step| {
        let last = |_: Option<Counted>, item: Counted| {
            step(item.0);
            if item.0 < 2900 {
                Ok(Some(item))
            } else {
                Err(item.0)
            }
        };
        _ = cx.par(items).try_fold(|| None, last, |a, b| Ok(a.or(b)));
    }),
    ("find_first", |cx, items, step| {
        _ = cx.par(items).find_first(|item| {
            step(item.0);
            item.0 > 2500
        });
    }),
    ("min_by_key", |cx, items, step| {
        _ = cx.par(items).min_by_key(|item| {
            step(item.0);
            item.0
        });
    }),
    ("max_by", |cx, items, step| {
        _ = cx.par(items).max_by(|a, b| {
            step(a.0);
            a.0.cmp(&b.0)
        });
    }),
    ("sort_by_cached_key", |cx, mut items, step| {
        cx.par(&mut items).sort_by_cached_key(|item| {
            step(item.0);
            item.0 % 100
        });
    }),
    ("sort_by_key", |cx, mut items, step| {
        cx.par(&mut items).sort_by_key(|item| {
            step(item.0);
            item.0 % 100
        });
    }),
];

#[test]
fn each_item_is_dropped_once_whether_a_body_panics_or_not() {
    for workers in WORKERS {
        for (name, run) in OWNING {
            for panics_at in [0, 1, 1499, usize::MAX] {
                let alive = Arc::new(AtomicIsize::new(0));
                let items = (0..3000).map(|n| Counted::new(n, &alive)).collect();
                let ended = catch_unwind(AssertUnwindSafe(|| {
                    on(workers, |cx| {
                        // Some verbs do not see each item.
                        run(cx, items, &|n| {
                            assert!(n < panics_at || n > panics_at + 5, "item")
                        });
                    });
                }));
                assert_eq!(ended.is_err(), panics_at < 3000, "{name}, {panics_at}");
                assert_eq!(
                    alive.load(SeqCst),
                    0,
                    "{name}, {workers} workers, {panics_at}"
                );
            }
        }
    }
}

#[test]
fn a_cancelled_loop_drops_its_items_and_unwinds() {
    for workers in WORKERS {
        on(workers, |cx| {
            for (name, run) in OWNING {
                for is_early in [true, false] {
                    let (alive, steps) = (Arc::new(AtomicIsize::new(0)), AtomicUsize::new(0));
                    let items = (0..3000).map(|n| Counted::new(n, &alive)).collect();
                    let ended = cx.finish(|cx| {
                        if is_early {
                            cx.cancel(Reason::Found);
                        }
                        let task = cx.task();
                        run(cx, items, &|_| {
                            assert!(!is_early, "{name}: an item of a cancelled loop");
                            if steps.fetch_add(1, SeqCst) == 50 {
                                task.cancel(Reason::Found);
                            }
                        });
                        assert!(!is_early, "{name} has returned");
                    });
                    assert!(ended.is_err(), "{name}");
                    assert_eq!(alive.load(SeqCst), 0, "{name}, {workers} workers");
                }
            }
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
