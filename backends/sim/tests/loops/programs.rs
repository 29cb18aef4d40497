//! All methods on the programs.

use super::{TUNINGS, once, policies, run, setting, share};
use tautline_core::Rank;
use tautline_core::defer::{
    Baseline, Choice, Conditions, Deferred, Epochs, Geometry, Rule, Stock, Table,
};
use tautline_core::taper::{Coherence, Instance, Policy, Taper, blocked};
use tautline_sim::Program;

const P: u32 = 512;
const INSTANCES: usize = 30;
/// The first instance of the steady state.
const STEADY: usize = 20;
/// Iterations a rank.
const SHARES: &[u64] = match cfg!(debug_assertions) {
    true => &[48],
    false => &[48, 96, 192],
};

/// Returns the efficiency of instances that took `ns` together.
fn steady(times: &[Vec<u64>], ns: u64) -> f64 {
    let work: Vec<u64> = times[STEADY..].iter().flatten().copied().collect();
    share(P, &work, ns)
}

/// Runs instances with deferred balancing; returns their efficiency in the steady state, without the time in which ranks learn that
/// an instance has ended, as for the other methods.
fn deferred(times: &[Vec<u64>], geometry: Geometry, pace: Option<Taper>) -> f64 {
    let n = times[0].len() as u64;
    let (costs, cluster) = setting(times[0].iter().sum::<u64>() / n);
    let conditions = Conditions {
        geometry,
        pace,
        ..Conditions::default()
    };
    let machine = |rank| Deferred::new(Rank(rank), n, P, conditions);
    let (spans, _) = run((0..P).map(machine).collect(), times, costs, cluster);
    steady(times, spans[STEADY..].iter().sum())
}

/// Runs instances by factoring from where iterations were executed in the instance before, with its times as the prediction.
fn placed(times: &[Vec<u64>]) -> f64 {
    let n = times[0].len() as u64;
    let instance = Instance::new(n, P);
    let mut places: Vec<Vec<u64>> = (0..P).map(|rank| blocked(rank, n, P).collect()).collect();
    let mut ns = 0;
    for (at, pair) in times.windows(2).enumerate() {
        let (before, now) = (&pair[0], &pair[1]);
        let (costs, cluster) = setting(before.iter().sum::<u64>() / n);
        let table = Table::new(before.iter().copied());
        let machine = |(rank, mut own): (u32, Vec<u64>)| {
            own.sort_by_key(|iteration| std::cmp::Reverse(before[*iteration as usize]));
            let mut stock = Stock::default();
            stock.put(own.into_iter().map(|iteration| iteration..iteration + 1));
            Epochs::placed(Rank(rank), instance, Policy::Factoring, &table, stock)
        };
        let ranks = (0..).zip(places).map(machine).collect();
        let (spans, executed) = run(ranks, &[now.clone()], costs, cluster);
        places = executed;
        ns += if at + 1 >= STEADY { spans[0] } else { 0 };
    }
    steady(times, ns)
}

/// The efficiencies on a program.
struct Row {
    /// BLOCKED, then the methods without knowledge of earlier instances.
    others: Vec<f64>,
    /// Deferred balancing with split points and free, each with one report an instance and at TAPER's pace.
    deferred: [f64; 4],
    /// By the choice of the library.
    auto: f64,
}

const OTHERS: [&str; 8] = ["BLOCKED", "SS", "FAC", "GSS", "TAPER", "LLB", "GL1", "GL2"];

fn row(program: Program, n: u64) -> Row {
    let times: Vec<Vec<u64>> = (0..INSTANCES as u64)
        .map(|at| program.times(n, at))
        .collect();
    let one = &times[STEADY];
    let instance = Instance::new(n, P);
    let blocks = one.chunks((n / u64::from(P)) as usize);
    let longest = blocks.map(|block| block.iter().sum::<u64>()).max();
    let mut others = vec![share(P, one, longest.unwrap_or(1))];
    others.extend(
        policies().map(|(_, policy)| once(P, |rank| Epochs::new(rank, instance, policy), one)),
    );
    let tuned = |rule| {
        let with = |tuning| once(P, |rank| Baseline::new(rank, n, P, rule, tuning), one);
        TUNINGS.map(with).into_iter().fold(0.0, f64::max)
    };
    others.extend([Rule::Neighbours, Rule::Tree, Rule::Halving].map(tuned));
    let taper = Some(Taper::default());
    let (split, free) = (Geometry::Contiguous, Geometry::Free);
    let deferred = [(split, None), (split, taper), (free, None), (free, taper)]
        .map(|(geometry, pace)| deferred(&times, geometry, pace));
    let placed = placed(&times);
    let mut coherence = Coherence::default();
    for pair in times[..STEADY].windows(2) {
        pair[0]
            .iter()
            .zip(&pair[1])
            .for_each(|(a, b)| coherence.record(*a, *b));
    }
    // Columns of the climate have neighbours.
    let choice = Choice::of(&coherence, program == Program::Climate);
    let auto = match choice {
        Choice::Deferred(Geometry::Contiguous) => deferred[0],
        Choice::Deferred(Geometry::Free) => deferred[2],
        Choice::Placed => placed,
        Choice::Counted => others[2],
    };
    let weighted = coherence
        .weighted()
        .map_or(String::new(), |c| c.to_string());
    let cells = |cells: &[f64]| {
        cells
            .iter()
            .map(|cell| format!("{cell:8.3}"))
            .collect::<String>()
    };
    println!(
        "{:<9}{:4}{weighted:>10}{}{}{}{auto:8.3}  {choice:?}",
        format!("{program:?}"),
        n / u64::from(P),
        cells(&others),
        cells(&deferred),
        cells(&[placed]),
    );
    Row {
        others,
        deferred,
        auto,
    }
}

/// Deferred balancing is above all methods that do not know earlier instances on three programs. **Not met on AMR**: GL2 is above it, and
/// above self-scheduling from the placement of the instance before. When a vortex has moved, iterations of 0.9 of a rank's share are
/// where none were; a plan comes two instances later, and a rank that has two of them can give neither to a rank that has a share.
///
/// What the library chooses is to reach 0.90. **Not met at 48 iterations a rank**, but on PSIRRFAN: with the times of the instance before
/// known exactly, the best division has 0.91 on climate, 0.90 on EMU and 0.71 on AMR.
#[test]
fn deferred_balancing_is_compared_with_the_others() {
    let columns = ["split", "paced", "free", "paced", "placed", "auto"];
    let names = OTHERS
        .iter()
        .chain(&columns)
        .map(|name| format!("{name:>8}"));
    println!("program   N/p coherence{}", names.collect::<String>());
    for (program, share) in SHARES
        .iter()
        .flat_map(|share| Program::ALL.map(|program| (program, *share)))
    {
        let row = row(program, share * u64::from(P));
        let best = |cells: &[f64]| cells.iter().copied().fold(0.0, f64::max);
        let (others, deferred) = (best(&row.others), best(&row.deferred));
        let is_met = deferred >= others && row.auto >= others;
        assert_eq!(is_met, program != Program::Amr, "{program:?}");
        assert!(row.auto >= best(&row.others[..7]), "{program:?}");
        let floor = match program {
            Program::Climate => 0.84,
            Program::Emu => 0.88,
            Program::Amr => 0.45,
            Program::Psirrfan => 0.99,
        };
        assert!(row.auto >= floor, "{program:?}");
    }
}
