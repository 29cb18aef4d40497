//! The rows of the table: their measurements, peers and bounds.

use super::{Options, links, programs as ours, teams};
use tautline_bench::launched::Bound::{Least, LeastOf, Most, MostOf, Value};
use tautline_bench::launched::links as shared;
use tautline_bench::launched::{OURS, Row};

/// The peer that has the operations of messages.
const MPI: &str = "Open MPI";
/// Our round trip over a channel, by which operations of teams are judged.
const CHANNEL: &str = "channel";

fn words(options: &Options) -> u32 {
    options.log2
}

fn scale(options: &Options) -> u32 {
    options.scale
}

fn channel(options: &Options) -> Option<f64> {
    shared::channel(&options.launches)
}

fn bulk(options: &Options) -> Option<f64> {
    shared::bulk(&options.launches, 1 << 20)
}

#[rustfmt::skip] // A table.
pub(super) const ROWS: &[Row<Options>] = &[
    Row { name: "line", what: "round trip of a cache line, two processes", short: "round trip of a cache line", unit: "ns", ranks: [2, 1], ways: &[(OURS, links::line)], size: None, bounds: &[] },
    Row { name: "trip", what: "round trip over the link, 8 bytes", short: "round trip over the link", unit: "ns", ranks: [2, 1], ways: &[(OURS, links::link)], size: None, bounds: &[Most(1.5, "line"), MostOf(1.0, "trip", MPI)] },
    Row { name: CHANNEL, what: "round trip over a channel, 8 bytes", short: "round trip over a channel", unit: "ns", ranks: [2, 1], ways: &[(OURS, channel)], size: None, bounds: &[] },
    Row { name: "bulk", what: "parcels of 1 MiB over the link, one way", short: "", unit: "GB/s", ranks: [2, 1], ways: &[(OURS, bulk)], size: None, bounds: &[] },
    Row { name: "idle", what: "an idle rank, of a processor in a second", short: "", unit: "ms", ranks: [4, 1], ways: &[(OURS, links::idle)], size: None, bounds: &[Value(10.0)] },
    Row { name: "start", what: "start of 4 ranks, until the last one has begun a task", short: "", unit: "ms", ranks: [4, 1], ways: &[(OURS, links::start)], size: None, bounds: &[Value(30.0)] },
    Row { name: "memory", what: "shared memory of a pair of ranks", short: "", unit: "bytes", ranks: [4, 1], ways: &[(OURS, links::memory)], size: None, bounds: &[Value(1048576.0)] },
    Row { name: "used", what: "of that used after round trips over the link", short: "", unit: "bytes", ranks: [2, 1], ways: &[(OURS, links::used)], size: None, bounds: &[] },
    Row { name: "barrier", what: "barrier of a team, in tasks", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, teams::barrier)], size: None, bounds: &[Most(0.9, CHANNEL), MostOf(2.5, "barrier", MPI)] },
    Row { name: "sum", what: "sum of 8 bytes over a team, in tasks", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, teams::sum)], size: None, bounds: &[Most(1.0, CHANNEL), MostOf(2.5, "sum", MPI)] },
    Row { name: "barrier-1", what: "barrier of a team of one rank", short: "", unit: "ns", ranks: [1, 1], ways: &[(OURS, teams::barrier)], size: None, bounds: &[Value(5.0)] },
    Row { name: "sum-1", what: "sum of 8 bytes over a team of one rank", short: "", unit: "ns", ranks: [1, 1], ways: &[(OURS, teams::sum)], size: None, bounds: &[Value(5.0)] },
    Row { name: "phase", what: "phase of one task of each rank", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, teams::phase)], size: None, bounds: &[] },
    Row { name: "finish", what: "finish of a team, nothing spawned", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, teams::finish)], size: None, bounds: &[Most(2.5, CHANNEL)] },
    Row { name: "finish-1", what: "finish of a team of one rank around one task", short: "", unit: "ns", ranks: [1, 1], ways: &[(OURS, teams::finish_around_task)], size: None, bounds: &[Most(1.1, "local")] },
    Row { name: "local", what: "finish inside a rank around one task", short: "finish inside a rank", unit: "ns", ranks: [1, 1], ways: &[(OURS, teams::local_finish)], size: None, bounds: &[] },
    Row { name: "spawn", what: "finish around one task at the other rank", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, teams::spawn)], size: None, bounds: &[Most(1.8, CHANNEL), MostOf(3.0, "trip", MPI)] },
    Row { name: "call", what: "call of the other rank, 64 bytes there and back", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, teams::call)], size: None, bounds: &[Most(1.8, CHANNEL), MostOf(3.0, "call", MPI)] },
    Row { name: "spawns", what: "each of many tasks spawned at the other rank", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, teams::spawns)], size: None, bounds: &[Most(0.4, CHANNEL)] },
    Row { name: "batch", what: "each of many calls of 16 bytes, in batches", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, teams::batch)], size: None, bounds: &[Most(0.06, CHANNEL)] },
    Row { name: "gups", what: "RandomAccess, 2 ranks, words 2^", short: "", unit: "million updates/s", ranks: [2, 1], ways: &[(OURS, ours::gups)], size: Some(words), bounds: &[LeastOf(2.0, "YGM"), LeastOf(5.0, "HPCC"), LeastOf(0.8, "bale conveyors")] },
    Row { name: "bfs", what: "breadth-first search, 2 ranks, scale ", short: "", unit: "million edges/s", ranks: [2, 1], ways: &[(OURS, ours::bfs)], size: Some(scale), bounds: &[LeastOf(1.0, "Graph500 reference"), Least(1.6, "bfs-1")] },
    Row { name: "bfs-1", what: "the same, one rank, scale ", short: "one rank", unit: "million edges/s", ranks: [1, 1], ways: &[(OURS, ours::bfs)], size: Some(scale), bounds: &[] },
    Row { name: "T1L", what: "tree search T1L, 2 ranks", short: "", unit: "million nodes/s", ranks: [2, 1], ways: &[(OURS, ours::t1l)], size: None, bounds: &[Least(1.9, "T1L-1"), LeastOf(4.0, MPI)] },
    Row { name: "T1L-1", what: "the same, sequential program", short: "sequential", unit: "million nodes/s", ranks: [1, 1], ways: &[(OURS, ours::t1l_alone)], size: None, bounds: &[] },
    Row { name: "T3L", what: "tree search T3L, 2 ranks", short: "", unit: "million nodes/s", ranks: [2, 1], ways: &[(OURS, ours::t3l)], size: None, bounds: &[Least(1.9, "T3L-1"), LeastOf(4.0, MPI)] },
    Row { name: "T3L-1", what: "the same, sequential program", short: "sequential", unit: "million nodes/s", ranks: [1, 1], ways: &[(OURS, ours::t3l_alone)], size: None, bounds: &[] },
];
