//! One test a verb of the same name.

use super::each;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[test]
fn for_each() {
    each(|cx| {
        let sum = AtomicU64::new(0);
        cx.par(1..=100u64)
            .for_each(|n| _ = sum.fetch_add(n * n, Relaxed));
        assert_eq!(sum.into_inner(), (1..=100).map(|n| n * n).sum());
    });
}

#[test]
fn for_each_init() {
    each(|cx| {
        let lines = Mutex::new(BTreeSet::new());
        cx.par(0..50u32).for_each_init(String::new, |buffer, n| {
            buffer.clear();
            buffer.push_str(&n.to_string());
            lines.lock().unwrap().insert(buffer.clone());
        });
        assert_eq!(
            lines.into_inner().unwrap(),
            (0..50).map(|n: u32| n.to_string()).collect()
        );
    });
}

#[test]
fn try_for_each() {
    each(|cx| {
        let write = |n: i32| {
            if n == 77 {
                Err(format!("disk full at {n}"))
            } else {
                Ok(())
            }
        };
        assert_eq!(cx.par(0..77).try_for_each(write), Ok(()));
        assert_eq!(
            cx.par(0..100).try_for_each(write),
            Err("disk full at 77".into())
        );
        assert_eq!(
            cx.par(0..100).try_for_each(|n| (n < 100).then_some(())),
            Some(())
        );
    });
}

#[test]
fn count_and_map() {
    each(|cx| {
        assert_eq!(cx.par(0..1000).filter(|n| n % 9 == 0).count(), 112);
        let found: Vec<_> = cx.par(["x", "yy"]).map(str::len).collect();
        assert_eq!(found, [1, 2]);
    });
}

#[test]
fn map_init() {
    each(|cx| {
        let digits = |buffer: &mut Vec<u32>, mut n: u32| {
            buffer.clear();
            while n > 0 {
                buffer.push(n % 10);
                n /= 10;
            }
            buffer.iter().sum::<u32>()
        };
        let found: Vec<_> = cx.par(0..5000).map_init(Vec::new, digits).collect();
        assert!((0..5000).map(|n| digits(&mut Vec::new(), n)).eq(found));
    });
}

#[test]
fn cloned_and_copied() {
    each(|cx| {
        let names = ["ada".to_string(), "bob".to_string()];
        assert_eq!(cx.par(&names).cloned().collect::<Vec<_>>(), names);
        assert_eq!(cx.par(&[4, 5]).copied().collect::<Vec<i32>>(), [4, 5]);
    });
}

#[test]
fn inspect_and_update() {
    each(|cx| {
        let largest = AtomicU64::new(0);
        let sum: u64 = cx
            .par(0..90u64)
            .inspect(|n| _ = largest.fetch_max(*n, Relaxed))
            .sum();
        assert_eq!((sum, largest.into_inner()), (4005, 89));
        let lists = vec![vec![1], vec![]];
        let found: Vec<_> = cx.par(lists).update(|list| list.push(9)).collect();
        assert_eq!(found, [vec![1, 9], vec![9]]);
    });
}

#[test]
fn filter_and_filter_map() {
    each(|cx| {
        let found: Vec<_> = cx.par(0..30).filter(|n| n % 11 == 3).collect();
        assert_eq!(found, [3, 14, 25]);
        let words = ["12", "x", "-3", ""];
        let found: Vec<i32> = cx
            .par(&words)
            .filter_map(|word| word.parse().ok())
            .collect();
        assert_eq!(found, [12, -3]);
    });
}

#[test]
fn flat_map_and_flatten() {
    each(|cx| {
        let rows = vec![vec!["a", "b"], vec![], vec!["c"]];
        let found: String = cx.par(&rows).flat_map(|row| row.iter().copied()).collect();
        assert_eq!(found, "abc");
        let found: Vec<_> = cx.par(rows).flatten().rev_sorted();
        assert_eq!(found, ["c", "b", "a"]);
        let found: Vec<i32> = cx
            .par(&[Some(1), None, Some(3)])
            .copied()
            .flatten()
            .collect();
        assert_eq!(found, [1, 3]);
    });
}

/// Collects and sorts, for the test above.
trait RevSorted<T> {
    fn rev_sorted(self) -> Vec<T>;
}

impl<P, S, T> RevSorted<T> for tautline::loops::Par<'_, '_, '_, P, S>
where
    P: tautline_core::port::Host,
    S: tautline::loops::Source<Item = T>,
    T: Ord + Send,
{
    fn rev_sorted(self) -> Vec<T> {
        let mut items: Vec<T> = self.collect();
        items.sort_by(|a, b| b.cmp(a));
        items
    }
}

#[test]
fn reduce_and_fold() {
    each(|cx| {
        let pairs = cx.par(1..=6u32).map(|n| (n, n));
        let found = pairs.reduce(|| (0, 1), |(a, b), (c, d)| (a + c, b * d));
        assert_eq!(found, (21, 720));
        assert_eq!(cx.par([3, 9, 4]).reduce_with(i32::max), Some(9));
        assert_eq!(cx.par(0..0).reduce_with(i32::max), None);
        let longest =
            cx.par(&["a", "ccc", "bb"])
                .fold(|| 0, |n, word| word.len().max(n), usize::max);
        assert_eq!(longest, 3);
    });
}

#[test]
fn try_fold_and_try_reduce() {
    each(|cx| {
        let add = |sum: i8, n: i8| sum.checked_add(n).ok_or("overflow");
        assert_eq!(cx.par(1..=15).try_fold(|| 0, add, add), Ok(120));
        assert_eq!(cx.par(1..=100).try_fold(|| 0, add, add), Err("overflow"));
        let halves = |n: &u32| n.is_multiple_of(2).then_some(n / 2);
        assert_eq!(
            cx.par(&[4, 6])
                .map(halves)
                .try_reduce(|| 0, u32::checked_add),
            Some(5)
        );
        assert_eq!(
            cx.par(&[4, 7])
                .map(halves)
                .try_reduce(|| 0, u32::checked_add),
            None
        );
    });
}

#[test]
fn sum_and_product() {
    each(|cx| {
        assert_eq!(cx.par(&[1.5, 2.5]).sum::<f64>(), 4.0);
        assert_eq!(cx.par(1..=20u128).product::<u128>(), (1..=20).product());
        assert_eq!(cx.par(0..0u8).sum::<u8>(), 0);
        assert_eq!(cx.par(0..0u8).product::<u8>(), 1);
        let parse = |word: &&str| word.parse::<i32>();
        assert_eq!(
            cx.par(&["1", "2"]).map(parse).sum::<Result<i32, _>>(),
            Ok(3)
        );
    });
}

#[test]
fn min_and_max() {
    each(|cx| {
        let points: [(u8, f64); 3] = [(3, -1.5), (1, 2.0), (2, -9.0)];
        assert_eq!(cx.par(&[5, 2, 8]).min(), Some(&2));
        assert_eq!(cx.par(&[5, 2, 8]).max(), Some(&8));
        assert_eq!(cx.par(&points).min_by_key(|p| p.0), Some(&(1, 2.0)));
        assert_eq!(cx.par(&points).max_by_key(|p| p.0), Some(&(3, -1.5)));
        assert_eq!(
            cx.par(&points).min_by(|p, q| p.1.total_cmp(&q.1)),
            Some(&(2, -9.0))
        );
        assert_eq!(
            cx.par(&points).max_by(|p, q| p.1.total_cmp(&q.1)),
            Some(&(1, 2.0))
        );
        assert_eq!(cx.par(&points[..0]).max_by_key(|p| p.0), None);
    });
}

#[test]
fn chain_and_zip() {
    each(|cx| {
        let found: Vec<_> = cx.par(&[1, 2]).chain(&[3]).copied().collect();
        assert_eq!(found, [1, 2, 3]);
        let found: Vec<_> = cx.par('a'..='c').zip(5..8).collect();
        assert_eq!(found, [('a', 5), ('b', 6), ('c', 7)]);
    });
}

#[test]
fn any_and_all() {
    each(|cx| {
        assert!(cx.par(&[0, 0, 4]).any(|n| *n > 3) && !cx.par(0..9).any(|n| n > 9));
        assert!(cx.par(0..9).all(|n| n < 9) && !cx.par(0..9).all(|n| n != 4));
    });
}

#[test]
fn find() {
    each(|cx| {
        let squares: Vec<u32> = (0..200).map(|n| n * n).collect();
        assert_eq!(cx.par(&squares).find_any(|n| **n == 169), Some(&169));
        assert_eq!(cx.par(&squares).find_first(|n| **n > 1000), Some(&1024));
        let root = |n: &u32| (n % 7 == 4).then(|| n.isqrt());
        assert_eq!(cx.par(&squares).find_map_first(root), Some(2));
        let root = cx.par(&squares).find_map_any(root).expect("there are some");
        assert_eq!(root * root % 7, 4);
        assert_eq!(cx.par(&squares).find_first(|n| **n == 2), None);
    });
}

#[test]
fn position() {
    each(|cx| {
        let letters: Vec<char> = "mississippi".chars().collect();
        assert_eq!(cx.par(&letters).position_first(|c| *c == 's'), Some(2));
        let any = cx.par(&letters).position_any(|c| *c == 'p');
        assert!(matches!(any, Some(8 | 9)));
        assert_eq!(cx.par(&letters).position_first(|c| *c == 'x'), None);
    });
}

#[test]
fn collect() {
    each(|cx| {
        let words = ["pear", "fig", "fig"];
        let set: HashSet<_> = cx.par(&words).copied().collect();
        assert_eq!(set, HashSet::from(["pear", "fig"]));
        let map: HashMap<_, _> = cx.par(&words).map(|word| (*word, word.len())).collect();
        assert_eq!(map, HashMap::from([("pear", 4), ("fig", 3)]));
        let tree: BTreeMap<_, _> = cx.par(&words).enumerate().collect();
        assert_eq!(
            tree.into_values().collect::<Vec<_>>(),
            [&"pear", &"fig", &"fig"]
        );
        let boxed: Box<[usize]> = cx.par(&words).map(|word| word.len()).collect();
        assert_eq!(*boxed, [4, 3, 3]);
        let queue: VecDeque<char> = cx.par("fig").collect();
        assert_eq!(queue, ['f', 'i', 'g']);
        let text: String = cx.par(&words).copied().collect();
        assert_eq!(text, "pearfigfig");
        let parse = |word: &&str| word.parse::<u8>().map_err(|_| word.to_string());
        let numbers: Result<Vec<u8>, String> = cx.par(&["1", "2"]).map(parse).collect();
        assert_eq!(numbers, Ok(vec![1, 2]));
        let numbers: Result<Vec<u8>, String> = cx.par(&["1", "x", "y"]).map(parse).collect();
        assert_eq!(numbers, Err("x".into()));
        let first: Option<Vec<char>> = cx.par(&words).map(|word| word.chars().nth(3)).collect();
        assert_eq!(first, None);
    });
}

#[test]
fn unzip_and_partition() {
    each(|cx| {
        let (names, ages): (Vec<_>, HashSet<_>) = cx.par([("ada", 36), ("bob", 36)]).unzip();
        assert_eq!((names, ages), (vec!["ada", "bob"], HashSet::from([36])));
        let (short, long): (Vec<_>, Vec<_>) = cx.par(&["a", "bbb", "c"]).partition(|w| w.len() < 2);
        assert_eq!((short, long), (vec![&"a", &"c"], vec![&"bbb"]));
    });
}

#[test]
fn positions_of_items() {
    each(|cx| {
        let v: Vec<u32> = (10..20).collect();
        assert_eq!(
            cx.par(&v).enumerate().map(|(i, n)| n - i as u32).max(),
            Some(10)
        );
        assert_eq!(
            cx.par(&v).rev().copied().collect::<Vec<_>>(),
            v.iter().rev().copied().collect::<Vec<_>>()
        );
        assert_eq!(cx.par(&v).step_by(4).collect::<Vec<_>>(), [&10, &14, &18]);
        assert_eq!(cx.par(&v).skip(8).collect::<Vec<_>>(), [&18, &19]);
        assert_eq!(cx.par(&v).take(2).collect::<Vec<_>>(), [&10, &11]);
        assert_eq!(
            cx.par(0..7).chunks(3).map(|c| c.len()).collect::<Vec<_>>(),
            [3, 3, 1]
        );
    });
}

#[test]
fn sorts() {
    each(|cx| {
        let names = ["Eve", "ada", "Bob", "cy"];
        let mut v = names;
        cx.par(&mut v).sort();
        assert_eq!(v, ["Bob", "Eve", "ada", "cy"]);
        let mut v = names;
        cx.par(&mut v).sort_by_key(|name| name.len());
        assert_eq!(v, ["cy", "Eve", "ada", "Bob"]);
        cx.par(&mut v)
            .sort_by_cached_key(|name| name.to_lowercase());
        assert_eq!(v, ["ada", "Bob", "cy", "Eve"]);
        cx.par(&mut v).sort_by(|a, b| b.cmp(a));
        assert_eq!(v, ["cy", "ada", "Eve", "Bob"]);
        let mut v = [2.5, -1.0, 7.25];
        cx.par(&mut v).sort_unstable_by(f64::total_cmp);
        assert_eq!(v, [-1.0, 2.5, 7.25]);
        cx.par(&mut v).sort_unstable_by_key(|x| -(x * 4.0) as i32);
        assert_eq!(v, [7.25, 2.5, -1.0]);
    });
}

#[test]
fn parts_of_slices() {
    each(|cx| {
        let mut v: Vec<u32> = (1..=10).collect();
        let found: Vec<u32> = cx.par(&v).chunks(4).map(|part| part.iter().sum()).collect();
        assert_eq!(found, [10, 26, 19]);
        assert_eq!(cx.par(&v).chunks_exact(4).count(), 2);
        assert_eq!(cx.par(&v).windows(3).filter(|w| w[1] % 3 == 0).count(), 3);
        cx.par(&mut v).chunks(4).for_each(|part| part.reverse());
        assert_eq!(v, [4, 3, 2, 1, 8, 7, 6, 5, 10, 9]);
        cx.par(&mut v).chunks_exact(4).for_each(|part| part.fill(0));
        assert_eq!(v, [0, 0, 0, 0, 0, 0, 0, 0, 10, 9]);
    });
}

#[test]
fn strings() {
    each(|cx| {
        let text = "to be,\nor not\r\nto be";
        assert_eq!(cx.par(text).filter(|c| *c == 'o').count(), 4);
        assert_eq!(
            cx.par(text).lines().map(str::len).collect::<Vec<_>>(),
            [6, 6, 5]
        );
        assert_eq!(cx.par(text).split_whitespace().max(), Some("to"));
        assert_eq!(cx.par(text).split(|c| c == ',').count(), 2);
    });
}
