//! Searches and bodies that may fail: what they return, and what they leave out.

use super::{WORKERS, each, on};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

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
                cx.par(0..usize::MAX as u64).find_first(|i| *i > 12_345),
                Some(12_346)
            );
            assert_eq!(
                cx.par(0..usize::MAX as u64)
                    .find_map_first(|i| i.checked_sub(999)),
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
            assert_eq!(cx.par(0..usize::MAX as u64).try_for_each(check), Err(4321));
            let add = |sum: u8, n: u64| sum.checked_add((n % 2) as u8);
            assert_eq!(
                cx.par(0..usize::MAX as u64)
                    .try_fold(|| 0, add, u8::checked_add),
                None
            );
            let ones = cx.par(0..usize::MAX as u64).map(|i| (i < 9).then_some(1));
            assert_eq!(ones.try_reduce(|| 0, i32::checked_add), None);
            let some = cx
                .par(0..usize::MAX as u64)
                .map(|i| (i < 4321).then_some(i));
            assert_eq!(some.try_collect::<Option<Vec<_>>>(), None);
            let calls = AtomicUsize::new(0);
            let found: Option<Vec<u32>> = cx
                .par(0..100_000_000u32)
                .map(|i| {
                    calls.fetch_add(1, SeqCst);
                    (i != 100).then_some(i)
                })
                .try_collect();
            assert!(found.is_none() && calls.into_inner() < 50_000_000);
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
