//! Accesses of Lamellar of two ranks, beside those of examples/objects: elements of an
//! `AtomicArray`.
use lamellar::array::prelude::*;
use std::env;
use std::time::{Duration, Instant};

const TRIPS: u64 = 100_000;
const WARM_UP: u64 = 10_000;
const TURNS: u64 = 10_000;

/// Nanoseconds of an access of rank 0 to an element of rank 1.
fn accesses(array: &AtomicArray<u64>, updates: bool) -> f64 {
    let mut start = Instant::now();
    for trip in 0..WARM_UP + TRIPS {
        if trip == WARM_UP {
            start = Instant::now();
        }
        let found = match updates {
            true => array.fetch_add(1, 1).block(),
            false => array.load(1).block(),
        };
        assert_eq!(found, if updates { trip } else { 0 });
    }
    start.elapsed().as_nanos() as f64 / TRIPS as f64
}

/// Nanoseconds of a write of rank 0 to its own element, and of the reads of rank 1 after it; at
/// rank 0.
fn reads(world: &LamellarWorld, array: &AtomicArray<u64>, reads: u64) -> f64 {
    let mut spent = Duration::ZERO;
    for turn in 1..=TURNS / 10 + TURNS {
        let mut time = Duration::ZERO;
        if world.my_pe() == 0 {
            let start = Instant::now();
            array.store(0, turn).block();
            time = start.elapsed();
        }
        world.barrier();
        if world.my_pe() == 1 {
            let (mut sum, start) = (0, Instant::now());
            for _ in 0..reads {
                sum += array.load(0).block();
            }
            time = start.elapsed();
            assert_eq!(sum, reads * turn);
        }
        world.barrier();
        if turn > TURNS / 10 {
            spent += time;
        }
    }
    // The element of rank 1 carries its part.
    if world.my_pe() == 1 {
        array.store(1, spent.as_nanos() as u64).block();
    }
    world.barrier();
    (spent.as_nanos() as f64 + array.load(1).block() as f64) / TURNS as f64
}

fn main() {
    let what = env::args().nth(1).expect("the name of a row");
    let world = LamellarWorldBuilder::new().build();
    assert_eq!(world.num_pes(), 2);
    let array = AtomicArray::<u64>::new(&world, 2, Distribution::Block).block();
    world.barrier();
    let is_first = world.my_pe() == 0;
    let figure = match what.strip_prefix("reads-") {
        Some(count) => reads(&world, &array, count.parse().expect("a number")),
        None if is_first => accesses(&array, what == "update"),
        None => 0.0,
    };
    world.barrier();
    if is_first {
        println!("{figure:.4}");
    }
}
