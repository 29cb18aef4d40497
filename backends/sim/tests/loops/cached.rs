//! Scheduling by predicted work compared with scheduling by number, on the loops of table M2 of the
//! specification (5.4).

use tautline_core::Rank;
use tautline_core::defer::{Epochs, Scheduler, Table};
use tautline_core::taper::{Instance, Policy, Q16, Taper};
use tautline_exhibits::defer::{Baseline, Rule, TUNINGS};
use tautline_sim::loops::{Costs, run};

/// A number of 53 bits, as a fraction: splitmix64 (Steele, Lea and Flood 2014).
fn unit(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

const KINDS: [&str; 3] = ["exponential", "bimodal", "hot spot"];

fn times(kind: &str, n: u64, random: &mut u64) -> Vec<u64> {
    let mut time = |at: u64| match kind {
        "exponential" => -(1.0 - unit(random)).ln(),
        "bimodal" if unit(random) < 0.1 => 9.7,
        "bimodal" => 0.03,
        _ => 0.2 + 4.5 * (-((at as f64 / n as f64 - 0.4) / 0.1).powi(2)).exp(),
    };
    (0..n).map(|at| (100_000.0 * time(at)) as u64).collect()
}

/// Returns the efficiency of one instance from blocks.
fn once<M: Scheduler>(p: u32, machine: impl Fn(Rank) -> M, times: &[u64]) -> f64 {
    let work = times.iter().sum::<u64>();
    let costs = Costs::of(work / times.len() as u64);
    let parts = (0..p).map(Rank).map(machine).collect();
    let (spans, _) = run(parts, &[times.to_vec()], costs);
    work as f64 / (f64::from(p) * spans[0] as f64)
}

const POLICIES: [(&str, Policy); 4] = [
    ("SS", Policy::SelfScheduling),
    ("FAC", Policy::Factoring),
    ("GSS", Policy::Guided),
    ("TAPER", Policy::Taper(Taper::published(Q16::ratio(13, 10)))),
];

/// No method is worse by prediction on any of the nine loops: self-scheduling in 36 cases, LLB, GL1
/// and GL2, each with the best of its tunings, in 27.
#[test]
fn prediction_improves_every_method() {
    let mut random = 1;
    let (mut worse, mut compared) = (Vec::new(), 0);
    for (p, share) in [(512, 16), (512, 64), (64, 64)] {
        for kind in KINDS {
            let n = u64::from(p) * share;
            let times = times(kind, n, &mut random);
            let noisy = |time: &u64| (*time as f64 * (0.9 + 0.2 * unit(&mut random))) as u64;
            let table = Table::new(times.iter().map(noisy).collect::<Vec<_>>());
            let instance = Instance::new(n, p);
            print!("{p:4} {share:3} {kind:<12}");
            let mut compare = |name, plain: f64, cached: f64| {
                print!("  {name} {plain:.3} → {cached:.3}");
                compared += 1;
                if cached < plain {
                    worse.push((p, share, kind, name));
                }
            };
            for (name, policy) in POLICIES {
                let plain = once(p, |rank| Epochs::new(rank, instance, policy), &times);
                let cached = |rank| Epochs::predicted(rank, instance, policy, &table);
                compare(name, plain, once(p, cached, &times));
            }
            for (name, rule) in [
                ("LLB", Rule::Neighbours),
                ("GL1", Rule::Tree),
                ("GL2", Rule::Halving),
            ] {
                let plain = TUNINGS
                    .map(|tuning| once(p, |rank| Baseline::new(rank, n, p, rule, tuning), &times));
                let cached = TUNINGS.map(|tuning| {
                    let machine = |rank| Baseline::predicted(rank, (n, p), rule, tuning, &table);
                    once(p, machine, &times)
                });
                let [plain, cached] =
                    [plain, cached].map(|all| all.into_iter().fold(0.0, f64::max));
                compare(name, plain, cached);
            }
            println!();
        }
    }
    assert_eq!(compared, 36 + 27);
    assert!(worse.is_empty(), "{worse:?}");
}
