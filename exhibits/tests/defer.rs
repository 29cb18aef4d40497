//! Loops over ranks balanced by exchanges: each iteration once, and an end; and they do move
//! iterations.
//!
//! | fact | test |
//! |---|---|
//! | Lucco, acceptance fact 25: the four tasks, by number and by work | `remaining_work_decides_a_transfer_not_the_number_of_tasks` |

#[path = "../../core/tests/defer/driver.rs"]
mod driver;

use driver::{Costs, Outcome, Random, run_by_epochs, times};
use std::ops::Range;
use tautline_core::Rank;
use tautline_core::defer::{Event, Refusal, Scheduler, Table};
use tautline_core::machine::{Action, Machine, Pick, Step};
use tautline_core::taper::{CostFunction, Samples};
use tautline_exhibits::defer::{Baseline, Call, Rule, Tuning};

/// Runs a loop to its end.
fn run<M: Scheduler>(ranks: &mut [M], costs: Costs<'_>) -> Outcome {
    run_by_epochs(ranks, |_| 0, costs)
}

/// One range of iterations.
fn one(part: Range<u64>) -> Vec<Range<u64>> {
    std::iter::once(part).collect()
}

const RULES: [Rule; 3] = [Rule::Neighbours, Rule::Tree, Rule::Halving];

fn ranks(n: u64, p: u32, rule: Rule, tuning: Tuning) -> Vec<Baseline> {
    (0..p)
        .map(|rank| Baseline::new(Rank(rank), n, p, rule, tuning))
        .collect()
}

/// Runs a loop whose work is predicted, wrongly by up to a factor of four.
fn predicted(iteration: &[u64], p: u32, rule: Rule, tuning: Tuning, random: &mut Random) {
    let mut guess = |time: &u64| *time * random.below(4);
    let table = Table::new(iteration.iter().map(&mut guess).collect::<Vec<_>>());
    let n = iteration.len() as u64;
    let machine = |rank| Baseline::predicted(Rank(rank), (n, p), rule, tuning, &table);
    let mut ranks: Vec<_> = (0..p).map(machine).collect();
    let costs = Costs {
        iteration,
        chunk: random.below(10),
        message: &mut |_| 1 + random.below(60),
    };
    run(&mut ranks, costs);
    assert!(ranks.iter().all(Baseline::has_ended), "{rule:?}");
}

/// 10,000 loops for each rule, and as many of predicted work.
#[test]
fn random_baselines_end_with_each_iteration_done_once() {
    let mut moved = [0; 3];
    for seed in 0..60_000 {
        let mut random = Random(seed * 77 + 5);
        let p = 1 + random.below(33);
        let n = random.below(if seed % 8 == 0 { 433 } else { 100 });
        let tuning = Tuning {
            sync: 1 + random.below(8),
            min: random.below(4),
        };
        let rule = seed as usize % 3;
        let iteration = times(n, &mut random);
        let (least, spread) = (random.below(20), 1 + random.below(50));
        if seed % 2 == 1 {
            predicted(&iteration, p as u32, RULES[rule], tuning, &mut random);
            continue;
        }
        let mut ranks = ranks(n, p as u32, RULES[rule], tuning);
        let costs = Costs {
            iteration: &iteration,
            chunk: random.below(10),
            message: &mut |_| 1 + least + random.below(spread),
        };
        moved[rule] += run(&mut ranks, costs).moved;
        assert!(ranks.iter().all(Baseline::has_ended), "seed {seed}");
    }
    println!("iterations moved by rule: {moved:?}");
    // Loops in which nothing moves show little: an iteration a loop is the least.
    assert!(moved.iter().all(|moved| *moved > 10_000), "{moved:?}");
}

/// The first of 8 ranks has all the long iterations, 64,000 long together.
fn front(rule: Rule) -> Outcome {
    let iteration: Vec<u64> = (0..512).map(|i| if i < 64 { 1000 } else { 10 }).collect();
    let tuning = Tuning { sync: 4, min: 2 };
    let costs = Costs {
        iteration: &iteration,
        chunk: 10,
        message: &mut |_| 20,
    };
    run(&mut ranks(512, 8, rule, tuning), costs)
}

#[test]
fn baselines_relieve_a_rank_with_long_iterations() {
    // Unrelieved, the first rank takes 64,640: half of that.
    let half = 32_320;
    // A neighbour is given half of the 60 iterations that are left, and at the end half of the last
    // 8. By their number it is ahead of the other ranks, so none relieves it: 34,000, its own 640,
    // and 25 chunks of 10.
    let neighbour = 34_890;
    for (rule, most) in RULES.into_iter().zip([neighbour, half, half]) {
        let outcome = front(rule);
        assert!(outcome.makespan <= most, "{rule:?}: {outcome:?}");
        assert!(
            outcome.control > 0,
            "{rule:?}: ranks compare, report or request"
        );
    }
}

const SECOND: u64 = 1_000_000_000;

/// The seconds of four tasks of rank 0 and four of rank 1: 20 minutes, twice a second, a minute; 20
/// minutes in three tasks, and 20 minutes.
const FOUR_AND_FOUR: [u64; 8] = [1200, 1, 1, 60, 600, 540, 60, 1200];

/// Returns when that loop ends in seconds, and how many tasks move.
fn four_and_four<M: Scheduler>(latency: u64, machine: impl Fn(Rank) -> M) -> (f64, u64) {
    let costs = Costs {
        iteration: &FOUR_AND_FOUR.map(|time| time * SECOND),
        chunk: 0,
        message: &mut |_| latency,
    };
    let outcome = run(&mut [0, 1].map(|rank| machine(Rank(rank))), costs);
    (outcome.makespan as f64 / SECOND as f64, outcome.moved)
}

/// Rank 1 is ahead by number when its last task is about to begin, and gets the minute, after that
/// task. By work, it has more left. Tasks are given from the end of a block, so the minute is the
/// last of rank 0.
#[test]
fn remaining_work_decides_a_transfer_not_the_number_of_tasks() {
    let tuning = Tuning { sync: 1, min: 0 };
    let (mut cost, mut samples) = (CostFunction::default(), Samples::default());
    cost.prepare(8);
    for (at, time) in (0..).zip(FOUR_AND_FOUR) {
        cost.record(&mut samples, at, time * SECOND);
    }
    cost.learn(&samples, 1);
    for latency in [0, 1, SECOND / 10, SECOND / 2] {
        let counted = |here| Baseline::new(here, 8, 2, Rule::Neighbours, tuning);
        let by_number = four_and_four(latency, counted);
        assert_eq!(by_number, (41.0 * 60.0, 1), "{latency} ns a message");
        for rule in [Rule::Neighbours, Rule::Tree] {
            let predicted = |here| Baseline::predicted(here, (8, 2), rule, tuning, &cost);
            let by_work = four_and_four(latency, predicted);
            assert_eq!(
                by_work,
                (40.0 * 60.0, 0),
                "{rule:?}, {latency} ns a message"
            );
        }
    }
}

/// Picks the first.
struct First;

impl Pick for First {
    fn pick(&mut self, _: u32) -> u32 {
        0
    }
}

#[test]
fn malformed_calls_are_refused() {
    let tuning = Tuning { sync: 2, min: 1 };
    let names = |rank| Refusal::Names(Rank(rank));
    for (rule, from, call, why) in [
        (Rule::Neighbours, 2, Call::Begun(1), Refusal::Path),
        (Rule::Neighbours, 4, Call::Begun(1), Refusal::Path),
        (Rule::Neighbours, 1, Call::Begun(1), Refusal::Path),
        (Rule::Neighbours, 0, Call::Begun(41), Refusal::Count),
        (Rule::Neighbours, 0, Call::Ahead(u64::MAX), Refusal::Count),
        (Rule::Neighbours, 0, Call::Request, Refusal::Path),
        (Rule::Tree, 0, Call::Begun(1), Refusal::Path),
        (Rule::Tree, 0, Call::Left(Rank(2), 1, 1), Refusal::Path),
        (Rule::Tree, 2, Call::Left(Rank(3), 1, 1), names(3)),
        (Rule::Tree, 2, Call::Left(Rank(2), 1, 41), Refusal::Range),
        (Rule::Tree, 2, Call::Give(Rank(2), 1), Refusal::Path),
        (Rule::Tree, 0, Call::Give(Rank(1), 1), names(1)),
        (Rule::Tree, 0, Call::Give(Rank(4), 1), names(4)),
        (Rule::Tree, 0, Call::Give(Rank(0), 0), Refusal::Range),
        (Rule::Halving, 0, Call::Answer(vec![]), Refusal::Unasked),
        (Rule::Halving, 0, Call::Data(vec![]), Refusal::Iterations),
        (
            Rule::Halving,
            0,
            Call::Data(one(39..41)),
            Refusal::Iterations,
        ),
        (
            Rule::Halving,
            0,
            Call::Data(one(19..21)),
            Refusal::Iterations,
        ),
        (Rule::Halving, 3, Call::Sum(1), Refusal::Path),
        (Rule::Halving, 2, Call::Sum(41), Refusal::Count),
        (Rule::Halving, 2, Call::End, Refusal::Path),
        (Rule::Halving, 0, Call::End, Refusal::End),
    ] {
        // Rank 1 of 4, whose parent is 0 and whose child is 2.
        let mut machine = Baseline::new(Rank(1), 40, 4, rule, tuning);
        let first: &mut dyn Pick = &mut First;
        let mut ignore = |_: Action<Baseline>| {};
        machine.event(Event::Begin, &mut Step::new(first, &mut ignore));
        let before = machine.clone();
        let text = format!("{rule:?}: {call:?} from {from}");
        let received = machine.receive(Rank(from), call, &mut Step::new(first, &mut ignore));
        assert_eq!(received, Err(why), "{text}");
        assert!(machine == before, "{text}");
    }
}
