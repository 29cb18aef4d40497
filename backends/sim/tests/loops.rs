//! Loops over 512 ranks in virtual time: what self-scheduling, the methods of comparison and deferred balancing reach on loops
//! with the shapes of four applications.
//!
//! | fact | test |
//! |---|---|
//! | Lucco, acceptance fact 34: deferred balancing against the best other method | `deferred_balancing_is_compared_with_the_others` |

#[path = "loops/actor.rs"]
mod actor;
#[path = "loops/cached.rs"]
mod cached;

use actor::{Costs, Part, run};
use tautline_core::Rank;
use tautline_core::defer::{Baseline, Conditions, Deferred, Epochs, Geometry, Rule, Tuning};
use tautline_core::taper::{Instance, Policy, Taper};
use tautline_sim::{Cluster, Machine, Program};

const P: u32 = 512;
const COLUMNS: [&str; 12] = [
    "BLOCKED", "SS", "FAC", "GSS", "TAPER", "LLB", "GL1", "GL2", "DLBc", "+bar", "DLBf", "+bar",
];

/// The setting of the specification, for the mean time of an iteration: 0.2 of it for a message, 0.05 for each iteration sent,
/// 0.1 for a chunk.
fn setting(mean: u64) -> (Costs, Cluster) {
    let costs = Costs {
        chunk_ns: mean / 10,
        moved_ns: mean / 20,
    };
    let cluster = Cluster {
        wake_ns: 0,
        spin_ns: 0,
        node_places: 1,
        far_ns: mean / 5,
        near_ns: mean / 5,
        hop_ns: 0,
        gap_ns: 0,
        mb_per_s: 0,
        ..Machine::default().cluster
    };
    (costs, cluster)
}

fn share(p: u32, times: &[u64], ns: u64) -> f64 {
    times.iter().sum::<u64>() as f64 / (f64::from(p) * ns as f64)
}

/// The policies of self-scheduling, by their names in the source.
fn policies() -> [(&'static str, Policy); 4] {
    [
        ("SS", Policy::SelfScheduling),
        ("FAC", Policy::Factoring),
        ("GSS", Policy::Guided),
        ("TAPER", Policy::Taper(Taper::default())),
    ]
}

/// Runs one instance from blocks.
fn once<M: Part>(p: u32, machine: impl Fn(Rank) -> M, times: &[u64]) -> f64 {
    let n = times.len() as u64;
    let (costs, cluster) = setting(times.iter().sum::<u64>() / n);
    let parts = (0..p).map(Rank).map(machine).collect();
    let ended = run(parts, &[times.to_vec()], costs, cluster);
    share(p, times, ended.0[0].took)
}

/// Runs instances with deferred balancing; returns the efficiency of those after the 20th: without the time in which ranks learn
/// that an instance has ended, as for the other methods, and with it.
fn deferred(program: Program, n: u64, geometry: Geometry, pace: Option<Taper>) -> [f64; 2] {
    let times: Vec<Vec<u64>> = (0..30).map(|at| program.times(n, at)).collect();
    let (costs, cluster) = setting(times[0].iter().sum::<u64>() / n);
    let conditions = Conditions { geometry, pace, ..Conditions::default() };
    let machine = |rank| Deferred::new(Rank(rank), n, P, conditions);
    let (spans, _) = run((0..P).map(machine).collect(), &times, costs, cluster);
    let steady: Vec<u64> = times[20..].iter().flatten().copied().collect();
    let took = spans[20..].iter().map(|span| span.took).sum();
    [took, spans[29].ended - spans[19].ended].map(|ns| share(P, &steady, ns))
}

/// Returns the efficiencies of a program in the order of the columns.
fn row(program: Program, n: u64) -> Vec<f64> {
    let times = program.times(n, 20);
    let taper = Policy::Taper(Taper::default());
    let instance = Instance::new(n, P);
    let epochs = |policy| once(P, |rank| Epochs::new(rank, instance, policy), &times);
    // The best of four settings of (K_sync, K_min): the source tunes them for each application.
    let baseline = |rule| {
        let settings = [(1, 1), (2, 1), (4, 2), (8, 4)];
        let efficiency = |(sync, min)| {
            let tuning = Tuning { sync, min };
            once(P, |rank| Baseline::new(rank, n, P, rule, tuning), &times)
        };
        settings.map(efficiency).into_iter().fold(0.0, f64::max)
    };
    let block = times.chunks((n / u64::from(P)) as usize);
    let longest = block.map(|block| block.iter().sum::<u64>()).max();
    let mut row = vec![share(P, &times, longest.unwrap_or(1))];
    row.extend(
        [
            Policy::SelfScheduling,
            Policy::Factoring,
            Policy::Guided,
            taper,
        ]
        .map(epochs),
    );
    row.extend([Rule::Neighbours, Rule::Tree, Rule::Halving].map(baseline));
    for geometry in [Geometry::Contiguous, Geometry::Free] {
        for pace in [None, Some(Taper::default())] {
            row.extend(deferred(program, n, geometry, pace));
        }
    }
    row
}

/// Deferred balancing is above all self-scheduling on each program, as in the source. It is above all other methods where whole columns are
/// long; where single iterations outweigh their neighbours, contiguous blocks lose to random halving.
#[test]
fn deferred_balancing_is_compared_with_the_others() {
    let names = COLUMNS.map(|name| format!("{name:>8}")).concat();
    println!("{P} ranks  {names}");
    for (program, share) in Program::ALL.into_iter().flat_map(|p| [(p, 48),(p,96),(p,192)]) {
        let row = row(program, share * u64::from(P));
        let cells: String = row.iter().map(|cell| format!("{cell:8.3}")).collect();
        println!("{:<10} {cells}", format!("{program:?}"));
    }
}

#[test]
fn hybrid() {
    for (program, share_) in Program::ALL.into_iter().flat_map(|p| [(p, 48),(p,96)]) {
        let n = share_ * u64::from(P);
        print!("{:<10} {share_}", format!("{program:?}"));
        for sorted in [true] {
        for (name, policy) in policies() {
            let instance = Instance::new(n, P);
            let mut placed: Vec<Vec<u64>> = (0..P).map(|r| tautline_core::taper::blocked(r, n, P).collect()).collect();
            let mut before = program.times(n, 0);
            let (mut work, mut time) = (0, 0);
            for at in 1..30 {
                let times = program.times(n, at);
                let table = tautline_core::defer::Table::new(before.iter().copied());
                let (costs, cluster) = setting(times.iter().sum::<u64>() / n);
                let machine = |rank: u32| {
                    let mut mine = placed[rank as usize].clone();
                    mine.sort_unstable_by_key(|i| (if sorted {u64::MAX - before[*i as usize]} else {0}, *i));
                    let mut stock = tautline_core::defer::Stock::default();
                    stock.put(mine.into_iter().map(|i| i..i + 1));
                    Epochs::placed(Rank(rank), instance, policy, &table, stock)
                };
                let (spans, executed) = run((0..P).map(machine).collect(), &[times.clone()], costs, cluster);
                if at >= 20 {
                    work += times.iter().sum::<u64>();
                    time += spans[0].ended;
                }
                placed = executed;
                before = times;
            }
            print!("  {name} {:.3}", work as f64 / (f64::from(P) * time as f64));
        }
        }
        println!();
    }
}
