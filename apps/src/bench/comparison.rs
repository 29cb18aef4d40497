//! Comparisons of barriers with each other and with a cache-line round trip, in turn.
#![forbid(unsafe_code)]

use super::{Doubt, Kind, Plan, Sample, Spread, Watch, delay_turns, ping_pong};
use std::io;
use tautline_node::Machine;

/// The duration of a sample's loop, unless its number of turns is set.
const SAMPLE_NS: f64 = 4e6;
/// The number of turns of that loop.
const TURNS: [f64; 2] = [100.0, 1e6];
/// The number of turns of the loop that measures how long a turn takes.
const TRIAL_TURNS: u32 = 200;
/// The number of round trips of a sample of the cache line.
const ROUND_TRIPS: u32 = 20_000;
/// How often a sample is retaken whose threads had to wait for their processors.
const AGAIN: usize = 4;
/// One is slower than the other if it is in at least this part of the rounds: of 20 by chance in one case of 48.
const SLOWER_IN: f64 = 0.75;

/// The settings of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The processors; the n-th task stays on the n-th of them, in turn.
    pub cpus: Vec<usize>,
    /// At most this many tasks run without sharing processors.
    pub processors: usize,
    /// The number of samples of each barrier.
    pub samples: usize,
    /// The number of turns of a loop; `None`: as many as take a few milliseconds, by barrier.
    pub iterations: Option<u32>,
    /// Work between two episodes.
    pub delay_ns: u64,
}

/// Barriers compared with each other for one number of tasks.
#[derive(Debug)]
pub struct Comparison {
    /// The number of tasks.
    pub tasks: usize,
    /// Round trips of a cache line between the first two processors, one sample a round; empty if there is one processor.
    pub round_trips: Vec<f64>,
    /// The barriers.
    pub rows: Vec<Row>,
    /// Why there is no verdict; empty if there is one.
    pub doubts: Vec<Doubt>,
}

/// One barrier of a comparison.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Turns of its loop.
    pub iterations: u32,
    /// Nanoseconds an episode, one sample a round.
    pub samples: Vec<f64>,
}

impl Setting {
    /// Creates settings for these processors of `machine`, with twenty samples each.
    pub fn on(machine: &Machine, cpus: Vec<usize>) -> Self {
        // `as` saturates: a quota beyond every count limits nothing.
        let granted = machine.quota().map_or(usize::MAX, |cpus| cpus as usize);
        Self {
            processors: cpus.len().min(granted.max(1)),
            cpus,
            samples: 20,
            iterations: None,
            delay_ns: 0,
        }
    }

    /// Returns the first two processors.
    fn pair(&self) -> Option<[usize; 2]> {
        Some([*self.cpus.first()?, *self.cpus.get(1)?])
    }

    /// Takes samples of a round trip between each of `pairs`, in turn.
    ///
    /// # Errors
    /// A thread that the system refused.
    pub fn ping_pong(&self, pairs: &[[usize; 2]]) -> io::Result<Vec<Vec<f64>>> {
        let mut all = vec![Vec::new(); pairs.len()];
        for _ in 0..self.samples {
            for (samples, &pair) in all.iter_mut().zip(pairs) {
                let one = undisturbed(AGAIN, || ping_pong(pair, ROUND_TRIPS))?;
                samples.push(one.ns);
            }
        }
        Ok(all)
    }

    /// Takes samples of each of `kinds` for this many tasks, and of the cache line, in turn.
    ///
    /// # Errors
    /// A thread that the system refused; a program that printed no figure: its message.
    ///
    /// # Panics
    /// No processor.
    pub fn compare(&self, kinds: &[Kind], tasks: usize) -> io::Result<Comparison> {
        let plan = Plan {
            cpus: self.cpus.iter().copied().cycle().take(tasks).collect(),
            iterations: TRIAL_TURNS,
            delay: delay_turns(self.delay_ns),
        };
        assert_eq!(plan.cpus.len(), tasks, "no processor");
        let again = if tasks > self.processors { 0 } else { AGAIN };
        let sample = |kind: &Kind, iterations| {
            let plan = Plan {
                iterations,
                ..plan.clone()
            };
            let named = |error| io::Error::other(format!("{}: {error}", kind.name()));
            undisturbed(again, || kind.sample(&plan)).map_err(named)
        };
        let mut rows = Vec::new();
        for kind in kinds {
            let iterations = match self.iterations {
                Some(iterations) => iterations,
                None => turns(sample(kind, TRIAL_TURNS)?.ns, self.delay_ns),
            };
            rows.push(Row {
                name: kind.name().to_owned(),
                iterations,
                samples: Vec::new(),
            });
        }
        let (mut round_trips, mut watch) = (Vec::new(), Watch::start(&plan.cpus));
        for _ in 0..self.samples {
            if let Some(pair) = self.pair() {
                let one = undisturbed(AGAIN, || ping_pong(pair, ROUND_TRIPS))?;
                watch.add(&one);
                round_trips.push(one.ns);
            }
            for (row, kind) in rows.iter_mut().zip(kinds) {
                let one = sample(kind, row.iterations)?;
                watch.add(&one);
                row.samples.push(one.ns);
            }
        }
        Ok(Comparison {
            tasks,
            round_trips,
            rows,
            doubts: watch.doubts(tasks, self.processors),
        })
    }
}

/// Takes a sample, repeatedly while its threads have to wait; the last one counts.
fn undisturbed(again: usize, sample: impl Fn() -> io::Result<Sample>) -> io::Result<Sample> {
    let mut one = sample()?;
    for _ in 0..again {
        if one.lost.too_much().is_none() {
            break;
        }
        one = sample()?;
    }
    Ok(one)
}

/// Returns the number of turns of a sample.
fn turns(ns: f64, delay_ns: u64) -> u32 {
    let turn_ns = (ns + delay_ns as f64).max(1.0);
    (SAMPLE_NS / turn_ns).clamp(TURNS[0], TURNS[1]) as u32
}

/// The fastest barriers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The row with the least median.
    pub fastest: usize,
    /// The rows that are not shown to be slower.
    pub level: Vec<usize>,
}

impl Comparison {
    /// Returns how many round trips an episode of `row` takes: the median of the ratios by round.
    pub fn ratio(&self, row: &Row) -> Option<f64> {
        let pairs = row.samples.iter().zip(&self.round_trips);
        let ratios: Vec<f64> = pairs.map(|(ns, round_trip)| ns / round_trip).collect();
        Spread::of(&ratios).map(|spread| spread.median)
    }

    /// Returns the fastest row and those level with it; `None` if there are doubts, or nothing to compare.
    pub fn verdict(&self) -> Option<Verdict> {
        if !self.doubts.is_empty() || self.rows.len() < 2 {
            return None;
        }
        let median = |row: &Row| Spread::of(&row.samples).map(|spread| spread.median);
        let medians: Option<Vec<f64>> = self.rows.iter().map(median).collect();
        let medians = medians?;
        let fastest = (0..medians.len()).min_by(|&a, &b| medians[a].total_cmp(&medians[b]))?;
        let best = &self.rows[fastest].samples;
        let is_slower = |row: &Row| {
            let rounds = row.samples.iter().zip(best);
            let slower = rounds.filter(|(ns, best)| ns > best).count();
            slower as f64 >= SLOWER_IN * best.len() as f64
        };
        let others = (0..self.rows.len()).filter(|&row| row != fastest);
        Some(Verdict {
            fastest,
            level: others.filter(|&row| !is_slower(&self.rows[row])).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Taken, kinds};
    use super::*;
    use std::cell::Cell;
    use std::time::Duration;

    fn row(samples: &[f64]) -> Row {
        Row {
            name: String::new(),
            iterations: 1,
            samples: samples.to_vec(),
        }
    }

    fn comparison(rows: Vec<Row>, doubts: Vec<Doubt>) -> Comparison {
        Comparison {
            tasks: 2,
            round_trips: vec![2.0, 4.0, 2.0, 2.0],
            rows,
            doubts,
        }
    }

    fn rows() -> Vec<Row> {
        vec![
            row(&[9.0, 9.0, 3.0, 9.0]),
            row(&[4.0, 8.0, 4.0, 4.0]),
            row(&[5.0, 7.0, 5.0, 3.0]),
        ]
    }

    #[test]
    fn the_fastest_is_named_with_those_level_with_it() {
        let seen = comparison(rows(), Vec::new());
        let expected = Verdict {
            fastest: 1,
            level: vec![2],
        };
        assert_eq!(seen.verdict(), Some(expected));
        assert_eq!(seen.ratio(&seen.rows[1]), Some(2.0));
    }

    #[test]
    fn doubts_and_single_rows_have_no_verdict() {
        assert_eq!(comparison(rows(), vec![Doubt::Unpinned]).verdict(), None);
        assert_eq!(comparison(vec![row(&[1.0])], Vec::new()).verdict(), None);
    }

    #[test]
    fn a_disturbed_sample_is_taken_again_but_not_for_ever() {
        let taken_after = |disturbed: u32| {
            let calls = Cell::new(0);
            let one = undisturbed(4, || {
                calls.set(calls.get() + 1);
                let waited = Duration::from_millis(if calls.get() > disturbed { 0 } else { 500 });
                Ok(Sample {
                    ns: f64::from(calls.get()),
                    pinned: true,
                    lost: Taken {
                        waited: Some(waited),
                        switches: None,
                        of: Duration::from_secs(1),
                    },
                })
            });
            one.unwrap().ns
        };
        assert_eq!([0, 2, 9].map(taken_after), [1.0, 3.0, 5.0]);
    }

    #[test]
    fn turns_fill_a_sample_within_bounds() {
        assert_eq!(turns(400.0, 600), 4_000);
        assert_eq!(turns(-5.0, 0), 1_000_000);
        assert_eq!(turns(1e9, 0), 100);
    }

    #[test]
    fn everything_asked_for_is_measured() {
        let machine = Machine::discover();
        let setting = Setting {
            samples: 3,
            iterations: Some(20),
            ..Setting::on(&machine, machine.cpus())
        };
        let (kinds, tasks) = (kinds(&[2]), machine.allowed().len() + 1);
        let seen = setting.compare(&kinds, tasks).expect("a few threads");
        assert_eq!(seen.rows.len(), kinds.len());
        assert!(seen.rows.iter().all(|row| row.samples.len() == 3));
        let one = machine.cpus().len() == 1;
        assert_eq!(seen.round_trips.len(), if one { 0 } else { 3 });
        // One task more than processors.
        assert!(matches!(seen.doubts[..], [Doubt::Crowded { .. }]));
        let broken = [Kind::program("broken", ["false"])];
        let error = setting.compare(&broken, 2).unwrap_err().to_string();
        assert!(error.starts_with("broken: "), "{error}");
    }
}
