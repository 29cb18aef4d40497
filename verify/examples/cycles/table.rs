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

pub fn probe() {
    use super::phasers::{Kind, measure};
    let words: Vec<String> = std::env::args().skip(2).collect();
    let threads: Vec<usize> = words[1..].iter().map(|w| w.parse().unwrap()).collect();
    let (machine, region) = match words[0].as_str() {
        "sram" => (CYCLOPS64, Region::OnChip),
        "dram" => (CYCLOPS64, Region::OffChip),
        "power" => (POWER7, Region::OnChip),
        _ => (XEON, Region::OnChip),
    };
    let mut kinds = vec![Kind::Flat];
    for d in [2, 4, 8, 16] {
        kinds.push(Kind::Tiered(d));
    }
    for d in [2, 4, 8, 16] {
        kinds.push(Kind::Tree(d));
    }
    if machine.signals.lines > 0 {
        kinds.push(Kind::Lines(4));
    }
    kinds.push(Kind::Awake(4));
    let episodes = 10;
    for kind in kinds {
        let v = Virtual::new(machine).place_all(region).patient();
        print!("{:<12}", format!("{kind:?}"));
        for n in &threads {
            let start = Instant::now();
            let r = measure(&v, kind, *n, episodes);
            let sum = r.traffic.sum();
            print!(
                " | {n}: {} cyc, {:.1} acc, hw {}, l {} s {} u {} f {}, {:.1}s",
                r.cycles,
                r.accesses,
                r.in_hardware,
                sum.loads / 10,
                sum.stores / 10,
                sum.updates / 10,
                r.traffic.fences / 10,
                start.elapsed().as_secs_f64()
            );
        }
        println!();
        if std::env::var("LINES").is_ok() {
            let r = measure(&v, kind, threads[0], episodes);
            let mut m = std::collections::BTreeMap::new();
            for l in &r.traffic.lines {
                *m.entry((l.writers, l.readers, l.stores, l.updates))
                    .or_insert((0, 0)) = {
                    let e = m
                        .get(&(l.writers, l.readers, l.stores, l.updates))
                        .copied()
                        .unwrap_or((0, 0));
                    (e.0 + 1, e.1 + l.loads)
                };
            }
            for ((w, rd, s, u), (n, l)) in m {
                println!(
                    "    {n} lines: {w} writers {rd} readers, each {s} stores {u} updates; {l} loads together"
                );
            }
        }
    }
}
