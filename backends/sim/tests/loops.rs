//! Loops over 512 ranks in virtual time: what self-scheduling, the methods of comparison and
//! deferred balancing reach on loops with the shapes of four applications.
//!
//! All figures are of the exact times of the instance before, known to all ranks and free, which no
//! rank can know (`known`).
//!
//! | fact | test |
//! |---|---|
//! | Lucco, acceptance fact 28: prediction against counting | `prediction_improves_every_method` |
//! | the same by what ranks can know | `exact_times_are_more_than_ranks_can_know` |
//! | Lucco, acceptance fact 34: deferred balancing against the best other method | `deferred_balancing_is_compared_with_the_others`, `larger_shares_are_compared_with_the_others` |

#[path = "loops/cached.rs"]
mod cached;
#[path = "loops/known.rs"]
mod known;

use std::ops::Range;
use tautline_core::taper::Coherence;
use tautline_exhibits::defer::{Baseline, Rule, TUNINGS};
use tautline_sim::Program;
use tautline_sim::loops::{Costs, Method, Repeated};

const P: u32 = 512;
const INSTANCES: u64 = 30;
/// The first instance of the steady state.
const STEADY: usize = 20;

/// The methods that do not know earlier instances, the rules of those that exchange iterations, and
/// the methods that do.
const OTHERS: [&str; 5] = ["blocked", "ss", "fac", "gss", "taper"];
const RULES: [Rule; 3] = [Rule::Neighbours, Rule::Tree, Rule::Halving];
const DEFERRED: [&str; 4] = ["dlb", "dlb-paced", "dlb-free", "dlb-free-paced"];

/// Returns the efficiency by exchanges, with the best of their settings.
fn exchanged(repeated: &Repeated<'_>, rule: Rule, steady: Range<usize>) -> f64 {
    let n = repeated.times[0].len() as u64;
    let with = |tuning| {
        let machine = |_, rank| Baseline::new(rank, n, P, rule, tuning);
        repeated.efficiency_of(steady.clone(), machine)
    };
    TUNINGS.map(with).into_iter().fold(0.0, f64::max)
}

/// Returns the efficiencies of a program: of the other methods, of deferred balancing, of
/// self-scheduling from the placement before, and of the choice.
fn row(program: Program, share: u64) -> (Vec<f64>, Vec<f64>, f64, f64) {
    let n = share * u64::from(P);
    let times: Vec<Vec<u64>> = (0..INSTANCES).map(|at| program.times(n, at)).collect();
    let mean = times[STEADY].iter().sum::<u64>() / n;
    let costs = Costs::of(mean);
    let repeated = Repeated {
        ranks: P,
        costs,
        times: &times,
    };
    let with = |method: Method, steady| repeated.efficiency(method, steady);
    let named = |name: &str| name.parse().expect("a method");
    // They begin again in each instance: one is enough.
    let one = STEADY..STEADY + 1;
    let named_ones = OTHERS.iter().map(|name| with(named(name), one.clone()));
    let exchanges = RULES.map(|rule| exchanged(&repeated, rule, one.clone()));
    let others: Vec<f64> = named_ones.chain(exchanges).collect();
    let steady = STEADY..times.len();
    let deferred: Vec<f64> = DEFERRED
        .iter()
        .map(|name| with(named(name), steady.clone()))
        .collect();
    let placed = with(named("placed"), steady.clone());
    let auto = Method::Auto {
        communicates: program.communicates(),
    };
    let auto = with(auto, steady);
    let weighted = |coherence: Coherence| {
        coherence
            .weighted()
            .map_or(0.0, |c| c.to_bits() as f64 / 65_536.0)
    };
    let least = times[STEADY - 1..].windows(2).map(|pair| {
        let mut coherence = Coherence::default();
        pair[0]
            .iter()
            .zip(&pair[1])
            .for_each(|(a, b)| coherence.record(*a, *b));
        weighted(coherence)
    });
    let cells = others.iter().chain(&deferred).chain([&placed, &auto]);
    let cells: String = cells.map(|cell| format!(" {cell:.3}")).collect();
    let (least, mean) = (
        least.fold(1.0, f64::min),
        weighted(repeated.coherence(STEADY)),
    );
    println!(
        "{:<9}{share:4} {mean:.3} {least:.3} {cells}",
        format!("{program:?}")
    );
    (others, deferred, placed, auto)
}

/// Deferred balancing is above all methods that do not know earlier instances on three programs.
/// **Not met on AMR**: GL2 is above it, and above self-scheduling from the placement of the
/// instance before. When a vortex has moved, iterations of 0.9 of a rank's share are where none
/// were; a plan comes two instances later, and a rank that has two of them can give neither to a
/// rank that has a share.
///
/// The chosen plan must reach 0.90. **Not met at 48 iterations a rank**, but on PSIRRFAN:
/// with the times of the instance before known exactly, the best division has 0.91 on climate, 0.90
/// on EMU and 0.71 on AMR.
#[test]
fn deferred_balancing_is_compared_with_the_others() {
    compare(48);
}

/// The same with more iterations a rank: met and not met on the same programs.
#[test]
#[ignore = "cargo ci deep: minutes, with --release"]
fn larger_shares_are_compared_with_the_others() {
    [96, 192].into_iter().for_each(compare);
}

/// Compares all methods with `share` iterations a rank.
fn compare(share: u64) {
    println!("program  N/p coherence, least  {OTHERS:?} {RULES:?} {DEFERRED:?} placed auto");
    for program in Program::ALL {
        let (others, deferred, placed, auto) = row(program, share);
        let best = |cells: &[f64]| cells.iter().copied().fold(0.0, f64::max);
        let is_met = best(&deferred).min(auto) >= best(&others);
        assert!(is_met || program == Program::Amr, "{program:?}");
        let least = best(&deferred).min(placed).min(auto);
        assert!(least >= best(&others[..7]), "{program:?}");
        let floor = match program {
            Program::Climate => 0.84,
            Program::Emu => 0.88,
            Program::Amr => 0.45,
            Program::Psirrfan if share < 192 => 0.99,
            // 0.9899: `placed` is chosen, where `dlb-free` has 0.998.
            Program::Psirrfan => 0.98,
        };
        assert!(auto >= floor, "{program:?}");
    }
}
