//! The grain tuner, fed with recorded readings.
//!
//! | fact | test |
//! |---|---|
//! | Finnerty, acceptance fact 15: the thesis' settings | `the_settings_are_the_thesis` |
//! | Finnerty, acceptance fact 16: a recorded trace gives the grains computed by hand | `merge_empty_follows_a_trace`, `split_merge_follows_a_trace` |
//! | Finnerty, acceptance fact 23: a dormant place's grain is not driven down | `a_rest_is_no_sign` |

use tautline_core::grain::{GRAIN_MAX, Gauge, Log, Pace, Rule, Sample, Tuner, Tuning, Utilization};

const MS: u64 = 1_000_000;

/// A tuner and the readings so far.
struct Bench {
    tuner: Tuner,
    log: Log,
    now: u64,
}

impl Bench {
    fn new(tuning: Tuning) -> Self {
        Self {
            tuner: Tuner::new(tuning, 0),
            log: Log::default(),
            now: 0,
        }
    }

    /// Feeds a millisecond with these events; returns the grain after it. `full`: per cent of the
    /// time with all workers running.
    fn tick(&mut self, fed: u64, split: u64, emptied: u64, full: u64) -> usize {
        self.log.fed += fed;
        self.log.split += split;
        self.log.emptied += emptied;
        self.log.utilization.full += full * MS / 100;
        self.now += MS;
        self.tuner.tick(self.log, self.now);
        self.tuner.grain()
    }

    /// Feeds a millisecond of eight workers with timed turns; returns the grain after it.
    fn measure(&mut self, sample: Sample, idle_percent: u64) -> usize {
        self.log.sample += sample;
        self.log.utilization.idle += 8 * MS * idle_percent / 100;
        self.log.utilization.busy += 8 * MS * (100 - idle_percent) / 100;
        self.now += MS;
        self.tuner.tick(self.log, self.now);
        self.tuner.grain()
    }
}

/// Returns ten turns of `grain` tasks of 10 ticks each, with `looking` ticks spent on polling.
fn turns(grain: usize, looking: u64) -> Sample {
    Sample {
        turns: 10,
        dry: 0,
        tasks: 10 * grain as u64,
        looking: 10 * looking,
        quiet_turns: 10,
        quiet_looking: 10 * looking,
        computing: 100 * grain as u64,
    }
}

#[test]
fn the_settings_are_the_thesis() {
    for rule in [Rule::MergeEmpty, Rule::SplitMerge] {
        let Tuning {
            initial,
            interval,
            frozen,
            ..
        } = Tuning::thesis(rule);
        assert_eq!((initial, interval, frozen), (10, MS, false));
    }
    // Each trigger from both sides, twice as a verdict requires.
    let twice = |rule, fed, split, emptied, full| {
        let mut bench = Bench::new(Tuning::thesis(rule));
        bench.tick(fed, split, emptied, full);
        bench.tick(fed, split, emptied, full)
    };
    let merge_empty = |fed, emptied, full| twice(Rule::MergeEmpty, fed, 0, emptied, full);
    assert_eq!(merge_empty(14, 10, 100), 20, "more than 1.3 feedings");
    assert_eq!(merge_empty(13, 10, 100), 10, "1.3 feedings");
    assert_eq!(merge_empty(10, 10, 89), 5, "full for less than 90 %");
    assert_eq!(merge_empty(10, 10, 90), 10, "full for 90 %");
    let split_merge = |fed, split| twice(Rule::SplitMerge, fed, split, 0, 100);
    assert_eq!(split_merge(10, 19), 20, "fewer than 2 takings");
    assert_eq!(split_merge(10, 20), 10, "2 takings");
    assert_eq!(split_merge(0, 0), 10, "no sign");
}

/// Each row: the events of a millisecond, and the grain after it, computed by hand.
#[test]
fn merge_empty_follows_a_trace() {
    let mut bench = Bench::new(Tuning::thesis(Rule::MergeEmpty));
    let trace = [
        (0, 0, 100, 10, "never emptied, never fed: no sign"),
        (5, 2, 100, 10, "small, once"),
        (5, 2, 100, 20, "small, twice"),
        (5, 2, 100, 20, "a change needs two new verdicts"),
        (5, 5, 100, 20, "no sign: the one before is forgotten"),
        (5, 2, 100, 20, "small, once"),
        (5, 2, 100, 40, "small, twice"),
        (5, 2, 50, 40, "contradiction: forgotten"),
        (5, 5, 50, 40, "large, once"),
        (5, 2, 100, 40, "small after large: once"),
        (5, 5, 50, 40, "large after small: once"),
        (5, 5, 50, 20, "large, twice"),
        (3, 0, 100, 20, "fed and never emptied is small, once"),
        (3, 0, 100, 40, "and twice"),
    ];
    for (fed, emptied, full, grain, why) in trace {
        assert_eq!(bench.tick(fed, 0, emptied, full), grain, "{why}");
    }
}

#[test]
fn split_merge_follows_a_trace() {
    let mut bench = Bench::new(Tuning::thesis(Rule::SplitMerge));
    let trace = [
        (4, 7, 100, 10),
        (4, 7, 100, 20),
        (4, 8, 100, 20),
        (4, 7, 100, 20),
        (4, 0, 100, 40),
        (4, 0, 89, 40),
        (4, 9, 89, 40),
        (4, 9, 89, 20),
    ];
    for (fed, split, full, grain) in trace {
        assert_eq!(bench.tick(fed, split, 4, full), grain);
    }
}

#[test]
fn a_grain_stays_within_its_bounds() {
    let mut bench = Bench::new(Tuning::thesis(Rule::MergeEmpty));
    for _ in 0..20 {
        bench.tick(1, 0, 1, 0);
    }
    assert_eq!(bench.tuner.grain(), 1);
    for _ in 0..60 {
        bench.tick(2, 0, 1, 100);
    }
    assert_eq!(bench.tuner.grain(), GRAIN_MAX);
}

/// Readings from a time without work have no influence on the grain.
#[test]
fn a_rest_is_no_sign() {
    for rule in [Rule::MergeEmpty, Rule::SplitMerge] {
        let mut bench = Bench::new(Tuning::thesis(rule));
        bench.tick(1, 2, 1, 0);
        for _ in 0..5 {
            bench.now += 100 * MS;
            bench.log.utilization.idle += 800 * MS;
            assert!(bench.tuner.rested(bench.log, bench.now));
            assert!(!bench.tuner.is_due(bench.now));
            assert_eq!(bench.tick(1, 2, 1, 95), 10, "{rule:?}");
        }
    }
}

#[test]
fn a_frozen_grain_stays() {
    let mut bench = Bench::new(Tuning::frozen(77));
    for _ in 0..10 {
        assert_eq!(bench.measure(turns(77, 1000), 0), 77);
    }
}

/// An empty poll of 40 ticks and tasks of 10: at most one part in 64, aimed at one in 128.
#[test]
fn a_grain_is_measured() {
    let mut bench = Bench::new(Tuning::default());
    assert_eq!(bench.measure(turns(1, 40), 0), 1);
    assert_eq!(bench.measure(turns(1, 40), 0), 512);
    // Nothing changes between the limit and a sixteenth of it.
    for grain in [512, 256, 4096] {
        for _ in 0..3 {
            assert_eq!(bench.measure(turns(grain, 40), 0), 512);
        }
    }
    assert_eq!(bench.measure(turns(4097, 40), 0), 512);
    assert_eq!(bench.measure(turns(4097, 40), 0), 256);
}

/// Serving others may take one part in 16; a poll that found something is not counted as empty.
#[test]
fn much_service_lengthens_the_turn() {
    let serving = |grain, ticks: u64| Sample {
        looking: 10 * ticks,
        quiet_turns: 0,
        quiet_looking: 0,
        ..turns(grain, 0)
    };
    let mut bench = from(10);
    for grain in [10, 20, 20, 40] {
        assert_eq!(bench.measure(serving(bench.tuner.grain(), 20), 0), grain);
    }
    for _ in 0..4 {
        assert_eq!(bench.measure(serving(40, 20), 0), 40);
    }
}

/// Creates a default tuner with this initial grain.
fn from(initial: usize) -> Bench {
    Bench::new(Tuning {
        initial,
        ..Tuning::default()
    })
}

/// Workers that wait for work justify more polling: up to a quarter of the time that they lose.
#[test]
fn idle_workers_shorten_the_turn() {
    // Half idle: one part in 8 is allowed, so one in 64 may become more.
    let mut bench = from(256);
    assert_eq!(bench.measure(turns(256, 40), 50), 256);
    assert_eq!(
        bench.measure(turns(256, 40), 50),
        64,
        "twice the required grain"
    );
    for _ in 0..6 {
        assert_eq!(bench.measure(turns(64, 40), 50), 64, "one part in 16");
    }
    // A grain far off is corrected in steps.
    let mut far = from(4096);
    far.measure(turns(4096, 40), 50);
    assert_eq!(far.measure(turns(4096, 40), 50), 512, "an eighth at most");
}

/// A place that lacks work for a moment is left unchanged; one that does so repeatedly is not.
#[test]
fn idle_workers_are_remembered() {
    let mut bench = from(1000);
    for _ in 0..32 {
        assert_eq!(bench.measure(turns(1000, 40), 0), 1000);
    }
    assert_eq!(bench.measure(turns(1000, 40), 100), 1000);
    for _ in 0..32 {
        assert_eq!(bench.measure(turns(1000, 40), 0), 1000);
    }
    for round in 0..32 {
        let grain = bench.tuner.grain();
        bench.measure(turns(grain, 40), if round % 4 == 0 { 100 } else { 0 });
    }
    // A quarter idle: one part in 16 is enough for 64 tasks, four times that is left unchanged.
    let grain = bench.tuner.grain();
    assert!((64..=256).contains(&grain), "{grain}");
}

/// A request waits half a turn of the only worker. Polls of 40 ticks and 80 requests in a million
/// cost least, together, at turns of 1000 ticks, which are 100 tasks.
#[test]
fn requests_of_other_places_shorten_the_turn() {
    let grain_with = |requests| {
        let mut bench = from(1000);
        for _ in 0..100 {
            bench.log.sample += turns(bench.tuner.grain(), 40);
            bench.log.utilization.busy += MS;
            bench.log.requests += requests;
            bench.now += MS;
            bench.tuner.tick(bench.log, bench.now);
        }
        bench.tuner.grain()
    };
    assert_eq!(grain_with(0), 1000, "polling is cheap enough");
    let grain = grain_with(80);
    assert!((50..=200).contains(&grain), "{grain}");
    assert_eq!(
        grain_with(u64::MAX / 200),
        125,
        "polling and answering take a part in 32"
    );
}

/// Turns that end because no task is left do not call for more tasks per turn.
#[test]
fn turns_that_run_dry_do_not_ask_for_more() {
    let dry = Sample {
        dry: 10,
        ..turns(3, 40)
    };
    let mut bench = from(200);
    for _ in 0..4 {
        assert_eq!(bench.measure(dry, 5), 200);
    }
    let mut bench = from(200);
    assert_eq!(bench.measure(dry, 50), 200);
    // A full turn of half of that would poll too often.
    for _ in 0..4 {
        assert_eq!(bench.measure(dry, 50), 64);
    }
}

#[test]
fn the_gauge_adds_up_workers_while_there_is_work() {
    let mut gauge = Gauge::default();
    gauge.crew(1, 2, 100);
    gauge.crew(2, 2, 150);
    gauge.crew(0, 2, 180);
    let utilization = Utilization {
        full: 30,
        busy: 50 + 60,
        idle: 50,
    };
    assert_eq!(gauge.read(200).1, utilization);
    // A clock that is behind removes nothing.
    gauge.crew(0, 2, 170);
    assert_eq!(gauge.read(200).1, utilization);
}

/// Short turns are skipped, long ones are all timed, and the sums are reported at intervals that
/// double.
#[test]
fn a_pace_times_some_turns() {
    for (turn, most_reads) in [(100, 100), (100_000, 400)] {
        let mut pace = Pace::new(&Tuning::default(), 0);
        let (mut now, mut reads, mut reports, mut sum) = (0, 0, 0, Sample::default());
        while now < 10 * MS {
            let mut clock = |now| {
                reads += 1;
                now
            };
            if let Some(sample) = pace.begin(|| clock(now)) {
                reports += 1;
                sum += sample;
            }
            now += turn / 10;
            pace.looked(|| clock(now));
            pace.did(7, false);
            now += turn - turn / 10;
        }
        assert!(reads <= most_reads * 10, "{reads} readings of the clock");
        assert!((15..=40).contains(&reports), "{reports} reports");
        assert_eq!(sum.tasks, 7 * sum.turns);
        assert_eq!(sum.looking, sum.turns * (turn / 10));
        assert_eq!(sum.computing, sum.turns * (turn - turn / 10));
    }
}
