//! Points of the space of all settings, spread evenly and the same in every run.

use tautline::balance::{Config, Fairness, Graph, PlaceId, Run, Steal};
use tautline::prelude::*;

/// One way to set the balancer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point(Config);

const PLACES: [u32; 6] = [1, 2, 3, 4, 5, 8];
const WORKERS: [usize; 3] = [1, 2, 3];
const LIFELINES: [Graph; 4] = [
    Graph::Ring,
    Graph::Hypercube { radix: 2 },
    Graph::Hypercube { radix: 3 },
    Graph::Full,
];
const RANDOM_STEALS: [usize; 3] = [0, 1, 4];
const STEALS: [Steal; 3] = [Steal::Half, Steal::Count(1), Steal::Count(7)];
const GRAINS: [usize; 4] = [1, 10, 511, 1_000_000];
const FAIRNESS: [Fairness; 4] = [
    Fairness::Inline,
    Fairness::Yield,
    Fairness::OneCoreFree,
    Fairness::Never,
];

impl Point {
    /// Runs `bag` with these settings.
    pub(crate) fn run<B: Bag>(
        &self,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        output: B::Output,
    ) -> Run<B::Output> {
        let Config {
            places,
            workers,
            random_steals,
            lifelines,
            steal,
            grain,
            fairness,
            seed,
            ..
        } = self.0;
        let builder = Runtime::builder().places(places).workers(workers);
        let rt = builder.build().expect("threads start");
        rt.balancer()
            .random_steals(random_steals)
            .lifelines(lifelines)
            .steal(steal)
            .grain(grain)
            .fairness(fairness)
            .seed(seed)
            .run(bag, shared, output)
            .expect("valid settings")
    }
}

/// `n` values, each of `values` equally often but for one, in an order that follows from `seed`
/// (Fisher, Yates, with the generator of Knuth's MMIX).
fn column<T: Copy>(values: &[T], n: usize, seed: u64) -> Vec<T> {
    let mut column: Vec<T> = values.iter().copied().cycle().take(n).collect();
    let mut x = seed;
    for i in (1..n).rev() {
        x = x
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        column.swap(i, (x >> 33) as usize % (i + 1));
    }
    column
}

/// `n` points.
pub(crate) fn sample(n: usize) -> Vec<Point> {
    let (places, workers) = (column(&PLACES, n, 1), column(&WORKERS, n, 2));
    let (lifelines, tries) = (column(&LIFELINES, n, 3), column(&RANDOM_STEALS, n, 4));
    let (steals, grains) = (column(&STEALS, n, 5), column(&GRAINS, n, 6));
    let fairness = column(&FAIRNESS, n, 7);
    let point = |i: usize| {
        // The thread that only serves needs another one that works.
        let least = if fairness[i] == Fairness::OneCoreFree {
            2
        } else {
            1
        };
        Point(Config {
            places: places[i],
            workers: workers[i].max(least),
            random_steals: tries[i],
            lifelines: lifelines[i],
            steal: steals[i],
            grain: grains[i].into(),
            fairness: fairness[i],
            seed: i as u64,
            ..Config::default()
        })
    };
    (0..n).map(point).collect()
}

/// The settings of Finnerty, acceptance fact 1, in every combination.
#[allow(dead_code, reason = "not every program that samples walks them all")]
pub(crate) fn every_combination() -> Vec<Point> {
    let mut out = Vec::new();
    for places in 1..=5 {
        for workers in WORKERS {
            for lifelines in &LIFELINES[..3] {
                for grain in GRAINS {
                    for fairness in FAIRNESS {
                        // The thread that only serves needs another one that works.
                        let alone = workers == 1 && fairness == Fairness::OneCoreFree;
                        out.push(Point(Config {
                            places,
                            workers: workers + usize::from(alone),
                            lifelines: *lifelines,
                            grain: grain.into(),
                            fairness,
                            seed: out.len() as u64,
                            ..Config::default()
                        }));
                    }
                }
            }
        }
    }
    out
}

/// Every value of every parameter comes up at least `floor` times.
///
/// # Panics
/// One does not.
pub(crate) fn assert_covers(points: &[Point], floor: usize) {
    fn check<T: PartialEq + std::fmt::Debug>(
        points: &[Point],
        floor: usize,
        values: &[T],
        of: impl Fn(&Config) -> T,
    ) {
        for value in values {
            let times = points.iter().filter(|point| of(&point.0) == *value).count();
            assert!(times >= floor, "{value:?}: {times} times");
        }
    }
    check(points, floor, &PLACES, |c| c.places);
    check(points, floor, &WORKERS, |c| c.workers);
    check(points, floor, &LIFELINES, |c| c.lifelines);
    check(points, floor, &RANDOM_STEALS, |c| c.random_steals);
    check(points, floor, &STEALS, |c| c.steal);
    check(points, floor, &GRAINS, |c| c.grain.initial());
    check(points, floor, &FAIRNESS, |c| c.fairness);
}
