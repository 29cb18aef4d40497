//! The shipped phasers in virtual time: which are faster on which machine. The tables are in
//! `verify/CYCLES.md`.

use super::phasers::{Kind, measure};
use super::{report, ring};
use std::time::Instant;
use tautline_sim::memory::{CYCLOPS64, POWER7, Region};
use tautline_verify::virtual_time::Virtual;

const EPISODES: usize = 5;
const TREES: [Kind; 4] = [Kind::Tree(2), Kind::Tree(4), Kind::Tree(8), Kind::Tree(16)];

fn cycles(machine: &Virtual, kind: Kind, threads: usize) -> u64 {
    measure(machine, kind, threads, EPISODES).cycles
}

fn best_tree(machine: &Virtual, threads: usize) -> u64 {
    let all = TREES.map(|kind| cycles(machine, kind, threads));
    all.into_iter().min().expect("some")
}

/// Some degree is at most as slow as the flat phaser, from some number of tasks on, and more than
/// twice as fast for all threads.
#[test]
fn trees_beat_the_flat_phaser() {
    let start = Instant::now();
    let sram = Virtual::new(CYCLOPS64);
    let dram = sram.clone().place_all(Region::OffChip);
    let power = Virtual::new(POWER7).patient();
    for (machine, most, counts, times) in [
        (&sram, 160, [32, 64, 128], 2),
        (&dram, 160, [64, 96, 128], 2),
        (&power, 128, [16, 32, 64], 3),
    ] {
        for threads in counts {
            let flat = cycles(machine, Kind::Flat, threads);
            let tree = best_tree(machine, threads);
            assert!(tree <= flat, "{threads}: {tree} {flat}");
        }
        let flat = cycles(machine, Kind::Flat, most);
        let tree = best_tree(machine, most);
        assert!(times * tree < flat, "{most}: {tree} {flat}");
    }
    report("trees_beat_the_flat_phaser", 3 * 4 * 5, start);
}

/// Waiters that poll words off the chip stand in queues there.
#[test]
fn memory_on_the_chip_is_far_faster() {
    let start = Instant::now();
    let sram = Virtual::new(CYCLOPS64);
    let dram = sram.clone().place_all(Region::OffChip);
    for kind in [Kind::Flat, Kind::Tiered(4), Kind::Tree(4)] {
        let [near, far] = [&sram, &dram].map(|machine| cycles(machine, kind, 160));
        assert!(20 * near < far, "{kind:?}: {near} {far}");
    }
    report("memory_on_the_chip_is_far_faster", 6, start);
}

/// A line before the tree, the tree before interrupts; and what a phase on a line touches: one
/// store of one's own, one load.
#[test]
fn lines_beat_the_tree_and_the_tree_beats_interrupts() {
    let start = Instant::now();
    let machine = Virtual::new(CYCLOPS64);
    for threads in [2, 8, 32, 160] {
        let line = measure(&machine, Kind::Lines(4), threads, EPISODES);
        let [tree, awake] = [Kind::Tree(4), Kind::Awake(4)].map(|k| cycles(&machine, k, threads));
        // Two phases at least come before the line does.
        assert!((EPISODES..=EPISODES + 3).contains(&line.in_hardware));
        assert!(5 * line.cycles < tree, "{threads}: {} {tree}", line.cycles);
        assert!(tree < awake, "{threads}: {tree} {awake}");
        assert!(line.accesses < 2.1, "{threads}: {}", line.accesses);
        assert_eq!(line.traffic.sum().updates, 0);
    }
    report(
        "lines_beat_the_tree_and_the_tree_beats_interrupts",
        12,
        start,
    );
}

/// Fact 44: in the steady state each line has one writer, and masters raise their nodes by plain
/// stores: no word is updated but the phase word.
#[test]
fn a_steady_tree_updates_one_word() {
    let start = Instant::now();
    for (degree, threads) in [(2, 64), (4, 160), (16, 160)] {
        let reading = measure(
            &Virtual::new(CYCLOPS64),
            Kind::Tree(degree),
            threads,
            EPISODES,
        );
        let lines = &reading.traffic.lines;
        let busiest = lines.iter().map(|line| line.writers).max();
        let updated = lines.iter().filter(|line| line.updates > 0).count();
        // The counting thread is in its own step: one phase more or less may end in the meantime.
        let updates = reading.traffic.sum().updates as usize;
        assert_eq!((busiest, updated), (Some(1), 1), "degree {degree}");
        assert!(updates.abs_diff(EPISODES) <= 1, "{updates}");
        assert_eq!(reading.traffic.fences, 0);
    }
    report("a_steady_tree_updates_one_word", 3, start);
}

/// From task to task a word is faster than an interrupt, if few tasks poll where the words lie.
#[test]
fn a_ring_of_tasks() {
    let start = Instant::now();
    let sram = Virtual::new(CYCLOPS64);
    for tasks in [2, 16, 64] {
        let [words, interrupts] = [false, true].map(|way| ring::hop(&sram, tasks, way));
        assert!(words < interrupts, "{tasks}: {words} {interrupts}");
        assert!(interrupts < 3 * words, "{tasks}: {words} {interrupts}");
    }
    let dram = sram.place_all(Region::OffChip);
    let [words, interrupts] = [false, true].map(|way| ring::hop(&dram, 64, way));
    assert!(interrupts < words, "{words} {interrupts}");
    report("a_ring_of_tasks_on_phasers", 8, start);
}

/// Other allocations of the process are irrelevant: the distances between objects are those of this
/// test's allocator.
#[test]
fn a_reading_does_not_follow_the_allocator() {
    let start = Instant::now();
    let machines = [
        Virtual::new(CYCLOPS64).place_all(Region::OffChip),
        Virtual::new(POWER7).patient(),
    ];
    for machine in machines {
        let first = measure(&machine, Kind::Tree(4), 48, EPISODES);
        for bytes in [8, 24, 72] {
            let held: Vec<_> = (0..100).map(|_| vec![0_u8; bytes]).collect();
            // Holes between blocks that stay, for the run to fill.
            let left: Vec<_> = held.into_iter().step_by(2).collect();
            let again = measure(&machine, Kind::Tree(4), 48, EPISODES);
            assert_eq!(first, again, "{} blocks of {bytes} bytes", left.len());
        }
    }
    report("a_reading_does_not_follow_the_allocator", 8, start);
}
