//! The recipes in the rows of the guide, for verbs that have no method of their own.

use super::each;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Mutex;

#[test]
fn other_collections() {
    each(|cx| {
        let map = HashMap::from([("a", 1), ("b", 2)]);
        let sum: i32 = cx
            .par(map.iter().collect::<Vec<_>>())
            .map(|(_, n)| *n)
            .sum();
        assert_eq!(sum, 3);
        let lines = "x\ny".lines();
        assert_eq!(cx.par(lines.collect::<Vec<_>>()).count(), 2);
        let mut v = vec![1, 2, 3, 4];
        assert_eq!(cx.par(v.drain(1..3).collect::<Vec<_>>()).sum::<i32>(), 5);
        assert_eq!(cx.par(std::mem::take(&mut v)).sum::<i32>(), 5);
        assert!(v.is_empty());
        assert_eq!(
            cx.par(0..3).map(|_| "x".to_string()).collect::<String>(),
            "xxx"
        );
        assert_eq!(cx.par(["one"]).count(), 1);
        assert_eq!(cx.par([0u8; 0]).count(), 0);
    });
}

#[test]
fn values_that_are_cloned() {
    each(|cx| {
        let (sum, prefix) = (Mutex::new(0), vec![1, 2]);
        cx.par(0..5).for_each_init(
            || prefix.clone(),
            |prefix, n| *sum.lock().unwrap() += prefix[0] + n,
        );
        assert_eq!(sum.into_inner().unwrap(), 15);
        let found: Vec<_> = cx
            .par(0..3)
            .map_init(|| prefix.clone(), |prefix, n| prefix[1] * n)
            .collect();
        assert_eq!(found, [0, 2, 4]);
        let checked = cx
            .par(0..9)
            .map_init(|| 5, |limit, n| if n < *limit { Ok(()) } else { Err(n) });
        assert_eq!(checked.try_for_each(|result| result), Err(5));
        // A reduction that may fail, without an identity.
        let fold = |sum: Option<u8>, n: &u8| match sum {
            None => Some(Some(*n)),
            Some(sum) => sum.checked_add(*n).map(Some),
        };
        let combine = |a: Option<u8>, b: Option<u8>| match (a, b) {
            (Some(a), Some(b)) => a.checked_add(b).map(Some),
            (one, None) | (None, one) => Some(one),
        };
        assert_eq!(
            cx.par(&[100, 99]).try_fold(|| None, fold, combine),
            Some(Some(199))
        );
        assert_eq!(cx.par(&[200, 99]).try_fold(|| None, fold, combine), None);
        assert_eq!(cx.par(&[]).try_fold(|| None, fold, combine), Some(None));
    });
}

#[test]
fn the_last_and_all_positions() {
    each(|cx| {
        let v = [4, 7, 4, 9];
        assert_eq!(
            cx.par(&v)
                .enumerate()
                .rev()
                .find_first(|(_, x)| **x == 4)
                .map(|(i, _)| i),
            Some(2)
        );
        assert_eq!(cx.par(&v).rev().find_first(|x| **x < 9), Some(&4));
        assert_eq!(
            cx.par(&v)
                .rev()
                .find_map_first(|x| (x % 2 == 1).then_some(x)),
            Some(&9)
        );
        let found: Vec<_> = cx
            .par(&v)
            .enumerate()
            .filter(|(_, x)| **x == 4)
            .map(|(i, _)| i)
            .collect();
        assert_eq!(found, [0, 2]);
    });
}

#[test]
fn two_collections() {
    each(|cx| {
        let parse = |word: &&str| word.parse::<i32>().map_err(|_| word.to_string());
        let (good, bad) = cx
            .par(&["1", "x", "2"])
            .map(parse)
            .partition::<Vec<_>, Vec<_>>(Result::is_ok);
        assert!(good.into_iter().flatten().eq([1, 2]));
        assert!(bad.into_iter().filter_map(Result::err).eq(["x"]));
        let (mut a, mut b) = (vec![9], vec![9]);
        assert_eq!((a.len(), b.len()), (1, 1));
        (a, b) = cx.par(0..3).map(|n| (n, n * n)).unzip();
        assert_eq!((a, b), (vec![0, 1, 2], vec![0, 1, 4]));
        let mut w = vec![7];
        cx.par(0..2).collect_into(&mut w);
        assert_eq!(w, [7, 0, 1]);
    });
}

#[test]
fn interleaved() {
    each(|cx| {
        let spaced: Vec<_> = cx.par(&[1, 2, 3]).flat_map(|n| [0, *n]).collect();
        assert_eq!(spaced[1..], [1, 0, 2, 0, 3]);
        let (v, w) = ([1, 3], [2, 4]);
        let mixed: Vec<i32> = cx.par(&v).zip(&w).flat_map(|(a, b)| [*a, *b]).collect();
        assert_eq!(mixed, [1, 2, 3, 4]);
        let sums: Vec<i32> = cx
            .par(&mixed)
            .chunks(3)
            .map(|chunk| chunk.iter().sum())
            .collect();
        assert_eq!(sums, [6, 4]);
    });
}

#[test]
fn comparisons() {
    each(|cx| {
        let mut compare = |v: &[u8], w: &[u8]| {
            let first = cx
                .par(v)
                .zip(w)
                .map(|(a, b)| a.cmp(b))
                .find_first(|o| o.is_ne());
            first.unwrap_or(v.len().cmp(&w.len()))
        };
        assert_eq!(compare(b"abc", b"abd"), Ordering::Less);
        assert_eq!(compare(b"abc", b"abc"), Ordering::Equal);
        assert_eq!(compare(b"b", b"abc"), Ordering::Greater);
        assert_eq!(compare(b"ab", b"abc"), Ordering::Less);
        let (v, w) = ([1, 2], [1, 3]);
        assert!(!(v.len() == w.len() && cx.par(&v).zip(&w).all(|(a, b)| a == b)));
    });
}

#[test]
fn slices_and_strings() {
    each(|cx| {
        let mut v = [1, 2, 0, 3, 3, 0, 5];
        let from_the_end: Vec<i32> = cx
            .par(v.rchunks(3).collect::<Vec<_>>())
            .map(|c| c.iter().sum())
            .collect();
        assert_eq!(from_the_end, [8, 5, 1]);
        assert_eq!(
            cx.par(v.split(|n| *n == 0).collect::<Vec<_>>())
                .map(<[_]>::len)
                .sum::<usize>(),
            5
        );
        assert_eq!(
            cx.par(v.chunk_by(|a, b| a <= b).collect::<Vec<_>>())
                .count(),
            3
        );
        cx.par(v.rchunks_exact_mut(2).collect::<Vec<_>>())
            .for_each(|pair| pair.swap(0, 1));
        assert_eq!(v, [1, 0, 2, 3, 3, 5, 0]);
        let (mut x, y, k) = ([0; 5], [1, 2, 3, 4, 5], 2);
        let parts = cx.par(&mut x).chunks(k).enumerate();
        parts.for_each(|(i, x)| x.copy_from_slice(&y[i * k..][..x.len()]));
        assert_eq!(x, y);
        let text = "a-b  c";
        assert_eq!(cx.par(text.as_bytes()).copied().max(), Some(b'c'));
        let words = cx
            .par(text)
            .split(|c| c.is_ascii_whitespace())
            .filter(|word| !word.is_empty());
        assert_eq!(words.collect::<Vec<_>>(), ["a-b", "c"]);
        assert_eq!(
            cx.par(text.match_indices(' ').collect::<Vec<_>>())
                .map(|(i, _)| i)
                .max(),
            Some(4)
        );
    });
}
