//! The grain tuner over every short series of verdicts (Finnerty 2022, V12).
//!
//! It is pure, so loom has nothing to do here; the places that use it from several threads are in
//! `glb.rs`, model `tuned_workers`.

use std::time::Instant;
use tautline_core::grain::{Log, Rule, Tuner, Tuning};

const MS: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Nothing,
    Small,
    Large,
    Both,
}

const VERDICTS: [Verdict; 4] = [
    Verdict::Nothing,
    Verdict::Small,
    Verdict::Large,
    Verdict::Both,
];

/// The readings of a place in a millisecond that gives this verdict.
fn readings(rule: Rule, verdict: Verdict, log: &mut Log) {
    let small = matches!(verdict, Verdict::Small | Verdict::Both);
    let large = matches!(verdict, Verdict::Large | Verdict::Both);
    log.fed += 10;
    log.emptied += if small { 2 } else { 10 };
    log.split += if small { 10 } else { 30 };
    log.utilization.full += if large { MS / 2 } else { MS };
    assert_ne!(rule, Rule::Direct);
}

/// The rule said once more, without a state of its own: a change after each pair of equal verdicts,
/// counted from the last change or the last verdict that was another.
fn by_hand(verdicts: &[Verdict]) -> usize {
    let mut grain = 10;
    let mut run: Vec<Verdict> = Vec::new();
    for &verdict in verdicts {
        if run.last().is_some_and(|&last| last != verdict) {
            run.clear();
        }
        run.push(verdict);
        match (verdict, run.len()) {
            (Verdict::Small, 2) => grain *= 2,
            (Verdict::Large, 2) => grain = (grain / 2).max(1),
            _ => continue,
        }
        run.clear();
    }
    grain
}

/// V12: changes come only after two equal verdicts in a row, and the grain stays within its bounds.
#[test]
fn every_series_of_verdicts() {
    let began = Instant::now();
    let mut series = 0;
    for rule in [Rule::MergeEmpty, Rule::SplitMerge] {
        for length in 0..=8u32 {
            for number in 0..4usize.pow(length) {
                let verdicts: Vec<_> = (0..length)
                    .map(|at| VERDICTS[number >> (2 * at) & 3])
                    .collect();
                let mut tuner = Tuner::new(Tuning::thesis(rule), 0);
                let mut log = Log::default();
                for (at, &verdict) in verdicts.iter().enumerate() {
                    readings(rule, verdict, &mut log);
                    let before = tuner.grain();
                    let changed = tuner.tick(log, (at as u64 + 1) * MS);
                    assert_eq!(changed.is_some(), tuner.grain() != before);
                    assert!((1..=2560).contains(&tuner.grain()));
                    let same = at > 0 && verdicts[at - 1] == verdict;
                    assert!(same || changed.is_none(), "one verdict changed the grain");
                }
                assert_eq!(tuner.grain(), by_hand(&verdicts), "{rule:?} {verdicts:?}");
                series += 1;
            }
        }
    }
    let floor = 2 * 87_381;
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "MODEL every_series_of_verdicts executions={series} floor={floor} bound=none seconds={seconds:.2}"
    );
    assert_eq!(series, floor);
}
