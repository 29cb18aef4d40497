//! Tasks with three inputs and a put, over named cells and over plain ones: the time of a task, and
//! the ratio. Ends with 1 if it is above its bound.
//!
//! `names [ROUNDS] [named|declared|plain]`: all three in turn, or one on one worker, for a
//! profiler. The graph has 32 chains of 100 and 2000 tasks, with empty bodies: each task reads the
//! values of its chain and of the chains beside it, one step before.

use std::time::Instant;
use tautline::prelude::*;
use tautline::space::Space;

const CHAINS: usize = 32;
/// Tasks of a chain: so that the cells are in the caches, and so that they are not.
const LENGTHS: [usize; 2] = [100, 2000];
/// The most time of a task over named cells, in tasks over plain ones.
const BOUND: f64 = 2.0;

/// The chains that a task of `chain` reads.
fn inputs(chain: usize) -> [usize; 3] {
    [chain, (chain + 1) % CHAINS, (chain + CHAINS - 1) % CHAINS]
}

fn plain(rt: &Runtime, steps: usize) -> f64 {
    let start = Instant::now();
    let new = || (0..CHAINS).map(|_| Ddf::new()).collect::<Vec<Ddf<u64>>>();
    let cells: Vec<_> = (0..=steps).map(|_| new()).collect();
    rt.run(|cx| {
        let cells = &cells;
        for (step, chain) in (0..steps).flat_map(|step| (0..CHAINS).map(move |c| (step, c))) {
            let [a, b, c] = inputs(chain).map(|from| &cells[step][from]);
            cx.spawn_when((a, b, c), move |(a, b, c), _| {
                _ = cells[step + 1][chain].put(a.wrapping_add(*b).wrapping_add(*c));
            });
        }
        cells[0].iter().for_each(|cell| cell.put(1).unwrap());
    });
    drop(cells);
    start.elapsed().as_nanos() as f64 / (CHAINS * steps) as f64
}

fn named(rt: &Runtime, steps: usize, is_declared: bool) -> f64 {
    let start = Instant::now();
    let space = Space::<(u32, u32), u64>::local();
    let space = match is_declared {
        true => space.readers(move |(step, _)| if (*step as usize) < steps { 3 } else { 0 }),
        false => space,
    };
    rt.run(|cx| {
        let space = &space;
        for (step, chain) in (0..steps).flat_map(|step| (0..CHAINS).map(move |c| (step, c))) {
            let [a, b, c] = inputs(chain).map(|from| space.get((step as u32, from as u32)));
            cx.spawn_when((a, b, c), move |(a, b, c), _| {
                let sum = a.wrapping_add(*b).wrapping_add(*c);
                _ = space.put((step as u32 + 1, chain as u32), sum);
            });
        }
        for chain in 0..CHAINS as u32 {
            space.put((0, chain), 1).unwrap();
        }
    });
    drop(space);
    start.elapsed().as_nanos() as f64 / (CHAINS * steps) as f64
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

fn main() {
    let mut words = std::env::args().skip(1);
    let rounds = words
        .next()
        .map_or(15, |word| word.parse().expect("a number of rounds"));
    let way = words.next();
    let mut is_good = true;
    let most = if way.is_some() { 1 } else { 2 };
    for (workers, steps) in (1..=most).flat_map(|w| LENGTHS.map(|steps| (w, steps))) {
        let rt = Runtime::builder()
            .workers(workers)
            .build()
            .expect("few workers");
        if let Some(way) = &way {
            for _ in 0..rounds {
                match way.as_str() {
                    "plain" => plain(&rt, steps),
                    way => named(&rt, steps, way == "declared"),
                };
            }
            continue;
        }
        let mut times = [(); 3].map(|()| Vec::new());
        for _ in 0..rounds {
            times[0].push(plain(&rt, steps));
            times[1].push(named(&rt, steps, false));
            times[2].push(named(&rt, steps, true));
        }
        let ratio = |at: usize| {
            median(
                times[at]
                    .iter()
                    .zip(&times[0])
                    .map(|(a, b)| a / b)
                    .collect(),
            )
        };
        let [undeclared, declared] = [1, 2].map(ratio);
        let [plain, named, freed] = times.map(median);
        println!(
            "{workers} workers, {steps} steps: {plain:.0} ns a task over plain cells, {named:.0} over named ones \
             ({undeclared:.2}), {freed:.0} with declared readers ({declared:.2}), at most {BOUND}"
        );
        is_good &= undeclared <= BOUND && declared <= BOUND;
    }
    if !is_good {
        std::process::exit(1);
    }
}
