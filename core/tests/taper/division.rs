//! The static divisions.

use super::reference::Random;
use tautline_core::taper::{Division, blocked};

fn share(division: Division, q: u32, n: u64, p: u32) -> Vec<u64> {
    division.share(q, n, p).collect()
}

fn divisions(seed: u64) -> [Division; 3] {
    [
        Division::Blocked,
        Division::Cyclic,
        Division::Random { seed },
    ]
}

#[test]
fn every_iteration_is_in_one_share() {
    for division in divisions(29) {
        for p in [1, 2, 3, 7, 64] {
            for n in (0..130).chain([1000, 1023, 1024, 1025, 4096]) {
                let mut all = Vec::new();
                for q in 0..p {
                    let share = share(division, q, n, p);
                    let even = n / u64::from(p)..=n.div_ceil(u64::from(p));
                    assert!(even.contains(&(share.len() as u64)), "{division:?} {n} {p}");
                    let hint = division.share(q, n, p).size_hint();
                    assert_eq!(hint, (share.len(), Some(share.len())));
                    all.extend(share);
                }
                all.sort_unstable();
                assert!(all.into_iter().eq(0..n), "{division:?} {n} {p}");
            }
        }
    }
}

#[test]
fn blocks_are_contiguous_and_cycles_periodic() {
    let all = |division| {
        (0..4)
            .map(|q| share(division, q, 10, 4))
            .collect::<Vec<_>>()
    };
    let blocks: [&[u64]; 4] = [&[0, 1], &[2, 3, 4], &[5, 6], &[7, 8, 9]];
    assert_eq!(all(Division::Blocked), blocks);
    let cycles: [&[u64]; 4] = [&[0, 4, 8], &[1, 5, 9], &[2, 6], &[3, 7]];
    assert_eq!(all(Division::Cyclic), cycles);
    assert_eq!(blocked(2, 10, 4), 5..7);
    assert_eq!(blocked(2, 1 << 63, 3), 0x5555_5555_5555_5555..1 << 63);
}

/// A permutation of 2^63 numbers, from which a few are read.
#[test]
fn random_shares_need_no_memory() {
    let n = 1 << 63;
    let some: Vec<u64> = Division::Random { seed: 1 }
        .share(5, n, 8)
        .take(100)
        .collect();
    assert!(some.iter().all(|&i| i < n));
    let mut sorted = some.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), 100);
    assert!(!some.is_sorted());
}

#[test]
fn random_shares_follow_from_the_seed() {
    let of = |seed| share(Division::Random { seed }, 0, 1000, 4);
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

/// Each share has about as many of a block of iterations as its size suggests: the squared
/// deviations, of 16 shares by 16 blocks, have the mean of a χ² distribution. The bounds are 6 of
/// its standard deviations wide for 20 seeds.
#[test]
fn random_shares_have_no_bias() {
    let (n, p) = (16_384u64, 16u32);
    let mut total = 0.0;
    for seed in 0..20 {
        for q in 0..p {
            let mut counts = [0f64; 16];
            let share = Division::Random { seed }.share(q, n, p);
            share.for_each(|i| counts[(i * 16 / n) as usize] += 1.0);
            total += counts
                .iter()
                .map(|c| (c - 64.0).powi(2) / 64.0)
                .sum::<f64>();
        }
    }
    let freedom = 20.0 * 225.0f64;
    // Draws without replacement: the table's margins are fixed.
    let deviation = (2.0 * freedom).sqrt();
    assert!(
        (total - freedom).abs() < 6.0 * deviation,
        "{total} of {freedom}"
    );
}

/// Small loops take each order about as often as any other: all 24 of 4 iterations, within a factor
/// of two, over 24,000 seeds.
#[test]
fn small_permutations_are_all_taken() {
    let mut random = Random(31);
    let mut found = std::collections::BTreeMap::new();
    for _ in 0..24_000 {
        let division = Division::Random {
            seed: random.next(),
        };
        *found.entry(share(division, 0, 4, 1)).or_insert(0) += 1;
    }
    assert_eq!(found.len(), 24);
    assert!(
        found.values().all(|count| (500..2000).contains(count)),
        "{found:?}"
    );
}

#[test]
#[should_panic(expected = "must be below")]
fn a_processor_that_does_not_exist_is_refused() {
    let _ = Division::Cyclic.share(4, 10, 4);
}
