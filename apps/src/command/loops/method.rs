//! The methods over ranks: those of the simulator, and exchanges, which they are compared with.

use std::iter;
use std::ops::Range;
use tautline_core::defer::Table;
use tautline_exhibits::defer::{Baseline, Rule, TUNINGS};
use tautline_sim::loops::{Method, Repeated};

/// A method by which ranks balance a loop.
#[derive(Clone, Copy)]
pub(super) enum Balancing {
    /// A method of the simulator.
    Simulated(Method),
    /// Exchanges, with the best of four settings.
    Exchange {
        rule: Rule,
        /// Whether by predicted work.
        is_cached: bool,
    },
}

/// The rules by their names in the source.
const RULES: [(&str, Rule); 3] = [
    ("llb", Rule::Neighbours),
    ("gl1", Rule::Tree),
    ("gl2", Rule::Halving),
];

impl Balancing {
    /// Returns all methods with their names: exchanges follow self-scheduling, whose last policy is
    /// TAPER.
    pub(super) fn all() -> impl Iterator<Item = (String, Self)> {
        Method::all().flat_map(|(name, method)| {
            let exchanges = match &*name {
                "taper" => exchanges("", false),
                "taper-cached" => exchanges("-cached", true),
                _ => Vec::new(),
            };
            iter::once((name, Self::Simulated(method))).chain(exchanges)
        })
    }

    /// Returns the method of this name, or the names that are allowed.
    pub(super) fn named(text: &str) -> Result<Self, String> {
        let found = Self::all().find(|(name, _)| name == text);
        found.map(|(_, method)| method).ok_or_else(|| {
            let names: Vec<_> = Self::all().map(|(name, _)| name).collect();
            format!("a method over ranks: {}", names.join(", "))
        })
    }

    /// Returns the efficiency of the instances `steady` of a loop.
    pub(super) fn efficiency(self, repeated: &Repeated<'_>, steady: Range<usize>) -> f64 {
        match self {
            Self::Simulated(method) => repeated.efficiency(method, steady),
            Self::Exchange { rule, is_cached } => exchanged(repeated, rule, is_cached, steady),
        }
    }
}

fn exchanges(ending: &str, is_cached: bool) -> Vec<(String, Balancing)> {
    let named = |(name, rule)| {
        let exchange = Balancing::Exchange { rule, is_cached };
        (format!("{name}{ending}"), exchange)
    };
    RULES.map(named).into()
}

fn exchanged(repeated: &Repeated<'_>, rule: Rule, is_cached: bool, steady: Range<usize>) -> f64 {
    let size = (repeated.times[0].len() as u64, repeated.ranks);
    let before = steady.clone().map(|at| repeated.before(at));
    let before: Vec<Table> = before.collect();
    let with = |tuning| {
        let steady = steady.clone();
        if is_cached {
            let first = steady.start;
            return repeated.efficiency_of(steady, |at, rank| {
                Baseline::predicted(rank, size, rule, tuning, &before[at - first])
            });
        }
        repeated.efficiency_of(steady, |_, rank| {
            Baseline::new(rank, size.0, size.1, rule, tuning)
        })
    };
    TUNINGS.map(with).into_iter().fold(0.0, f64::max)
}
