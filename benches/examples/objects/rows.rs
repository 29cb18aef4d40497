//! The rows of the table: their measurements, peers and bounds.

use super::hits::{change, read, write};
use super::{Options, misses};
use tautline_bench::launched::Bound::{Least, Most, MostOf, Value};
use tautline_bench::launched::{OURS, Row, links};

/// Two relaxed loads: of a word, as that of a version, and of a value.
const PLAIN: &str = "two plain loads";
const ARC_SWAP: &str = "arc-swap";
const PARKING_LOT: &str = "parking_lot";
/// Our round trip over a channel, by which misses are judged.
const CHANNEL: &str = "channel";

fn channel(options: &Options) -> Option<f64> {
    links::channel(&options.launches)
}

fn bulk(options: &Options) -> Option<f64> {
    links::bulk(&options.launches, 1 << 20)
}

fn short_bulk(options: &Options) -> Option<f64> {
    links::bulk(&options.launches, misses::BLOCK)
}

#[rustfmt::skip] // A table.
pub(super) const ROWS: &[Row<Options>] = &[
    Row { name: "get", what: "read hit of a number", short: "read hit of a number", unit: "ns", ranks: [2, 1], ways: &[(OURS, read::number), (PLAIN, read::plain)], size: None, bounds: &[MostOf(1.5, "get", PLAIN)] },
    Row { name: "get-2", what: "the same, each of 2 threads of one rank", short: "", unit: "ns", ranks: [1, 2], ways: &[(OURS, read::number_twice), (PLAIN, read::plain_twice)], size: None, bounds: &[Most(1.1, "get")] },
    Row { name: "get-1", what: "the same, one rank", short: "", unit: "ns", ranks: [1, 1], ways: &[(OURS, read::number)], size: None, bounds: &[Most(1.1, "get")] },
    Row { name: "view", what: "read hit of a vector, its first number, drop of the view", short: "read hit of a vector", unit: "ns", ranks: [2, 1], ways: &[(OURS, read::vector), (ARC_SWAP, read::arc_swap), (PARKING_LOT, read::locked)], size: None, bounds: &[MostOf(0.5, "view", ARC_SWAP)] },
    Row { name: "view-2", what: "the same, each of 2 threads of one rank", short: "", unit: "ns", ranks: [1, 2], ways: &[(OURS, read::vector_twice), (ARC_SWAP, read::arc_swap_twice), (PARKING_LOT, read::locked_twice)], size: None, bounds: &[Most(1.1, "view")] },
    Row { name: "view-1", what: "the same, one rank", short: "", unit: "ns", ranks: [1, 1], ways: &[(OURS, read::vector)], size: None, bounds: &[Most(1.1, "view")] },
    Row { name: "add", what: "write hit of a number, by a closure", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, write::modify), (PARKING_LOT, write::locked)], size: None, bounds: &[MostOf(1.1, "add", PARKING_LOT)] },
    Row { name: "apply", what: "write hit of a number, by an operator", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, write::apply), (PARKING_LOT, write::locked_fetch)], size: None, bounds: &[MostOf(1.1, "apply", PARKING_LOT)] },
    Row { name: "array", what: "write hit of 64 bytes", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, change::array), (ARC_SWAP, change::array_rcu)], size: None, bounds: &[] },
    Row { name: "vector", what: "write hit of a vector of 8 numbers", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, change::vector), (ARC_SWAP, change::vector_rcu)], size: None, bounds: &[] },
    Row { name: CHANNEL, what: "round trip over a channel, 8 bytes", short: "round trip over a channel", unit: "ns", ranks: [2, 1], ways: &[(OURS, channel)], size: None, bounds: &[] },
    Row { name: "miss", what: "read miss of a number", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, misses::read)], size: None, bounds: &[Most(1.3, CHANNEL)] },
    Row { name: "update", what: "update of a number that travels to its home", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, misses::update)], size: None, bounds: &[Most(1.3, CHANNEL)] },
    Row { name: "reads-1", what: "a write, and a read of the other rank", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, misses::reads::<1>)], size: None, bounds: &[] },
    Row { name: "reads-10", what: "a write, and 10 reads of the other rank", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, misses::reads::<10>)], size: None, bounds: &[] },
    Row { name: "reads-100", what: "a write, and 100 reads of the other rank", short: "", unit: "ns", ranks: [2, 1], ways: &[(OURS, misses::reads::<100>)], size: None, bounds: &[] },
    Row { name: "bulk", what: "parcels of 1 MiB over the link, one way", short: "parcels of 1 MiB over the link", unit: "GB/s", ranks: [2, 1], ways: &[(OURS, bulk)], size: None, bounds: &[] },
    Row { name: "bulk-64", what: "parcels of 64 KiB over the link, one way", short: "", unit: "GB/s", ranks: [2, 1], ways: &[(OURS, short_bulk)], size: None, bounds: &[] },
    Row { name: "blocks", what: "read misses of 64 KiB, one after the other", short: "", unit: "GB/s", ranks: [2, 1], ways: &[(OURS, misses::blocks)], size: None, bounds: &[Least(0.9, "bulk")] },
    Row { name: "blocks-8", what: "read misses of 64 KiB, up to 8 at a time", short: "", unit: "GB/s", ranks: [2, 1], ways: &[(OURS, misses::blocks_ahead)], size: None, bounds: &[Least(0.9, "bulk")] },
    Row { name: "busy", what: "read miss while tasks of 1 ms follow each other at the home, the median", short: "", unit: "µs", ranks: [2, 1], ways: &[(OURS, misses::busy_median)], size: None, bounds: &[Value(1100.0)] },
    Row { name: "busy-most", what: "the same, the longest of 200", short: "", unit: "µs", ranks: [2, 1], ways: &[(OURS, misses::busy_most)], size: None, bounds: &[Value(1100.0)] },
];
