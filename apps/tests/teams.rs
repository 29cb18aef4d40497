//! Programs with finishes of a team: the same results for threads, ranks of a process and
//! processes, and refusals.
#![cfg(target_os = "linux")]

mod started;

use serde_json::Value;
use started::tautline;
use std::process::Output;
use tautline::Runtime;
use tautline::watch::Stalled;
use tautline::world::{self, World};
use tautline_cli::gups::{self, Stream, Table, Updated};

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

fn run(args: &str) -> Output {
    tautline(args).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
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
