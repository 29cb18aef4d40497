//! Loops over 512 ranks in virtual time: what self-scheduling, the methods of comparison and deferred balancing reach on loops
//! with the shapes of four applications. A release build prints larger loops, too.
//!
//! | fact | test |
//! |---|---|
//! | Lucco, acceptance fact 28: prediction against counting | `prediction_improves_every_method` |
//! | Lucco, acceptance fact 34: deferred balancing against the best other method | `deferred_balancing_is_compared_with_the_others` |

#[path = "loops/actor.rs"]
mod actor;
#[path = "loops/cached.rs"]
mod cached;
#[path = "loops/programs.rs"]
mod programs;

use actor::{Costs, Part, run};
use tautline_core::Rank;
use tautline_core::defer::Tuning;
use tautline_core::taper::{Policy, Taper};
use tautline_sim::{Cluster, Machine};

/// The settings of (K_sync, K_min) of which the methods of comparison have the best: the source tunes them for each application.
const TUNINGS: [Tuning; 4] = [
    Tuning { sync: 1, min: 1 },
    Tuning { sync: 2, min: 1 },
    Tuning { sync: 4, min: 2 },
    Tuning { sync: 8, min: 4 },
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
    let (spans, _) = run(parts, &[times.to_vec()], costs, cluster);
    share(p, times, spans[0])
}
