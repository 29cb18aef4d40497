//! Programs with finishes of a team: the same results for threads, ranks of a process and
//! processes, and refusals.
#![cfg(target_os = "linux")]

mod launched;
mod started;

use launched::{Launched, signal, text};
use serde_json::{Value, json};
use started::{shell, tautline};
use std::collections::BTreeSet;
use std::process::Output;
use tautline::Runtime;
use tautline::watch::Stalled;
use tautline::world::{self, World};
use tautline_cli::bfs::{self, Found, Rmat, Searches, Teps};
use tautline_cli::gups::{self, Stream, Table, Updated};
use tautline_cli::heat::{self, HotPlate};

/// Ranks, and workers of each.
const SHAPES: [(u32, usize); 7] = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (4, 2), (7, 1)];

fn runtime(world: &World, workers: usize) -> Runtime {
    let builder = Runtime::builder().world(world).workers(workers);
    // A rank that waits for another one is no mistake.
    let built = builder.pinned(false).stalled(Stalled::Ignore).build();
    built.expect("a runtime")
}

/// Runs `program` as each of `ranks` ranks, with that many workers, and returns the result of
/// rank 0, which alone has one.
fn home<T: Send>(
    (ranks, workers): (u32, usize),
    program: impl Fn(&World, &Runtime) -> tautline::Result<Option<T>> + Sync,
) -> T {
    let results = world::loopback(ranks, |world| program(world, &runtime(world, workers)));
    let results = results.into_iter().collect::<tautline::Result<Vec<_>>>();
    let mut results = results.expect("no rank is lost").into_iter();
    let home = results.next().flatten().expect("the result is at rank 0");
    assert!(results.all(|result| result.is_none()), "{ranks} ranks");
    home
}

/// The messages of all ranks are counted: of updates in batches, of a search's finishes, and of
/// phases, which are calls. The only rank sends nothing.
#[test]
fn statistics_are_those_of_all_ranks() {
    let ranks = "--ranks 3 --loopback --workers 1";
    let programs = [
        ("gups --log2 10", "spawns"),
        ("bfs --scale 8 --keys 2", "reports"),
        ("heat --size 20", "calls"),
    ];
    for (program, counted) in programs {
        let count = |ranks: &str, name: &str| {
            let counts = &json(&format!("{program} {ranks}"))["statistics"];
            counts[name].as_u64().expect("a count")
        };
        assert!(count(ranks, counted) > 0, "{program}");
        assert!(
            count(ranks, "bytes") > count(ranks, "messages"),
            "{program}"
        );
        assert_eq!(count("", "messages") + count("", "parcels"), 0, "{program}");
        let table = |option: &str| {
            let output = run(&format!("{program} {ranks} {option}"));
            text(&output.stdout).contains(&format!("\n{counted} "))
        };
        assert!(table("--statistics") && !table(""), "{program}");
    }
}

fn run(args: &str) -> Output {
    tautline(args).output().expect("the command starts")
}

/// Runs the command, which must succeed and print one object.
fn json(args: &str) -> Value {
    let output = run(&format!("{args} --json"));
    let errors = text(&output.stderr);
    assert!(
        output.status.success() && errors.is_empty(),
        "{args}: {errors}"
    );
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// Asserts that each command is refused by one line that begins so.
fn are_refused(commands: &[(&str, &str)]) {
    for (args, line) in commands {
        let output = run(args);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args}: {errors}");
        assert!(
            errors.starts_with(&format!("tautline: {line}")),
            "{args}: {errors}"
        );
        assert_eq!(errors.lines().count(), 1, "{args}: {errors}");
        assert!(output.stdout.is_empty(), "{args}");
    }
}

/// The shapes of the command: threads, ranks of one process, processes.
const WAYS: [&str; 5] = [
    "--workers 1",
    "--workers 2",
    "--ranks 4 --loopback --workers 1",
    "--ranks 4 --workers 1",
    "--ranks 2 --workers 2",
];

#[test]
fn a_table_is_the_same_whatever_the_shape() {
    for (log2, updates) in [(0, 5), (1, 0), (3, 1000), (10, 4 << 10), (12, 50_001)] {
        let table = Table { log2, updates };
        let expected = gups::sequential(&table);
        for shape in SHAPES {
            let found = home(shape, |world, runtime| gups::across(&table, world, runtime));
            assert_eq!(found.updated, expected, "{table:?}, {shape:?}");
            assert!(found.seconds >= 0.0);
        }
    }
}

/// Of a table of two words the first 63 values, which are even, update one, and x⁶⁴, which is 7,
/// the other.
#[test]
fn a_small_table_has_the_values_of_the_stream() {
    let table = |updates| Table { log2: 1, updates };
    let values = Vec::from_iter(Stream::after(0).take(64));
    assert_eq!((values[0], values[62], values[63]), (2, 1 << 63, 7));
    let checksum = |updates| gups::sequential(&table(updates)).checksum;
    assert_ne!(checksum(63), checksum(64));
    let sum = |shape, updates| home(shape, |world, on| gups::across(&table(updates), world, on));
    for updates in [63, 64] {
        let found = sum((4, 1), updates).updated;
        let errors = 0;
        let checksum = checksum(updates);
        assert_eq!(found, Updated { checksum, errors });
    }
}

#[test]
fn gups_finds_no_error_and_the_same_table_in_all_ways() {
    for way in WAYS {
        let found = json(&format!("gups --log2 14 {way}"));
        assert_eq!(found["errors"], 0, "{way}");
        assert_eq!(found["words"], 1 << 14, "{way}");
        assert_eq!(found["updates"], 4 << 14, "{way}");
        assert_eq!(found["verified"], true, "{way}");
        assert_eq!(found["checksum"], "b4d818a767691203", "{way}");
        let rate = found["updates_per_s"].as_f64().expect("a rate");
        let gups = found["gups"].as_f64().expect("a rate");
        assert!(
            (gups * 1e9 - rate).abs() <= rate * 1e-9 && gups > 0.0,
            "{way}"
        );
        let checked = json(&format!("gups --log2 14 {way} --check"));
        assert_eq!(
            checked["agrees"], "equal to the sequential program",
            "{way}"
        );
    }
}

#[test]
fn gups_refuses_what_is_out_of_bounds() {
    are_refused(&[
        (
            "gups --log2 41",
            "--log2 41: expected a whole number from 0 to 40",
        ),
        (
            "gups --log2 -1",
            "--log2 -1: expected a whole number from 0 to 40",
        ),
        (
            "gups --log2 x",
            "--log2 x: expected a whole number from 0 to 40",
        ),
        (
            "gups --log2 40",
            "--log2 40: needs 8.0 TiB of memory, expected at most ",
        ),
        (
            "gups --log2 40 --ranks 4",
            "--log2 40: needs 8.0 TiB of memory, ",
        ),
        (
            "gups --log2 40 --ranks 4 --loopback",
            "--log2 40: needs 8.0 TiB ",
        ),
        (
            "gups --updates 281474976710657",
            "--updates 281474976710657: expected a whole number from 0 to 281474976710656",
        ),
        (
            "gups --ranks 0",
            "--ranks 0: expected a whole number from 1 to 256",
        ),
        (
            "gups --ranks 257",
            "--ranks 257: expected a whole number from 1 to 256",
        ),
        (
            "gups --workers 0",
            "--workers 0: expected a number from 1 to ",
        ),
        (
            "gups --loopback",
            "--ranks: missing; see tautline gups --help",
        ),
        (
            "gups --ranks 2 --loopback --pin 0",
            "--pin {0}: not together with --loopback, whose ranks share all processors",
        ),
        (
            "gups 7",
            "7: one argument too many; see tautline gups --help",
        ),
    ]);
}

/// Searches by levels: each is the set of the neighbours of the one before that are new.
fn levels_of(graph: &Rmat, key: u32) -> Vec<BTreeSet<u32>> {
    let edges = Vec::from_iter(graph.part(0..graph.edges()));
    let (mut levels, mut seen) = (vec![BTreeSet::from([key])], BTreeSet::from([key]));
    loop {
        let last = &levels[levels.len() - 1];
        let both = edges.iter().flat_map(|&[a, b]| [[a, b], [b, a]]);
        let next = both.filter(|[from, to]| last.contains(from) && !seen.contains(to));
        let next = next.map(|[_, to]| to).collect::<BTreeSet<_>>();
        if next.is_empty() {
            return levels;
        }
        seen.extend(&next);
        levels.push(next);
    }
}

fn sizes(levels: &[BTreeSet<u32>]) -> Vec<u64> {
    levels.iter().map(|level| level.len() as u64).collect()
}

const SMALL: [(u32, u32, u64); 4] = [(1, 1, 1), (3, 2, 4), (6, 4, 2), (9, 16, 7)];

#[test]
fn levels_are_those_of_a_search_by_sets_whatever_the_shape() {
    for (scale, edge_factor, seed) in SMALL {
        let graph = Rmat {
            scale,
            edge_factor,
            seed,
        };
        let searches = Searches { graph, keys: 5 };
        let expected = bfs::sequential(&searches);
        for found in &expected {
            let levels = levels_of(&graph, found.key);
            assert_eq!(found.levels, sizes(&levels), "{graph:?}");
            let visited = levels.into_iter().flatten().collect::<BTreeSet<_>>();
            let traversed = graph.part(0..graph.edges());
            let traversed = traversed.filter(|[one, _]| visited.contains(one)).count();
            assert_eq!(found.edges, traversed as u64, "{graph:?}");
            assert_eq!(found.visited(), visited.len() as u64);
            assert_eq!(found.violation, None);
        }
        for shape in SHAPES {
            let found = home(shape, |world, on| bfs::across(&searches, world, on));
            assert_eq!(found.found, expected, "{graph:?}, {shape:?}");
            assert_eq!(found.seconds.len(), expected.len());
        }
    }
}

/// Keys are distinct vertices with neighbours, all of them if more are wanted.
#[test]
fn keys_have_neighbours() {
    let graph = Rmat {
        scale: 5,
        edge_factor: 1,
        seed: 3,
    };
    let searches = Searches { graph, keys: 1000 };
    let found = home((3, 1), |world, on| bfs::across(&searches, world, on)).found;
    let keys = BTreeSet::from_iter(found.iter().map(|found| found.key));
    let edges = graph.part(0..graph.edges()).filter(|[a, b]| a != b);
    let with_neighbours = BTreeSet::from_iter(edges.flatten());
    assert_eq!(keys, with_neighbours);
    assert_eq!(keys.len(), found.len());
    let is_alone = |found: &Found| found.visited() == 1;
    assert!(!found.iter().any(is_alone));
}

#[test]
fn teps_are_summarised_as_graph500_does() {
    let teps = Teps::of([10, 10, 10, 40], [1.0, 2.0, 5.0, 1.0]).expect("searches");
    // 10, 5, 2 and 40 a second.
    assert_eq!(teps.median, 7.5);
    let mean = 4.0 / (0.1 + 0.2 + 0.5 + 0.025);
    assert!((teps.harmonic_mean - mean).abs() < 1e-9);
    assert_eq!(Teps::of([], []), None);
}

#[test]
fn bfs_finds_the_same_levels_in_all_ways() {
    for way in WAYS {
        let found = json(&format!("bfs --scale 10 --keys 4 {way}"));
        assert_eq!(found["verified"], true, "{way}");
        assert_eq!(found["vertices"], 1 << 10, "{way}");
        assert_eq!(found["checksum"], "b3efba8526558c23", "{way}");
        assert_eq!(found["visited"], json!([882, 882, 882, 882]), "{way}");
        assert_eq!(found["levels"][0], json!([1, 1, 130, 707, 43]), "{way}");
        for key in ["edges_per_s", "teps_harmonic_mean", "teps_median"] {
            assert!(found[key].as_f64() > Some(0.0), "{way}: {key}");
        }
        let checked = json(&format!("bfs --scale 10 --keys 4 {way} --check"));
        let agrees = &checked["agrees"];
        assert_eq!(agrees, "equal to the sequential program", "{way}");
    }
}

#[test]
fn bfs_refuses_what_is_out_of_bounds() {
    are_refused(&[
        (
            "bfs --scale 0",
            "--scale 0: expected a whole number from 1 to 31",
        ),
        (
            "bfs --scale 32",
            "--scale 32: expected a whole number from 1 to 31",
        ),
        (
            "bfs --edge-factor 0",
            "--edge-factor 0: expected a whole number from 1 to 1024",
        ),
        (
            "bfs --keys 0",
            "--keys 0: expected a whole number from 1 to 65536",
        ),
        (
            "bfs --keys many",
            "--keys many: expected a whole number from 1 to 65536",
        ),
        ("bfs --scale 31", "--scale 31: needs "),
        (
            "bfs --scale 31 --edge-factor 32 --ranks 4",
            "--scale 31 --edge-factor 32: needs ",
        ),
        (
            "bfs --ranks 0",
            "--ranks 0: expected a whole number from 1 to 256",
        ),
        ("bfs x", "x: one argument too many; see tautline bfs --help"),
    ]);
}

#[test]
fn a_plate_settles_to_the_same_bits_whatever_the_shape() {
    for (size, change, steps) in [(7, 1e-3, 1000), (8, 1e-9, 5), (33, 1e-4, 1000)] {
        let plate = HotPlate {
            size,
            change,
            steps,
        };
        let expected = heat::sequential(&plate);
        assert_eq!(expected.steps == 5, size == 8, "{expected:?}");
        for shape in SHAPES {
            let found = home(shape, |world, on| heat::across(&plate, world, on));
            assert_eq!(found.settled, expected, "{plate:?}, {shape:?}");
            assert!(found.seconds > 0.0);
        }
    }
}

/// A cell below the hot edge has a quarter of its temperature, and then does not change. Of four
/// cells, the upper two have 1/4, 5/16, 11/32 and 23/64, the lower two 1/4 less.
#[test]
fn small_plates_have_the_values_computed_by_hand() {
    let settled = |size, change, steps| {
        let plate = HotPlate {
            size,
            change,
            steps,
        };
        let expected = heat::sequential(&plate);
        for shape in [(1, 1), (1, 2), (2, 1)] {
            if shape.0 as usize <= size {
                let found = home(shape, |world, on| heat::across(&plate, world, on));
                assert_eq!(found.settled, expected, "{shape:?}");
            }
        }
        (expected.steps, expected.change, plate.is_settled(&expected))
    };
    assert_eq!(settled(1, 1e-9, 100), (2, 0.0, true));
    assert_eq!(settled(1, 1e-9, 1), (1, 0.25, false));
    assert_eq!(settled(2, 0.05, 100), (3, 1.0 / 32.0, true));
    assert_eq!(settled(2, 0.05, 2), (2, 1.0 / 16.0, false));
    // A change that equals the bound is not below it.
    assert_eq!(settled(2, 1.0 / 32.0, 100), (4, 1.0 / 64.0, true));
}

#[test]
fn heat_settles_to_the_same_bits_in_all_ways() {
    for way in WAYS {
        for (options, steps, ended_by, change, checksum) in [
            ("", 241, "change", 0.0009981493357976712, "34f7f591efc61aa8"),
            (
                "--steps 100",
                100,
                "steps",
                0.002421372176432901,
                "0382f6707efbb1db",
            ),
        ] {
            let found = json(&format!("heat --size 64 {options} {way} --check"));
            assert_eq!(found["steps"], steps, "{way}");
            assert_eq!(found["ended_by"], ended_by, "{way}");
            assert_eq!(found["change"], change, "{way}");
            assert_eq!(found["checksum"], checksum, "{way}");
            assert_eq!(found["cells"], steps << 12, "{way}");
            assert!(found["cells_per_s"].as_f64() > Some(0.0), "{way}");
            let agrees = &found["agrees"];
            assert_eq!(agrees, "equal to the sequential program", "{way}");
        }
    }
}

#[test]
fn heat_refuses_what_is_out_of_bounds() {
    let change = |value| format!("--change {value}: expected a number above 0");
    for value in ["0", "-1", "inf", "NaN", "x"] {
        are_refused(&[(&format!("heat --change {value}"), &change(value))]);
    }
    are_refused(&[
        (
            "heat --size 0",
            "--size 0: expected a whole number from 1 to 1048576",
        ),
        (
            "heat --steps 0",
            "--steps 0: expected a whole number from 1 to 1099511627776",
        ),
        (
            "heat --size 3 --ranks 4",
            "--size 3: expected at least 4, a row for each rank",
        ),
        (
            "heat --size 3 --ranks 4 --loopback",
            "--size 3: expected at least 4, a row for each rank",
        ),
        (
            "heat --size 1048576",
            "--size 1048576: needs 24.0 TiB of memory, expected at most ",
        ),
        (
            "heat x",
            "x: one argument too many; see tautline heat --help",
        ),
    ]);
}

/// The other programs with messages run so, too.
#[test]
fn ranks_of_one_process_compute_what_processes_do() {
    for program in ["stencil --width 30 --height 20 --steps 9", "sw --length 90"] {
        for ranks in [1, 3] {
            let args = format!("{program} --ranks {ranks} --loopback --check");
            let found = json(&args);
            assert_eq!(found["agrees"], "equal to the sequential program", "{args}");
            assert_eq!(found["ranks"], ranks, "{args}");
        }
    }
    let mut launch = tautline("launch -n 2 --");
    launch.arg(env!("CARGO_BIN_EXE_tautline"));
    launch.args(["stencil", "--ranks", "2", "--loopback"]);
    let output = launch.output().expect("it starts");
    let errors = text(&output.stderr);
    let line = "tautline: --loopback: this is rank 0 of 2 that were launched";
    assert!(errors.contains(line), "{errors}");
    assert_eq!(output.status.code(), Some(2), "{errors}");
}

/// The launcher names the rank that is lost, and ends the others, which wait for updates.
#[test]
fn a_killed_rank_ends_the_launch() {
    for program in [
        "gups --log2 12 --updates 281474976710656",
        "bfs --scale 14 --keys 65536",
        "heat --size 512 --change 1e-300 --steps 1099511627776",
    ] {
        for killed in [0, 2] {
            let launched = Launched::start(&format!("{program} --ranks 3 --workers 1"));
            let ranks = launched.computes(3);
            signal("-KILL", &ranks[killed]);
            let output = launched.end();
            let errors = text(&output.stderr);
            assert_eq!(output.status.code(), Some(137), "{program}: {errors}");
            assert!(output.stdout.is_empty(), "{program}");
            let line = format!("rank {killed}: ended by signal 9 (SIGKILL)");
            assert!(
                errors.lines().any(|found| found.starts_with(&line)),
                "{errors}"
            );
            assert!(!errors.contains("panicked"), "{errors}");
        }
    }
}

/// The system may refuse memory that seems to be available.
#[test]
fn memory_that_the_system_refuses_is_refused() {
    for (program, line) in [
        ("gups --log2 28", "--log2 28: expected a table that fits"),
        (
            "heat --size 8192",
            "--size 8192: expected a plate that fits",
        ),
    ] {
        let mut shell = shell(&format!("ulimit -v 1000000; $CLI {program} --workers 1"));
        let output = shell.output().expect("it starts");
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        let line = format!("tautline: {line}, but memory allocation failed");
        assert!(errors.starts_with(&line), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}
