//! Comparisons of barriers with each other and with a cache-line round trip, in turn.
#![forbid(unsafe_code)]

use super::{Doubt, Kind, Lines, Plan, Sample, Spread, Watch, delay_turns, ping_pong};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tautline::balance::Control;
use tautline_node::Machine;

/// The ratio of two round trips of a cache line that one pair of processors does not have.
const MOVED: f64 = 1.5;

/// The duration of a sample's loop, unless its number of turns is set.
const SAMPLE_NS: f64 = 4e6;
/// The number of turns of that loop.
const TURNS: [f64; 2] = [100.0, 1e6];
/// The number of turns of the loop that measures how long a turn takes.
const TRIAL_TURNS: u32 = 200;
/// The number of round trips of a sample of the cache line: some milliseconds.
const ROUND_TRIPS: u32 = 20_000;
/// The same where there are many pairs of processors.
const ROUND_TRIPS_OF_MANY: u32 = 2_000;
/// The number of pairs that are many, and of samples of them in all.
const PAIRS_MANY: usize = 16;
const SAMPLES_OF_MANY: usize = 16_000;
/// The number of times that a sample is retaken if its threads had to wait for their processors.
const AGAIN: usize = 4;
/// A row is disturbed if at least this part of its samples are.
const DISTURBED_IN: f64 = 0.25;
/// One is slower than the other if it is in at least this part of the rounds: of 20 by chance in
/// one case of 48.
const SLOWER_IN: f64 = 0.75;

/// The settings of a comparison.
#[derive(Clone, Debug)]
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
    /// Once it is stopped, nothing more is measured.
    pub stop: Arc<Control>,
    /// The number of samples taken so far, for a progress line.
    pub taken: Arc<AtomicUsize>,
}

/// Barriers compared with each other for one number of tasks.
#[derive(Debug)]
pub struct Comparison {
    /// The number of tasks.
    pub tasks: usize,
    /// Round trips of a cache line between the first two processors, one sample a round; empty if
    /// there is one processor.
    pub round_trips: Vec<f64>,
    /// The barriers.
    pub rows: Vec<Row>,
    /// The reasons why there is no verdict; empty if there is one.
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
    /// The number of these whose threads had to wait for their processors.
    pub disturbed: usize,
}

/// Samples of round trips of a cache line between pairs of processors.
#[derive(Debug)]
pub struct RoundTrips {
    /// The pairs, in the order of the request.
    pub pairs: Vec<RoundTrip>,
    /// The reasons why there is no verdict; empty if there is one.
    pub doubts: Vec<Doubt>,
}

/// Samples of a round trip of a cache line between two processors.
#[derive(Clone, Debug)]
pub struct RoundTrip {
    /// The processors.
    pub cpus: [usize; 2],
    /// Nanoseconds of a round trip.
    pub samples: Vec<f64>,
    /// The number of these whose threads had to wait for their processors.
    pub disturbed: usize,
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
            stop: Arc::default(),
            taken: Arc::default(),
        }
    }

    /// Whether a sample of this round may be taken: nothing is stopped, and the time has not come,
    /// which counts from the second round on.
    fn goes_on(&self, round: usize, until: Option<Instant>) -> bool {
        let in_time = round == 0 || until.is_none_or(|until| Instant::now() < until);
        in_time && !self.stop.is_stopped()
    }

    /// Counts a sample.
    fn count(&self) {
        // ORDERING: Relaxed: it publishes nothing.
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the first two processors.
    fn pair(&self) -> Option<[usize; 2]> {
        Some([*self.cpus.first()?, *self.cpus.get(1)?])
    }

    /// Takes samples of a round trip between each of `pairs` by `lines`, in turn, one of each even
    /// after `until`. Many pairs get fewer and shorter samples: all pairs of 128 processors take
    /// some 20 seconds.
    ///
    /// # Errors
    /// A thread that the system refused.
    pub fn ping_pong(
        &self,
        lines: &Lines,
        pairs: &[[usize; 2]],
        until: Option<Instant>,
    ) -> io::Result<RoundTrips> {
        let all = pairs.iter().map(|&cpus| RoundTrip {
            cpus,
            samples: Vec::new(),
            disturbed: 0,
        });
        let (mut all, again): (Vec<RoundTrip>, _) = (all.collect(), half(until));
        let (samples, round_trips) = self.effort(pairs.len());
        let cpus: Vec<usize> = pairs.iter().flatten().copied().collect();
        let mut watch = Watch::start(&cpus);
        'rounds: for round in 0..samples {
            for one in &mut all {
                if !self.goes_on(round, until) {
                    break 'rounds;
                }
                let take = || ping_pong(lines, one.cpus, round_trips, &self.stop);
                if let Some(sample) = self.undisturbed(AGAIN, again, take)? {
                    self.count();
                    watch.add(&sample);
                    one.samples.push(sample.ns);
                    one.disturbed += usize::from(sample.lost.too_much().is_some());
                }
            }
        }
        let taken = all.iter().map(|one| one.samples.len()).min();
        let mut doubts = match pairs {
            [] => Vec::new(),
            _ => watch.doubts(2, self.processors),
        };
        doubts.extend(cut(taken, samples));
        Ok(RoundTrips { pairs: all, doubts })
    }

    /// Returns how many samples each of this many pairs gets, and the round trips of a sample.
    pub fn effort(&self, pairs: usize) -> (usize, u32) {
        let samples = (SAMPLES_OF_MANY / pairs.max(1)).clamp(1, self.samples);
        let round_trips = match pairs > PAIRS_MANY {
            true => ROUND_TRIPS_OF_MANY,
            false => ROUND_TRIPS,
        };
        (samples, round_trips)
    }

    /// Takes samples of each of `kinds` for this many tasks, and of the cache line, in turn: as
    /// many as are set, or after `until` only those of the first round.
    ///
    /// # Errors
    /// A thread that the system refused; a program that printed no figure: its message.
    ///
    /// # Panics
    /// No processor.
    pub fn compare(
        &self,
        kinds: &[Kind],
        tasks: usize,
        until: Option<Instant>,
    ) -> io::Result<Comparison> {
        let plan = Plan {
            cpus: self.cpus.iter().copied().cycle().take(tasks).collect(),
            iterations: TRIAL_TURNS,
            delay: delay_turns(self.delay_ns),
            stop: Arc::clone(&self.stop),
        };
        assert_eq!(plan.cpus.len(), tasks, "no processor");
        let crowded = tasks > self.processors;
        let (again, until_again) = (if crowded { 0 } else { AGAIN }, half(until));
        let mut rows = self.rows(kinds, &plan)?;
        let (mut round_trips, mut watch) = (Vec::new(), Watch::start(&plan.cpus));
        let lines = Lines::new(None)?;
        'rounds: for round in 0..self.samples {
            if let Some(pair) = self.pair() {
                if !self.goes_on(round, until) {
                    break;
                }
                let take = || ping_pong(&lines, pair, ROUND_TRIPS, &self.stop);
                if let Some(one) = self.undisturbed(AGAIN, until_again, take)? {
                    self.count();
                    watch.add(&one);
                    round_trips.push(one.ns);
                }
            }
            for (row, kind) in rows.iter_mut().zip(kinds) {
                if !self.goes_on(round, until) {
                    break 'rounds;
                }
                let take = || sample(kind, &plan, row.iterations);
                if let Some(one) = self.undisturbed(again, until_again, take)? {
                    self.count();
                    watch.add(&one);
                    row.samples.push(one.ns);
                    row.disturbed += usize::from(!crowded && one.lost.too_much().is_some());
                }
            }
        }
        let mut doubts = watch.doubts(tasks, self.processors);
        doubts.extend(moved(&round_trips));
        let taken = rows.iter().map(|row| row.samples.len()).min();
        doubts.extend(cut(taken, self.samples));
        Ok(Comparison {
            tasks,
            round_trips,
            rows,
            doubts,
        })
    }

    /// Returns a row for each of `kinds`, with the number of turns that it gets, but without
    /// samples.
    fn rows(&self, kinds: &[Kind], plan: &Plan) -> io::Result<Vec<Row>> {
        let row = |kind: &Kind| {
            let trial = || sample(kind, plan, TRIAL_TURNS);
            let iterations = match self.iterations {
                Some(iterations) => iterations,
                None => self
                    .undisturbed(0, None, trial)?
                    .map_or(TRIAL_TURNS, |trial| turns(trial.ns, self.delay_ns)),
            };
            Ok(Row {
                name: kind.name().to_owned(),
                iterations,
                samples: Vec::new(),
                disturbed: 0,
            })
        };
        kinds.iter().map(row).collect()
    }

    /// Takes a sample, repeatedly while its threads have to wait and nothing is stopped; the last
    /// one counts. `None` if it was cut off.
    fn undisturbed(
        &self,
        again: usize,
        until: Option<Instant>,
        sample: impl Fn() -> io::Result<Sample>,
    ) -> io::Result<Option<Sample>> {
        for left in (0..=again).rev() {
            let taken = sample();
            if self.stop.is_stopped() {
                // Also the failure of a program that was killed.
                return Ok(None);
            }
            let one = taken?;
            if left == 0 || one.lost.too_much().is_none() || !self.goes_on(1, until) {
                return Ok(Some(one));
            }
        }
        Ok(None)
    }
}

/// Takes one sample with this number of turns.
fn sample(kind: &Kind, plan: &Plan, iterations: u32) -> io::Result<Sample> {
    let plan = Plan {
        iterations,
        ..plan.clone()
    };
    let named = |error| io::Error::other(format!("{}: {error}", kind.name()));
    kind.sample(&plan).map_err(named)
}

/// Returns the doubt about samples between which the distance of the processors has changed.
fn moved(round_trips: &[f64]) -> Option<Doubt> {
    let mut sorted = round_trips.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quarter = sorted.len() / 4;
    let near = *sorted.get(quarter)?;
    let far = *sorted.get(sorted.len() - 1 - quarter)?;
    (far > MOVED * near).then_some(Doubt::Moved([near, far]))
}

/// Returns the doubt about rows of which one has fewer samples than requested.
fn cut(taken: Option<usize>, of: usize) -> Option<Doubt> {
    let taken = taken.unwrap_or(of);
    (taken < of).then_some(Doubt::Cut { taken, of })
}

/// Returns the middle of the time until then: later, samples are not retaken, so that each row gets
/// some.
fn half(until: Option<Instant>) -> Option<Instant> {
    let now = Instant::now();
    until.map(|until| now + until.saturating_duration_since(now) / 2)
}

/// Returns the number of turns of a sample.
fn turns(ns: f64, delay_ns: u64) -> u32 {
    let turn_ns = (ns + delay_ns as f64).max(1.0);
    (SAMPLE_NS / turn_ns).clamp(TURNS[0], TURNS[1]) as u32
}

impl Row {
    /// Whether too many of its samples are of threads that had to wait for their processors.
    pub fn is_disturbed(&self) -> bool {
        is_disturbed(self.disturbed, &self.samples)
    }
}

impl RoundTrip {
    /// Whether too many of its samples are of threads that had to wait for their processors.
    pub fn is_disturbed(&self) -> bool {
        is_disturbed(self.disturbed, &self.samples)
    }
}

pub(super) fn is_disturbed(disturbed: usize, samples: &[f64]) -> bool {
    disturbed > 0 && disturbed as f64 >= DISTURBED_IN * samples.len() as f64
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

    /// Returns the fastest row and those level with it; `None` if there are doubts, or nothing to
    /// compare.
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
    use tautline::balance::Reason;

    fn row(samples: &[f64]) -> Row {
        Row {
            name: String::new(),
            iterations: 1,
            samples: samples.to_vec(),
            disturbed: 0,
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
    fn processors_that_move_are_a_doubt() {
        let near = [80.0, 84.0, 79.0, 90.0, 81.0, 300.0, 80.0, 82.0];
        assert_eq!(moved(&near), None, "one sample may be disturbed");
        let both = [80.0, 340.0, 79.0, 341.0, 338.0, 81.0, 80.0, 342.0];
        let doubt = moved(&both).unwrap();
        assert_eq!(doubt, Doubt::Moved([80.0, 340.0]));
        assert!(doubt.to_string().contains("took 80 ns, then 340 ns"));
        assert_eq!(moved(&[]), None);
    }

    #[test]
    fn doubts_and_single_rows_have_no_verdict() {
        assert_eq!(comparison(rows(), vec![Doubt::Unpinned]).verdict(), None);
        assert_eq!(comparison(vec![row(&[1.0])], Vec::new()).verdict(), None);
    }

    fn setting() -> Setting {
        let machine = Machine::discover();
        Setting {
            samples: 3,
            iterations: Some(20),
            ..Setting::on(&machine, machine.cpus())
        }
    }

    #[test]
    fn a_disturbed_sample_is_taken_again_but_not_for_ever() {
        let taken_after = |disturbed: u32| {
            let calls = Cell::new(0);
            let one = setting().undisturbed(4, None, || {
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
            one.unwrap().expect("nothing is stopped").ns
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
    fn the_pairs_of_128_processors_are_some_seconds_of_work() {
        let setting = Setting {
            samples: 20,
            ..setting()
        };
        assert_eq!(setting.effort(1), (20, 20_000));
        for processors in [6, 16, 128, 512] {
            let pairs = processors * (processors - 1) / 2;
            let (samples, round_trips) = setting.effort(pairs.min(8_192));
            assert!(samples >= 1, "{processors}");
            // Half a millisecond for the threads of a sample, each round trip at most a
            // microsecond.
            let all = pairs.min(8_192) * samples;
            let ms = all * (500 + round_trips as usize * 11 / 10) / 1_000;
            assert!(ms < 60_000, "{processors}: {ms} ms");
        }
    }

    #[test]
    fn everything_asked_for_is_measured() {
        let (machine, setting) = (Machine::discover(), setting());
        let (kinds, tasks) = (kinds(&[2]), machine.allowed().len() + 1);
        let seen = setting.compare(&kinds, tasks, None).expect("threads");
        assert_eq!(seen.rows.len(), kinds.len());
        assert!(seen.rows.iter().all(|row| row.samples.len() == 3));
        let one = machine.cpus().len() == 1;
        assert_eq!(seen.round_trips.len(), if one { 0 } else { 3 });
        // One task more than processors; the threads may be moved during the measurement.
        let is_moved = |doubt: &_| matches!(doubt, Doubt::Moved(_));
        let doubts: Vec<_> = seen.doubts.iter().filter(|one| !is_moved(one)).collect();
        assert!(matches!(doubts[..], [Doubt::Crowded { .. }]), "{seen:?}");
        let broken = [Kind::program("broken", ["false"])];
        let error = setting.compare(&broken, 2, None).unwrap_err().to_string();
        assert!(error.starts_with("broken: "), "{error}");
    }

    /// After the time, each row has the sample of the first round; when all is stopped, none.
    #[test]
    fn measurements_end_in_time() {
        let setting = Setting {
            samples: 1_000_000,
            ..setting()
        };
        let (kinds, now) = (kinds(&[2]), Some(Instant::now()));
        let seen = setting.compare(&kinds, 2, now).expect("two threads");
        assert!(
            seen.rows.iter().all(|row| row.samples.len() == 1),
            "{seen:?}"
        );
        let cut = Doubt::Cut {
            taken: 1,
            of: 1_000_000,
        };
        assert!(seen.doubts.contains(&cut), "{seen:?}");
        assert_eq!(seen.verdict(), None);
        let pairs: Vec<_> = setting.pair().into_iter().collect();
        let lines = Lines::new(None).expect("no thread is needed");
        let seen = setting
            .ping_pong(&lines, &pairs, now)
            .expect("two threads")
            .pairs;
        assert!(seen.iter().all(|one| one.samples.len() == 1), "{seen:?}");
        setting.stop.stop(Reason::Interrupted);
        let seen = setting.compare(&kinds, 2, None).expect("two threads");
        assert!(
            seen.rows.iter().all(|row| row.samples.is_empty()),
            "{seen:?}"
        );
    }

    #[test]
    fn rows_count_disturbed_samples() {
        let waiting = |waited| {
            Kind::measured("it", move |_| {
                Ok(Sample {
                    ns: 1.0,
                    pinned: true,
                    lost: Taken {
                        waited: Some(Duration::from_millis(waited)),
                        switches: None,
                        of: Duration::from_secs(1),
                    },
                })
            })
        };
        let kinds = [waiting(500), waiting(0)];
        let mut setting = setting();
        setting.processors = 2;
        let seen = setting.compare(&kinds, 2, None).expect("no thread");
        let [disturbed, quiet] = &seen.rows[..] else {
            unreachable!("two rows")
        };
        assert_eq!((disturbed.disturbed, quiet.disturbed), (3, 0));
        assert_eq!(
            (disturbed.is_disturbed(), quiet.is_disturbed()),
            (true, false)
        );
        // Tasks that take turns wait for each other.
        setting.processors = 1;
        let seen = setting.compare(&kinds, 2, None).expect("no thread");
        assert!(!seen.rows[0].is_disturbed());
    }
}
