//! The cost function: coherence, sampling, predictions, scaled transfers, and the table of call
//! sites.

use super::policies;
use super::reference::Random;
use tautline_core::taper::{
    Class, Coherence, CostFunction, Estimate, Instance, Policy, Q16, Samples, Sites, Slot,
    is_admitted,
};

/// Executes a loop of `n` iterations with the cost of each in nanoseconds.
fn execute(cost: &mut CostFunction, n: u64, time: impl Fn(u64) -> u64) {
    let mut samples = Samples::default();
    cost.prepare(n);
    (0..n).for_each(|at| cost.record(&mut samples, at, time(at)));
    cost.learn(&samples, 1);
}

/// A hot tenth, with 24 times the work of the rest.
fn hot(at: u64, n: u64) -> u64 {
    if (n / 3..n / 3 + n / 10).contains(&at) {
        24_000
    } else {
        1_000
    }
}

fn close(a: u64, b: u64, percent: u64) -> bool {
    100 * a.abs_diff(b) <= percent * b
}

#[test]
fn coherence_is_the_mean_of_the_smaller_over_the_larger() {
    let pair = |a: [u64; 2], b: [u64; 2]| {
        let mut coherence = Coherence::default();
        a.into_iter()
            .zip(b)
            .for_each(|(a, b)| coherence.record(a, b));
        coherence.mean().unwrap()
    };
    assert_eq!(pair([7, 9], [7, 9]), Q16::whole(1));
    assert_eq!(pair([2, 4], [1, 4]), Q16::ratio(3, 4));
    assert_eq!(pair([1, 4], [2, 4]), Q16::ratio(3, 4));
    assert_eq!(
        pair([0, 0], [0, 5]),
        Q16::ratio(1, 2),
        "both 0, and one of them"
    );
    for seed in 1..1000u64 {
        let numbers = [
            seed * 7919 % 101,
            seed * 104_729 % 103,
            seed * 31 % 17,
            seed * 37 % 11,
        ];
        let [a, b, c, d] = numbers;
        assert_eq!(pair([a, b], [c, d]), pair([c, d], [a, b]));
        assert!(pair([a, b], [c, d]) <= Q16::whole(1));
    }
}

/// Few iterations that carry the work and change are hidden by the mean only.
#[test]
fn weighted_coherence_counts_work() {
    let mut coherence = Coherence::default();
    (0..99).for_each(|_| coherence.record(1, 1));
    coherence.record(100, 1);
    assert!(coherence.mean().unwrap() > Q16::ratio(98, 100));
    assert!(coherence.weighted().unwrap() < Q16::ratio(51, 100));
}

#[test]
fn loops_have_classes() {
    let (low, high) = (Q16::ratio(9, 100), Q16::ratio(1, 10));
    assert_eq!(Class::of(low, Q16::ZERO), Class::Regular);
    assert_eq!(Class::of(high, Q16::ratio(8, 10)), Class::Coherent);
    assert_eq!(Class::of(high, Q16::ratio(79, 100)), Class::Chaotic);
    let mut cost = CostFunction::default();
    (0..2).for_each(|_| execute(&mut cost, 1000, |at| hot(at, 1000)));
    assert_eq!(cost.class(), Some(Class::Coherent));
}

#[test]
fn only_heavy_or_varying_sections_are_refined() {
    let mut even = CostFunction::default();
    let mut steep = CostFunction::default();
    for _ in 0..5 {
        execute(&mut even, 16_000, |at| 1000 + at % 7);
        // One section of the first sixteen has more than ten times the mean and the variance of the
        // loop.
        let spread = |at| if at % 4 == 0 { 39_700 } else { 100 };
        execute(&mut steep, 16_000, |at| {
            if at / 1000 == 5 { spread(at) } else { 100 }
        });
    }
    assert_eq!(even.sections(), 16, "the base sample");
    assert!(
        (19..=32).contains(&steep.sections()),
        "{} sections",
        steep.sections()
    );
}

/// A loop of sections that each have their mean and deviation: of two successive iterations one is
/// above and one below.
struct Sections([(u64, u64); 16]);

impl Sections {
    const LEN: u64 = 64;

    fn random(random: &mut Random) -> Self {
        Self([(); 16].map(|()| (50_000 + random.below(100_000), random.below(20_000))))
    }

    fn time(&self, at: u64) -> u64 {
        let (mean, deviation) = self.0[(at / Self::LEN) as usize];
        if at % 2 == 0 {
            mean + deviation
        } else {
            mean - deviation
        }
    }

    /// The mean · variance of each section, as a multiple of that of the loop.
    fn excess(&self) -> [f64; 16] {
        let parts = self
            .0
            .map(|(mean, deviation)| (mean as f64, deviation as f64));
        let all = |of: &dyn Fn((f64, f64)) -> f64| parts.map(of).iter().sum::<f64>() / 16.0;
        let mean = all(&|(mean, _)| mean);
        let variance = all(&|(m, deviation)| deviation.powi(2) + (m - mean).powi(2));
        parts.map(|(m, deviation)| m * deviation.powi(2) / (mean * variance))
    }

    /// Returns the number of sections after some executions.
    fn found(&self, executions: usize) -> usize {
        let mut cost = CostFunction::default();
        (0..executions).for_each(|_| execute(&mut cost, 16 * Self::LEN, |at| self.time(at)));
        cost.sections()
    }
}

/// The deviation of one section, so that its mean · variance is half a percent below 2 μσ², and
/// above.
#[test]
fn a_section_is_refined_above_the_limit_only() {
    let mut random = Random(23);
    let mut tried = 0;
    while tried < 200 {
        let mut sections = Sections::random(&mut random);
        let one = random.below(16) as usize;
        let mut with = |deviation| {
            sections.0[one].1 = deviation;
            sections.excess()
        };
        let mut of_limit = |factor: f64| {
            let limit = factor * CostFunction::SAMPLE_GAIN as f64;
            let (mut below, mut above) = (0, 1_000_000);
            while below + 1 < above {
                let middle = u64::midpoint(below, above);
                match with(middle)[one] <= limit {
                    true => below = middle,
                    false => above = middle,
                }
            }
            below
        };
        let (below, above) = (of_limit(0.995), of_limit(1.005) + 1);
        let others = |excess: [f64; 16]| (0..16).filter(|&at| at != one).all(|at| excess[at] < 1.9);
        let is_alone = others(with(below)) && others(with(above));
        if !is_alone || above > sections.0[one].0 {
            continue;
        }
        tried += 1;
        sections.0[one].1 = below;
        assert_eq!(sections.found(5), 16, "section {one} of {:?}", sections.0);
        sections.0[one].1 = above;
        assert_eq!(sections.found(1), 19, "section {one} of {:?}", sections.0);
    }
}

#[test]
fn a_coherent_loop_is_predicted() {
    const N: u64 = 1_000_000;
    let shapes: [fn(u64) -> u64; 4] = [
        |at| N - at,
        |at| hot(at, N),
        |at| 1000 + at.wrapping_mul(0x9e37_79b9) % 5000,
        |_| 0x1000,
    ];
    for time in shapes {
        let mut cost = CostFunction::default();
        (0..3).for_each(|_| execute(&mut cost, N, time));
        let total = (0..N).map(time).sum();
        assert!(close(cost.work(0..N).unwrap(), total, 5));
        let half = (0..N / 2).map(time).sum();
        assert!(close(cost.work(0..N / 2).unwrap(), half, 5));
    }
}

#[test]
fn small_transfers_are_refused() {
    for (remaining, p) in [(400, 4), (1000, 2), (7, 3), (u64::MAX, u32::MAX)] {
        let limit = remaining / (2 * u64::from(p));
        assert!(!is_admitted(limit, remaining, p));
        assert!(is_admitted(limit + 1, remaining, p));
    }
}

/// Lucco, acceptance fact 26: a take is the most iterations whose predicted work is no more than
/// that of as many tasks of mean cost, so one more exceeds it: the error is less than the task at
/// that place. Only a task that costs more alone is taken all the same.
#[test]
fn a_scaled_take_has_the_work_of_that_many_tasks() {
    const N: u64 = 10_000;
    /// Nanoseconds by which sums of rounded times differ.
    const ROUNDING: u64 = 4;
    let mut cost = CostFunction::default();
    (0..3).for_each(|_| execute(&mut cost, N, |at| hot(at, N)));
    let work = |range| cost.work(range).unwrap();
    let total = work(0..N);
    let [mut exact, mut single] = [0; 2];
    for at in (0..N).step_by(97) {
        for count in [1, 2, 10, 333] {
            let (asked, taken) = (count * total / N, cost.take(at, count));
            let case = format!("{taken} from {at} for {count}");
            let (end, given) = (at + taken, work(at..at + taken));
            assert!(taken >= 1 && end <= N, "{case}");
            match given <= asked + ROUNDING {
                true => exact += 1,
                false => single += 1,
            }
            let fits = given <= asked + ROUNDING || taken == 1;
            assert!(fits, "{case}: {given} of {asked} ns");
            let next = work(at..N.min(end + 1));
            let is_most = end == N || next + ROUNDING > asked;
            assert!(is_most, "{case}: {next} of {asked} ns fit");
        }
    }
    assert!(exact > 9 * single && single > 0, "{exact} {single}");
}

/// Chunks of equal predicted work cover the loop, whatever the policy.
#[test]
fn cached_policies_cover_the_loop_in_chunks_of_equal_work() {
    const N: u64 = 10_000;
    let mut cost = CostFunction::default();
    (0..3).for_each(|_| execute(&mut cost, N, |at| hot(at, N)));
    let cx = Instance::new(N, 4);
    for policy in policies::ALL {
        let (mut left, mut chunks) = (N, 0);
        while left > 0 {
            let chunk = cost.chunk(&policy, left, Estimate::START, &cx);
            assert!((1..=left).contains(&chunk), "{policy:?}: {chunk} of {left}");
            (left, chunks) = (left - chunk, chunks + 1);
        }
        assert!(chunks >= 4, "{policy:?}");
    }
    let share = cost.work(0..N).unwrap() / 8;
    let mut at = 0;
    for _ in 0..4 {
        let chunk = cost.chunk(&Policy::Factoring, N - at, Estimate::START, &cx);
        let first = at == 0;
        let work = cost.work(at..at + chunk).unwrap();
        assert!(!first || close(work, share, 10), "{work} of {share}");
        at += chunk;
    }
}

#[test]
fn another_size_scales_the_sections_and_twice_the_size_forgets_them() {
    let mut cost = CostFunction::default();
    execute(&mut cost, 1000, |at| at);
    cost.prepare(1500);
    assert!(cost.is_known());
    assert!(cost.work(0..750).unwrap() < cost.work(750..1500).unwrap() / 2);
    cost.prepare(4000);
    assert!(!cost.is_known());
    assert_eq!(cost.work(0..4000), None);
    cost.prepare(0);
    assert_eq!((cost.take(0, 5), cost.left(0), cost.sections()), (0, 0, 0));
}

/// Else only one of eight executions would be measured before anything is known.
#[test]
fn a_loop_of_another_size_is_measured_from_its_first_execution() {
    let slots: [Slot; 4] = Default::default();
    let sites = Sites::new(&slots);
    let runs = |n| {
        let mut site = sites.get(7).expect("no other execution");
        site.prepare(n);
        site.runs
    };
    assert_eq!([64, 64, 64, 96, 2000, 2000].map(runs), [1, 2, 3, 4, 1, 2]);
}

/// A preempted thread makes a block seem 1000 times as long.
#[test]
fn an_outlier_hardly_changes_a_prediction() {
    let mut cost = CostFunction::default();
    (0..3).for_each(|_| execute(&mut cost, 16_000, |_| 2500));
    execute(
        &mut cost,
        16_000,
        |at| if at == 777 { 2_500_000 } else { 2500 },
    );
    assert!(close(cost.work(0..16_000).unwrap(), 16_000 * 2500, 1));
}

#[test]
fn a_chaotic_loop_is_not_predicted() {
    let mut cost = CostFunction::default();
    execute(&mut cost, 160, |at| {
        if at / 10 % 2 == 0 { 100_000 } else { 1_000 }
    });
    assert!(cost.is_known());
    execute(&mut cost, 160, |at| {
        if at / 10 % 2 == 1 { 100_000 } else { 1_000 }
    });
    assert!(!cost.is_known());
}

#[test]
fn a_table_holds_the_last_sites_and_never_waits() {
    let slots: [Slot; 8] = Default::default();
    let sites = Sites::new(&slots);
    for key in 1..100 {
        let mut site = sites.get(key).unwrap();
        execute(&mut site.cost, 10, |_| key as u64 * 1000);
        assert!(sites.get(key).is_none(), "in use");
    }
    assert!(close(
        sites.get(99).unwrap().cost.work(0..10).unwrap(),
        990_000,
        1
    ));
    assert!(!sites.get(1).unwrap().cost.is_known(), "replaced");
    assert!(sites.get(0).is_none());
    assert!(Sites::new(&[]).get(1).is_none());
}
