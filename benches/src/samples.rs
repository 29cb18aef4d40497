//! The figures of all rounds, in which the contenders take turns.

use crate::figures::{Record, Value};
use tautline_cli::bench::Spread;

/// Runs rounds, and reports each on the standard error.
pub fn rounds(count: usize, mut round: impl FnMut()) {
    for at in 1..=count {
        round();
        eprintln!("round {at} of {count} done");
    }
}

/// Takes a sample of each of `ways` in each round, in turn, each round from another one on. Returns
/// those of each.
pub fn in_turn<T>(rounds: usize, ways: usize, mut sample: impl FnMut(usize) -> T) -> Vec<Vec<T>> {
    let mut all: Vec<Vec<T>> = (0..ways).map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for turn in 0..ways {
            let way = (turn + round) % ways;
            all[way].push(sample(way));
        }
    }
    all
}

/// The median; of an even number of samples the mean of the middle two.
///
/// # Panics
/// There are no samples.
pub fn median(samples: &[f64]) -> f64 {
    Spread::of(samples).expect("at least one round").median
}

/// One contender of one row, in the order of the table.
struct Sample {
    row: String,
    contender: String,
    figures: Vec<f64>,
    /// A further figure, a round.
    beside: Vec<f64>,
}

/// The figures of contenders in rows.
#[derive(Default)]
pub struct Samples {
    all: Vec<Sample>,
    /// The library that was measured, as it calls itself; empty for programs without one.
    pub library: String,
}

impl Samples {
    /// Adds a figure of this round, and a further one by which it is judged.
    pub fn add(&mut self, row: &str, contender: &str, figure: f64, beside: Option<f64>) {
        let is_it = |known: &Sample| known.row == row && known.contender == contender;
        let at = self.all.iter().position(is_it).unwrap_or_else(|| {
            self.all.push(Sample {
                row: row.into(),
                contender: contender.into(),
                figures: Vec::new(),
                beside: Vec::new(),
            });
            self.all.len() - 1
        });
        self.all[at].figures.push(figure);
        self.all[at].beside.extend(beside);
    }

    /// The records of the table, with medians of what is beside the figures.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        self.all.iter().filter_map(|sample| {
            let Sample {
                row,
                contender,
                figures,
                beside,
            } = sample;
            Some(Record {
                counted: Some([figures.len(); 2]),
                beside: Spread::of(beside).map(|beside| beside.median),
                ..Record::new(row, contender, Value::of(figures)?)
            })
        })
    }
}
