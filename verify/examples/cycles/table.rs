//! The table.

use super::barriers::{Place, Way};
use std::sync::Arc;
use std::time::Instant;
use tautline_sim::memory::{CYCLOPS64, Machine, POWER7, Region, XEON};
use tautline_verify::virtual_time::Virtual;

const EPISODES: u64 = 20;

/// Cycles an episode of `way` among so many threads, everything in `region`.
pub fn episode(machine: Machine, region: Region, way: Way, threads: usize) -> u64 {
    let place = Arc::new(Place::new(threads));
    let machine = Virtual::new(machine).place_all(region).patient();
    let pass = move |episodes: u64| {
        let place = Arc::clone(&place);
        move |port: &_| place.pass(way, episodes as usize, port)
    };
    // What comes before the first episode does not count.
    let before = machine.run(threads, pass(0)).last();
    (machine.run(threads, pass(EPISODES)).last() - before) / EPISODES
}

/// Prints a row for each way, a column for each number of threads.
pub fn print(threads: &[usize]) {
    let tree = Way::Tree(4);
    for (machine, region, ways) in [
        (
            CYCLOPS64,
            Region::OnChip,
            &[Way::Central, Way::Flat, tree, Way::Awake(4), Way::Hardware] as &[Way],
        ),
        (CYCLOPS64, Region::OffChip, &[Way::Central, Way::Flat, tree]),
        (POWER7, Region::OnChip, &[Way::Central, Way::Flat, tree]),
        (XEON, Region::OnChip, &[Way::Central, Way::Flat, tree]),
    ] {
        let name = match region {
            Region::OffChip => format!("{}, DRAM", machine.name),
            _ => machine.name.to_owned(),
        };
        let head: String = threads.iter().map(|n| format!("{n:>9}")).collect();
        println!("{name:<18}{head}   cycles an episode");
        for way in ways {
            let start = Instant::now();
            let cell = |n: &usize| format!("{:>9}", episode(machine, region, *way, *n));
            let fits = threads.iter().filter(|n| **n <= machine.threads);
            let row: String = fits.map(cell).collect();
            let seconds = start.elapsed().as_secs_f64();
            println!("  {:<16}{row}   ({seconds:.1} s)", format!("{way:?}"));
        }
    }
}
