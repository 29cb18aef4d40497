//! Barriers on machines in virtual time, by hand and shipped: the orders that the machines were
//! seen to have, and that a run is exact.
#![cfg(tautline_shuttle)]

#[path = "../examples/cycles/aligned.rs"]
mod aligned;
#[path = "../examples/cycles/barriers.rs"]
#[allow(dead_code, reason = "the example has more ways")]
mod barriers;
#[path = "virtual_time/orders.rs"]
mod orders;
#[path = "../examples/cycles/phasers.rs"]
mod phasers;
#[path = "../examples/cycles/ring.rs"]
mod ring;

use barriers::{Place, Way};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;
use tautline_core::port::{Clock, Relax};
use tautline_core::sync::{AtomicUsize, CachePadded, Ordering};
use tautline_sim::memory::{CYCLOPS64, Machine, POWER7, Region, XEON};
use tautline_verify::virtual_time::{Port, Taken, Virtual};

const EPISODES: usize = 20;

fn taken(machine: &Virtual, way: Way, threads: usize, episodes: usize) -> Taken {
    let place = Place::new(threads);
    machine.run(threads, move |port| place.pass(way, episodes, port))
}

/// Cycles an episode, what comes before the first left out.
fn episode(machine: &Virtual, way: Way, threads: usize) -> u64 {
    let last = |episodes| taken(machine, way, threads, episodes).last();
    (last(EPISODES) - last(0)) / EPISODES as u64
}

/// Prints the line that the job counts.
fn report(name: &str, runs: usize, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    println!("SCHEDULES {name} schedules={runs} floor={runs} seconds={seconds:.2}");
}

fn table(machine: Machine, region: Region, ways: &[Way]) {
    let start = Instant::now();
    let threads = [2, 4, 8, 16, 32, 64, 128, 160];
    let threads = threads.map(|n| n.min(machine.threads));
    println!(
        "\n{} {region:?} {threads:?}, cycles an episode",
        machine.name
    );
    for way in ways {
        let machine = Virtual::new(machine).place_all(region).patient();
        let row = threads.map(|n| episode(&machine, *way, n));
        println!("{way:?} {row:?}");
        assert!(row.iter().all(|cycles| *cycles > 0));
    }
    let name = format!("table_{}_{region:?}", machine.name);
    report(&name, 2 * ways.len() * threads.len(), start);
}

#[test]
fn a_table_on_chip() {
    let ways = [Way::Central, Way::Flat, Way::Tree(4), Way::Hardware];
    table(CYCLOPS64, Region::OnChip, &ways);
}

#[test]
fn a_table_off_chip() {
    table(
        CYCLOPS64,
        Region::OffChip,
        &[Way::Central, Way::Flat, Way::Tree(4)],
    );
}

#[test]
fn a_table_of_caches() {
    for machine in [POWER7, XEON] {
        table(
            machine,
            Region::OnChip,
            &[Way::Central, Way::Flat, Way::Tree(4)],
        );
    }
}

/// Hardware before the tree, the tree before interrupts, and the chip's memory far before the other
/// one.
#[test]
fn orders_on_a_scratch_pad_machine() {
    let start = Instant::now();
    let on_chip = Virtual::new(CYCLOPS64);
    let off_chip = on_chip.clone().place_all(Region::OffChip);
    let [hardware, tree, awake, flat] = [Way::Hardware, Way::Tree(4), Way::Awake(4), Way::Flat]
        .map(|way| episode(&on_chip, way, 160));
    assert!(hardware < 20, "{hardware}");
    assert!(10 * hardware < tree, "{hardware} {tree}");
    assert!(tree < awake, "{tree} {awake}");
    assert!(2 * tree < flat, "{tree} {flat}");
    let slow = [Way::Tree(4), Way::Flat].map(|way| episode(&off_chip, way, 160));
    assert!(slow[0] > 10 * tree, "{slow:?} {tree}");
    assert!(slow[1] > 20 * flat, "{slow:?} {flat}");
    report("orders_on_a_scratch_pad_machine", 12, start);
}

/// Cycles per hop of a signal in a ring, each thread waiting for the previous one.
fn hop(threads: usize, interrupts: bool) -> u64 {
    const ROUNDS: usize = 20;
    let words: Vec<_> = (0..threads)
        .map(|_| CachePadded::new(AtomicUsize::new(0)))
        .collect();
    let taken = Virtual::new(CYCLOPS64).run(threads, move |port| {
        let me = port.thread();
        for round in 1..=ROUNDS {
            if (me, round) != (0, 1) {
                let due = if me == 0 { round - 1 } else { round };
                if interrupts {
                    port.suspend();
                }
                while !interrupts && words[me].load(Ordering::Acquire) < due {
                    port.relax(0);
                }
            }
            let next = (me + 1) % words.len();
            if interrupts {
                port.awake(next);
            } else {
                words[next].store(round, Ordering::Release);
            }
        }
    });
    taken.last() / (ROUNDS * threads) as u64
}

/// From thread to thread a word is about as fast as an interrupt, and a little faster.
#[test]
fn a_ring_of_threads() {
    let start = Instant::now();
    for threads in [2, 16, 64] {
        let [words, interrupts] = [false, true].map(|interrupts| hop(threads, interrupts));
        println!("\na hop among {threads}: {words} cycles by words, {interrupts} by interrupts");
        assert!(words < interrupts && interrupts < 2 * words);
    }
    report("a_ring_of_threads", 6, start);
}

/// One word off the chip is enough, if all poll it.
#[test]
fn a_single_word_can_be_placed() {
    let start = Instant::now();
    let word = Arc::new(CachePadded::new(AtomicUsize::new(0)));
    let cycles = |region| {
        let machine = Virtual::new(CYCLOPS64).place(&**word, region);
        let word = Arc::clone(&word);
        let taken = machine.run(2, move |port| {
            word.load(Ordering::Relaxed);
            port.work(100 * port.thread() as u64);
        });
        taken.cycles
    };
    assert_eq!(cycles(Region::OnChip), [31, 132]);
    assert_eq!(cycles(Region::OffChip), [57, 57 + 26 + 100]);
    assert_eq!(cycles(Region::Pad(0)), [2, 131]);
    report("a_single_word_can_be_placed", 3, start);
}

#[test]
fn a_run_is_the_same_every_time() {
    let start = Instant::now();
    for machine in [CYCLOPS64, POWER7] {
        let run = || taken(&Virtual::new(machine), Way::Tree(3), 40, EPISODES);
        let first = run();
        assert_eq!(first, run());
        assert_eq!(first.cycles.len(), 40);
        assert!(first.accesses.iter().all(|n| *n > EPISODES as u64));
    }
    report("a_run_is_the_same_every_time", 4, start);
}

/// Waiting without simulating each poll changes nothing but the duration of the simulation.
#[test]
fn patience_changes_no_clock() {
    let start = Instant::now();
    for machine in [POWER7, XEON] {
        for way in [Way::Central, Way::Flat, Way::Tree(2)] {
            let machine = Virtual::new(machine);
            for threads in [2, 5, 48] {
                let hasty = taken(&machine, way, threads, 5);
                let patient = taken(&machine.clone().patient(), way, threads, 5);
                assert_eq!(hasty.cycles, patient.cycles, "{way:?} {threads}");
            }
        }
    }
    report("patience_changes_no_clock", 36, start);
}

/// Accesses are made in the order of the clocks, whatever the number of the thread.
#[test]
fn accesses_are_in_the_order_of_virtual_time() {
    let start = Instant::now();
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (word, inner) = (AtomicUsize::new(0), Arc::clone(&log));
    Virtual::new(CYCLOPS64).run(7, move |port| {
        for round in 0..30 {
            port.work((port.thread() as u64 * 37 + round * 11) % 101);
            let made = port.now();
            word.fetch_add(1, Ordering::Relaxed);
            inner.lock().unwrap().push(made);
            port.relax(0);
        }
    });
    let log = log.lock().unwrap();
    assert_eq!(log.len(), 7 * 30);
    assert!(log.is_sorted(), "{log:?}");
    report("accesses_are_in_the_order_of_virtual_time", 1, start);
}

#[test]
fn threads_that_all_sleep_are_found() {
    let start = Instant::now();
    let all_sleep = || Virtual::new(CYCLOPS64).run(3, Port::suspend);
    let cause = catch_unwind(AssertUnwindSafe(all_sleep)).expect_err("no thread wakes them");
    let text = cause.downcast_ref::<String>().cloned();
    let text = text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    assert!(text.is_some_and(|text| text.contains("all threads are suspended")));
    report("threads_that_all_sleep_are_found", 1, start);
}
