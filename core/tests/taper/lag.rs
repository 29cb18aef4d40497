//! The Fill Lemma and its corollaries on random first-available schedules.

use super::reference::Random;
use tautline_core::taper::{Fill, Lag};

/// The observations of one schedule.
#[derive(Default)]
struct Seen {
    excess: bool,
    corollary_3: bool,
    initial_bound: bool,
}

/// Checks the lemma for each chunk, corollary 1 at the end, and the bound; returns what occurred.
fn schedule(random: &mut Random) -> Seen {
    let p = 1 + random.below(8) as usize;
    let spread = random.of_any_length(12);
    let mut finish: Vec<u64> = (0..p).map(|_| random.below(1 + spread)).collect();
    let mut lag = Lag::new(&mut finish);
    let initial = lag.lag();
    let (mut costs, mut last_excess) = (Vec::new(), None);
    for i in 0..1 + random.below(40) as usize {
        let cost = random.of_any_length(8);
        let before = lag.lag();
        match lag.assign(cost) {
            Fill::In => assert_eq!(lag.lag(), before - u128::from(cost)),
            Fill::Excess => {
                assert!(lag.lag() <= (p as u128 - 1) * u128::from(cost));
                last_excess = Some((i, lag.lag()));
            }
        }
        costs.push(cost);
    }
    let end = lag.lag();
    let largest = *lag.finish().iter().max().unwrap();
    let idle: u64 = lag.finish().iter().map(|t| largest - t).sum();
    assert_eq!(end, u128::from(idle), "the lag is the idle time at the end");
    if let Some((l, after)) = last_excess {
        let filled: u64 = costs[l + 1..].iter().sum();
        assert_eq!(end, after - u128::from(filled), "corollary 1");
    }
    let corollary_3 = (0..costs.len()).map(|i| {
        let fill: u64 = costs[i + 1..].iter().sum();
        (p as i128 - 1) * i128::from(costs[i]) - i128::from(fill)
    });
    let corollary_3 = corollary_3.max().unwrap();
    let reported = corollary_3.max(initial as i128 - i128::from(costs.iter().sum::<u64>()));
    assert_eq!(lag.bound() as i128, reported.max(0));
    assert!(end <= lag.bound(), "the reported bound");
    Seen {
        excess: last_excess.is_some(),
        corollary_3: end as i128 <= corollary_3,
        initial_bound: reported > corollary_3,
    }
}

#[test]
fn the_fill_lemma_holds() {
    let mut random = Random(37);
    let (mut excess, mut fails, mut initial) = (0, 0, 0);
    for _ in 0..10_000 {
        let seen = schedule(&mut random);
        assert!(!seen.excess || seen.corollary_3, "corollary 3");
        excess += u32::from(seen.excess);
        fails += u32::from(!seen.corollary_3);
        initial += u32::from(seen.initial_bound);
    }
    // Both kinds of schedules occur, and the corollary needs its condition.
    assert!(excess > 1000 && excess < 9900, "{excess}");
    assert!(fails > 100 && initial >= fails, "{fails} {initial}");
}

#[test]
fn the_lag_of_no_chunk_is_that_of_the_starts() {
    let mut finish = [3, 10, 5];
    let mut lag = Lag::new(&mut finish);
    assert_eq!((lag.lag(), lag.bound()), (12, 12));
    assert_eq!(lag.assign(0), Fill::In);
    assert_eq!((lag.assign(7), lag.finish()), (Fill::In, &[10, 10, 5][..]));
    assert_eq!((lag.assign(6), lag.lag()), (Fill::Excess, 2));
}
