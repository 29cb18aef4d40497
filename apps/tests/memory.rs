//! The memory that a simulation of many places takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline::balance::Config;
use tautline::machines;
use tautline_cli::uts::{Counts, Kind, Params, Tree, Uts};
use tautline_sim::Simulation;

/// The most that a place may take on average. What the allocator adds is not counted here.
const PLACE_BYTES: usize = 6_000;

/// The most that a hundred thousand places may take.
const ALL_BYTES: usize = 1_000_000_000;

/// The system's allocator, with the bytes in use and the most that were. A reallocation counts
/// twice while it copies.
struct Peak;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Peak {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let in_use = IN_USE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(in_use, Relaxed);
        // SAFETY: the caller meets the same conditions here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller meets the same conditions here.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Peak = Peak;

/// A tree like T3, with as many nodes a place as T3 has on a hundred thousand places.
#[test]
fn a_place_takes_few_kilobytes() {
    let params = Params {
        kind: Kind::Binomial,
        branching: 2000.0,
        arity: 8,
        chance: 0.115,
        seed: 42,
        ..Params::default()
    };
    let tree = || Tree::new(params).expect("valid parameters");
    let config = Config {
        places: 500,
        ..Config::default()
    };
    let machine = machines::find("bluegene-p").expect("a built-in machine");
    let simulation = Simulation::new(config, machine.machine(config.places, 1, 1_850));
    let before = IN_USE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let run = simulation.run(Uts::root(&tree()), |_| tree(), Counts::default(), |_, _| ());
    let bytes = (PEAK.load(Relaxed) - before) / config.places as usize;
    assert!(run.complete && run.places.iter().all(|place| place.tally.tasks > 0));
    assert!(bytes < PLACE_BYTES, "{bytes} bytes a place");
}

/// A tree without tables, and one whose levels have them, as `tautline simulate` runs them: the
/// bound and the report take memory too.
#[test]
#[ignore = "cargo ci deep: a hundred thousand places"]
fn a_hundred_thousand_places_fit_into_a_gigabyte() {
    use std::process::Command;

    // Kibibytes of data, as Linux counts them. An allocation beyond fails and ends the command.
    let limit = ALL_BYTES / 1024;
    let command = env!("CARGO_BIN_EXE_tautline");
    for tree in ["T3", "D9"] {
        let run = format!("simulate uts {tree} --machine bluegene-p --places 100000 --workers 1");
        let line = format!("ulimit -d {limit} && exec '{command}' {run}");
        let output = Command::new("sh").args(["-c", &line]).output();
        let output = output.expect("a shell");
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{tree}: {talk}");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.contains("verified"), "{printed}");
    }
}
