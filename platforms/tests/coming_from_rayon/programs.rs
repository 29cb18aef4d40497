//! Small programs as users of rayon write them.

use super::each;
use std::collections::{BTreeMap, HashMap, HashSet};
use tautline::prelude::*;

const POEM: &str = "The wheel turns and\r\nthe wheel, it turns the mill\n\nand the mill grinds\n";

#[test]
fn words_are_counted() {
    each(|cx| {
        let words = cx.par(POEM).split_whitespace();
        let words = words.map(|word| word.trim_matches(',').to_lowercase());
        let add = |mut counts: HashMap<String, u32>, word| {
            *counts.entry(word).or_default() += 1;
            counts
        };
        let merge = |mut all: HashMap<String, u32>, counts: HashMap<String, u32>| {
            for (word, count) in counts {
                *all.entry(word).or_default() += count;
            }
            all
        };
        let counts = words.fold(HashMap::new, add, merge);
        assert_eq!(
            (counts["the"], counts["wheel"], counts["grinds"]),
            (4, 2, 1)
        );
        let most: BTreeMap<_, _> = counts.into_iter().map(|(word, n)| (n, word)).collect();
        assert_eq!(
            most.last_key_value().map(|(_, word)| word.as_str()),
            Some("the")
        );
    });
}

#[test]
fn a_histogram_of_letters() {
    each(|cx| {
        let letters = cx.par(POEM).filter(char::is_ascii_lowercase);
        let counts = letters.fold(
            || [0u32; 26],
            |mut counts, letter| {
                counts[usize::from(letter as u8 - b'a')] += 1;
                counts
            },
            |mut a, b| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                a
            },
        );
        let count = |letter: char| POEM.chars().filter(|c| *c == letter).count() as u32;
        assert!(('a'..='z').map(count).eq(counts));
    });
}

#[test]
fn a_dot_product_has_the_same_bits() {
    let x: Vec<f64> = (1..40_000).map(|i| 1.0 / f64::from(i)).collect();
    let y: Vec<f64> = (1..40_000).map(|i| f64::from(i).sqrt()).collect();
    let bits = std::sync::Mutex::new(HashSet::new());
    each(|cx| {
        let dot = cx
            .par(&x)
            .zip(&y)
            .map(|(x, y)| x * y)
            .in_order()
            .sum::<f64>();
        let expected: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        assert!((dot - expected).abs() < 1e-9 * expected);
        bits.lock().unwrap().insert(dot.to_bits());
    });
    assert_eq!(bits.into_inner().unwrap().len(), 1);
}

#[derive(Clone, Debug, PartialEq)]
struct Order {
    customer: String,
    cents: u64,
}

fn parse((number, line): (usize, &str)) -> Result<Order, String> {
    let fields = line
        .split_once(';')
        .ok_or(format!("line {}: no ';'", number + 1))?;
    let cents = fields.1.trim().parse();
    let cents = cents.map_err(|error| format!("line {}: {error}", number + 1))?;
    let customer = fields.0.to_string();
    Ok(Order { customer, cents })
}

#[test]
fn a_table_is_parsed_or_the_first_bad_line_is_named() {
    each(|cx| {
        let text: String = (0..3000)
            .map(|i| format!("c{};{}\n", i % 7, i * 25))
            .collect();
        let lines: Vec<&str> = cx.par(&text).lines().collect();
        let orders: Result<Vec<Order>, String> =
            cx.par(lines.clone()).enumerate().map(parse).try_collect();
        let orders = orders.expect("all lines are right");
        assert_eq!(orders.len(), 3000);
        let total: u64 = cx.par(&orders).map(|order| order.cents).sum();
        assert_eq!(total, (0..3000).map(|i| i * 25).sum());
        let best = cx.par(&orders).max_by_key(|order| order.cents);
        assert_eq!(best, orders.last());

        let mut bad = lines;
        (bad[2100], bad[999]) = ("c1;12x", "c2");
        for _ in 0..20 {
            let orders: Result<Vec<Order>, String> =
                cx.par(&bad).copied().enumerate().map(parse).try_collect();
            assert_eq!(orders, Err("line 1000: no ';'".into()));
        }
        let (good, failed): (Vec<_>, Vec<_>) = cx
            .par(&bad)
            .copied()
            .enumerate()
            .map(parse)
            .partition(Result::is_ok);
        assert_eq!((good.len(), failed.len()), (2998, 2));
    });
}

#[test]
fn orders_are_grouped_and_sorted() {
    each(|cx| {
        let mut orders: Vec<Order> = (0..5000u64)
            .map(|i| Order {
                customer: format!("c{}", i * i % 13),
                cents: i * 7919 % 1000,
            })
            .collect();
        let mut expected = orders.clone();
        expected.sort_by(|a, b| (&a.customer, b.cents).cmp(&(&b.customer, a.cents)));
        cx.par(&mut orders)
            .sort_by(|a, b| (&a.customer, b.cents).cmp(&(&b.customer, a.cents)));
        assert_eq!(orders, expected);
        let groups: Vec<&[Order]> = orders.chunk_by(|a, b| a.customer == b.customer).collect();
        let best: BTreeMap<&str, u64> = cx
            .par(groups)
            .map(|group| (group[0].customer.as_str(), group[0].cents))
            .collect();
        for (customer, cents) in best {
            let of = expected.iter().filter(|order| order.customer == customer);
            assert_eq!(of.map(|order| order.cents).max(), Some(cents));
        }
        cx.par(&mut orders)
            .sort_by_cached_key(|order| (order.cents, order.customer.clone()));
        assert!(orders.is_sorted_by_key(|order| (order.cents, order.customer.clone())));
    });
}

/// A loop in a loop.
#[test]
fn matrices_are_multiplied() {
    each(|cx| {
        let n = 40;
        let a: Vec<u64> = (0..n * n).map(|i| i % 10).collect();
        let b: Vec<u64> = (0..n * n).map(|i| i % 7).collect();
        let n = n as usize;
        let mut c = vec![0; n * n];
        cx.par(&mut c)
            .chunks(n)
            .enumerate()
            .with_cx()
            .for_each(|cx, (i, row)| {
                let row_of_a = &a[i * n..][..n];
                cx.par(row).enumerate().for_each(|(j, c)| {
                    *c = row_of_a
                        .iter()
                        .zip(b[j..].iter().step_by(n))
                        .map(|(a, b)| a * b)
                        .sum();
                });
            });
        let at = |i: usize, j: usize| (0..n).map(|k| a[i * n + k] * b[k * n + j]).sum::<u64>();
        assert!((0..n * n).map(|ij| at(ij / n, ij % n)).eq(c));
    });
}

#[test]
fn primes_up_to_a_limit() {
    each(|cx| {
        let is_prime = |n: &u32| *n > 1 && (2..=n.isqrt()).all(|d| n % d != 0);
        let primes: Vec<u32> = cx.par(0..=10_000u32).filter(is_prime).collect();
        assert_eq!((primes.len(), primes.last()), (1229, Some(&9973)));
        let gaps = cx.par(&primes).windows(2).map(|pair| pair[1] - pair[0]);
        assert_eq!(gaps.max(), Some(36));
        let twins: Vec<(u32, u32)> = cx
            .par(&primes)
            .windows(2)
            .filter(|pair| pair[1] - pair[0] == 2)
            .map(|pair| (pair[0], pair[1]))
            .collect();
        assert_eq!((twins.len(), twins[0]), (205, (3, 5)));
        assert_eq!(cx.par(10_000..u32::MAX).find_first(is_prime), Some(10_007));
    });
}

#[test]
fn an_image_is_blurred() {
    each(|cx| {
        let (width, height) = (97, 31);
        let image: Vec<u8> = (0..width * height).map(|i| (i * i % 251) as u8).collect();
        let blur = |i: usize, j: usize| {
            let near = (i.saturating_sub(1)..=(i + 1).min(height - 1))
                .flat_map(|i| (j.saturating_sub(1)..=(j + 1).min(width - 1)).map(move |j| (i, j)));
            let (sum, count) = near.fold((0u32, 0), |(sum, n), (i, j)| {
                (sum + u32::from(image[i * width + j]), n + 1)
            });
            (sum / count) as u8
        };
        let mut blurred = vec![0; image.len()];
        cx.par(&mut blurred)
            .chunks(width)
            .enumerate()
            .for_each(|(i, row)| {
                row.iter_mut()
                    .enumerate()
                    .for_each(|(j, pixel)| *pixel = blur(i, j));
            });
        assert!(
            (0..image.len())
                .map(|at| blur(at / width, at % width))
                .eq(blurred)
        );
    });
}

/// Functions that take the context, in structures of the user.
#[test]
fn a_tree_is_walked() {
    struct Node {
        weight: u64,
        children: Vec<Node>,
    }
    fn grow(depth: u32, weight: u64) -> Node {
        let children = (0..u64::from(depth.min(4)))
            .map(|i| grow(depth - 1, weight * 3 % 101 + i))
            .collect();
        Node { weight, children }
    }
    fn sum(cx: &mut Cx, node: &Node) -> u64 {
        let mut sums = vec![0; node.children.len()];
        cx.par(&node.children)
            .zip(&mut sums)
            .with_cx()
            .for_each(|cx, (child, s)| *s = sum(cx, child));
        node.weight + sums.iter().sum::<u64>()
    }
    fn expected(node: &Node) -> u64 {
        node.weight + node.children.iter().map(expected).sum::<u64>()
    }
    let tree = grow(7, 1);
    each(|cx| assert_eq!(sum(cx, &tree), expected(&tree)));
}

#[test]
fn distances_of_all_pairs() {
    each(|cx| {
        let points: Vec<(f64, f64)> = (0..120u32)
            .map(|i| (f64::from(i * 37 % 101), f64::from(i * 53 % 89)))
            .collect();
        let pairs = cx
            .par(0..points.len())
            .flat_map(|i| (0..i).map(move |j| (i, j)));
        let distance = |&(i, j): &(usize, usize)| {
            let ((a, b), (c, d)) = (points[i], points[j]);
            (a - c).hypot(b - d)
        };
        let nearest = pairs
            .in_order()
            .min_by(|p, q| distance(p).total_cmp(&distance(q)));
        let all = (0..points.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        assert_eq!(
            nearest,
            all.min_by(|p, q| distance(p).total_cmp(&distance(q)))
        );
    });
}

#[test]
fn an_index_of_words_by_line() {
    each(|cx| {
        let lines: Vec<&str> = cx.par(POEM).lines().collect();
        let entries = cx.par(&lines).enumerate().flat_map(|(number, line)| {
            line.split_whitespace()
                .map(move |word| (word.trim_end_matches(','), number + 1))
        });
        let mut index: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (word, line) in entries.collect::<Vec<_>>() {
            index.entry(word).or_default().push(line);
        }
        assert_eq!(
            (&index["wheel"][..], &index["the"][..]),
            (&[1, 2][..], &[2, 2, 4][..])
        );
    });
}

/// A generator of random numbers for each worker, in the place of one for all.
#[test]
fn a_simulation_with_a_generator_for_each_worker() {
    each(|cx| {
        let next = |state: &mut u64| {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (*state >> 33) as f64 / f64::from(1u32 << 31)
        };
        let hits = cx
            .par(0..200_000)
            .map_init(|| 7u64, |state, _| next(state).hypot(next(state)) < 1.0);
        let pi = 4.0 * hits.filter(|is_hit| *is_hit).count() as f64 / 200_000.0;
        assert!((pi - std::f64::consts::PI).abs() < 0.05, "{pi}");
    });
}
