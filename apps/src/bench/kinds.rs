//! The list of barriers.
#![forbid(unsafe_code)]

use super::{Central, CombiningTree, Kind, Meeting, Plan};
use std::collections::BTreeSet;
use tautline::phaser::{Config, Mode, SpinThenYield, rule};
use tautline_core::phaser::Registration;
use tautline_exhibits::phaser::{Flat, Tiered, Tiers};

/// Returns all barriers of this library and of the standard one that are compared, a tree for each
/// of `degrees`; with the feature `rivals`, that of hurdles, too.
pub fn kinds(degrees: &[usize]) -> Vec<Kind> {
    let mut all = vec![
        Kind::new("std::sync::Barrier", std_barrier),
        Kind::new("central counter", Central::new),
    ];
    all.extend(degrees.iter().map(|&degree| {
        Kind::new(format!("combining tree, degree {degree}"), move |tasks| {
            CombiningTree::new(tasks, degree)
        })
    }));
    all.extend(phasers(degrees));
    #[cfg(feature = "rivals")]
    all.push(Kind::new("hurdles", super::hurdles::Hurdles::new));
    all
}

fn std_barrier(tasks: usize) -> (std::sync::Barrier, usize) {
    (std::sync::Barrier::new(tasks), tasks)
}

/// Returns the phasers, on which all tasks are registered signal-wait: the two of Habanero, and
/// that of this library.
pub fn phasers(degrees: &[usize]) -> Vec<Kind> {
    let mut all = vec![Kind::placed("flat phaser", |plan| {
        let help_after = help_after(plan);
        Meeting::new(plan.cpus.len(), move || flat(help_after))
    })];
    all.extend(degrees.iter().map(|&degree| {
        Kind::placed(format!("tiered phaser, degree {degree}"), move |plan| {
            let (tasks, help_after) = (plan.cpus.len(), help_after(plan));
            Meeting::new(tasks, move || tiered(tasks, degree, help_after))
        })
    }));
    all.extend(degrees.iter().map(|&degree| {
        Kind::placed(format!("phaser, degree {degree}"), move |plan| {
            let help_after = help_after(plan);
            Meeting::new(plan.cpus.len(), move || tree(degree, help_after))
        })
    }));
    all
}

/// Returns what the rule chooses for tasks on these processors.
pub fn help_after(plan: &Plan) -> u32 {
    let processors: BTreeSet<usize> = plan.cpus.iter().copied().collect();
    rule::help_after(plan.cpus.len(), processors.len())
}

/// The port of phasers that never call `yield_now`: where tasks share processors, most polls fail.
fn port(help_after: u32) -> SpinThenYield {
    match help_after {
        0 => SpinThenYield { spins: 0 },
        _ => SpinThenYield::default(),
    }
}

/// Returns the first registration on a flat phaser.
pub fn flat(help_after: u32) -> Flat<SpinThenYield> {
    Flat::create(port(help_after), Mode::SignalWait)
}

/// Returns the first registration on a tiered phaser with a leaf for each `degree` of `tasks`
/// tasks.
///
/// # Panics
/// If the degree is out of range.
pub fn tiered(tasks: usize, degree: usize, help_after: u32) -> Tiered<SpinThenYield> {
    let leaves = tasks.div_ceil(degree);
    let tiers = (0..).find(|&above| degree.checked_pow(above).is_none_or(|n| n >= leaves));
    let shape = Tiers {
        tiers: 1 + tiers.unwrap_or_default() as usize,
        degree,
        help_after,
    };
    Tiered::create(port(help_after), Mode::SignalWait, shape).expect("a degree")
}

/// Returns the first registration on a phaser.
///
/// # Panics
/// If the degree is out of range.
pub fn tree(degree: usize, help_after: u32) -> Registration<SpinThenYield> {
    let config = Config {
        degree,
        help_after,
        ..Config::default()
    };
    Registration::create(rule::port(config), Mode::SignalWait, config).expect("a degree")
}
