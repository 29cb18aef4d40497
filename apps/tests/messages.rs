//! Programs whose ranks exchange messages: the results of sequential programs whatever the shape,
//! refusals, and ranks that are lost.
#![cfg(target_os = "linux")]

mod launched;
mod scratch;
mod started;

use launched::{Launched, signal, text};
use scratch::Scratch;
use serde_json::Value;
use started::tautline;
use std::fs;
use std::process::{Command, Output, Stdio};
use tautline::comm;
use tautline::prelude::*;
use tautline::watch::Stalled;
use tautline::world::{self, World};
use tautline_cli::smith_waterman::{self, Best, Distribution, Scores, Tiles};
use tautline_cli::stencil::{self, Heat, Plate};

/// Ranks, and workers of each.
const SHAPES: [(u32, usize); 7] = [(1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (4, 2), (7, 1)];

fn runtime(workers: usize) -> Runtime {
    let builder = Runtime::builder().workers(workers).pinned(false);
    // A rank that waits for another one is no mistake.
    let built = builder.stalled(Stalled::Ignore).build();
    built.expect("a runtime")
}

/// Runs `program` as each of `ranks` ranks, with that many workers, and returns the result of
/// rank 0.
fn home<T: Send>(
    (ranks, workers): (u32, usize),
    program: impl Fn(&World, &Runtime) -> Result<Option<T>, comm::Error> + Sync,
) -> T {
    let results = world::loopback(ranks, |world| program(world, &runtime(workers)));
    let mut results = results
        .into_iter()
        .map(|result| result.expect("no rank is lost"));
    let home = results.next().flatten().expect("the result is at rank 0");
    assert!(results.all(|result| result.is_none()), "{ranks} ranks");
    home
}

fn heat(plate: &Plate, band: usize, shape: (u32, usize)) -> Heat {
    home(shape, |world, runtime| {
        stencil::across(plate, band, &world.comm(), runtime)
    })
}

/// Some have fewer rows than ranks, some one row a task.
#[test]
fn a_plate_has_the_same_bits_whatever_the_shape() {
    for (width, height, steps) in [(1, 1, 4), (9, 2, 5), (8, 23, 40), (30, 64, 11), (5, 5, 0)] {
        let plate = Plate {
            width,
            height,
            steps,
            seed: 3,
        };
        let expected = stencil::sequential(&plate);
        for shape in SHAPES {
            for band in [1, 2, 5, 100] {
                let found = heat(&plate, band, shape);
                assert_eq!(found, expected, "{plate:?}, {band}, {shape:?}");
                assert_eq!(found.sum.to_bits(), expected.sum.to_bits());
            }
        }
    }
}

fn aligned(tiles: &Tiles<'_>, shape: (u32, usize)) -> Best {
    home(shape, |world, runtime| {
        smith_waterman::across(tiles, &world.comm(), runtime)
    })
}

#[test]
fn an_alignment_is_the_same_whatever_the_shape() {
    let scores = Scores::default();
    for (lengths, side) in [
        ((1, 1), 4),
        ((50, 3), 8),
        ((100, 130), 16),
        ((61, 200), 100),
    ] {
        let (first, second) = smith_waterman::draw(lengths.0, lengths.1, 5);
        let expected = smith_waterman::sequential(&first, &second, scores);
        for shape in SHAPES {
            for distribution in [Distribution::Blocks, Distribution::Cyclic] {
                let tiles = Tiles {
                    first: &first,
                    second: &second,
                    scores,
                    side,
                    distribution,
                };
                let found = aligned(&tiles, shape);
                assert_eq!(
                    found, expected,
                    "{lengths:?}, {side}, {shape:?}, {distribution:?}"
                );
            }
        }
    }
}

/// If several alignments are best, all shapes find the same one.
#[test]
fn of_equal_alignments_the_first_one_is_found() {
    let letters = b"AC".repeat(40);
    for side in [1, 3, 80] {
        let tiles = Tiles {
            first: b"AC",
            second: &letters,
            scores: Scores::default(),
            side,
            distribution: Distribution::Cyclic,
        };
        for shape in SHAPES {
            let Best { score, row, column } = aligned(&tiles, shape);
            assert_eq!((score, row, column), (4, 2, 2), "{side}, {shape:?}");
        }
    }
}

/// Runs `program` as several ranks of which one leaves before it has sent anything: the others end
/// with an error, as each ends when another one has.
fn without_one(program: impl Fn(&World, &Runtime) -> Option<comm::Error> + Sync) {
    for ranks in [2, 3, 4] {
        for leaves in 0..ranks {
            let left = world::loopback(ranks, |world| {
                let runtime = runtime(1);
                let stays = world.rank().0 != leaves;
                stays.then(|| program(world, &runtime)).flatten()
            });
            for (rank, error) in (0..).zip(left) {
                let is_error = error.is_some();
                assert_eq!(
                    is_error,
                    rank != leaves,
                    "{rank} without {leaves}: {error:?}"
                );
            }
        }
    }
}

#[test]
fn a_rank_that_leaves_a_plate_ends_the_others() {
    let plate = Plate {
        width: 8,
        height: 40,
        steps: 1_000_000,
        seed: 1,
    };
    without_one(|world, runtime| stencil::across(&plate, 3, &world.comm(), runtime).err());
}

#[test]
fn a_rank_that_leaves_an_alignment_ends_the_others() {
    let (first, second) = smith_waterman::draw(400, 400, 1);
    for distribution in [Distribution::Blocks, Distribution::Cyclic] {
        let tiles = Tiles {
            first: &first,
            second: &second,
            scores: Scores::default(),
            side: 20,
            distribution,
        };
        without_one(|world, runtime| smith_waterman::across(&tiles, &world.comm(), runtime).err());
    }
}

fn run(args: &str) -> Output {
    tautline(args).output().expect("the command starts")
}

#[test]
fn bad_requests_get_one_line() {
    for (args, line) in [
        (
            "stencil --width 0",
            "--width 0: expected a whole number from 1 to 65536",
        ),
        (
            "stencil --height 65537",
            "--height 65537: expected a whole number from 1 to 65536",
        ),
        (
            "stencil --steps -1",
            "--steps -1: expected a whole number from 0 to ",
        ),
        (
            "stencil --band 0",
            "--band 0: expected a whole number from 1 to 65536",
        ),
        (
            "stencil --workers 0",
            "--workers 0: expected a number from 1 to ",
        ),
        (
            "stencil --places 0 --ranks 2",
            "--places 0: expected a number from 1 to ",
        ),
        (
            "stencil --ranks 0",
            "--ranks 0: expected a whole number from 1 to 256",
        ),
        (
            "stencil 7",
            "7: one argument too many; see tautline stencil --help",
        ),
        (
            "sw --length 0",
            "--length 0: expected whole numbers from 1 to 16777216, one or two",
        ),
        (
            "sw --length 5x",
            "--length 5x: expected whole numbers from 1 to 16777216, one or two",
        ),
        (
            "sw --match 0",
            "--match 0: expected a whole number from 1 to 100",
        ),
        (
            "sw --mismatch 1",
            "--mismatch 1: expected a whole number from -100 to 0",
        ),
        (
            "sw --gap -101",
            "--gap -101: expected a whole number from -100 to 0",
        ),
        (
            "sw --tile 1",
            "--tile 1: 400 000 000 tiles of these sequences, at most 16777216",
        ),
        ("sw --tile 1 --ranks 2", "--tile 1: 400 000 000 tiles "),
        ("sw --distribution rows", "--distribution rows: "),
        (
            "sw a.fa",
            "a.fa: FIRST and SECOND are two files in the form of FASTA, not letters; ",
        ),
        ("sw /no/such /no/such", "/no/such: "),
    ] {
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

#[test]
fn sequences_in_files_are_aligned() {
    let files = ["first.fa", "second.fa"].map(Scratch::new);
    fs::write(&files[0].0, ">first\nTGTT\nacgg\n").expect("room for a file");
    fs::write(&files[1].0, "GGTTGACTA\n").expect("room for a file");
    let [first, second] = files.each_ref().map(|file| file.0.display().to_string());
    let scores = "--match 3 --mismatch -3 --gap -2";
    let output = run(&format!(
        "sw {first} {second} {scores} --tile 3 --check --ranks 2 --json"
    ));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let keys = ["score", "end_first", "end_second", "cells"].map(|key| found[key].as_u64());
    assert_eq!(keys, [13, 6, 7, 72].map(Some));
    assert_eq!(found["agrees"], "equal to the sequential program");
}

/// The first row of the result states whether it was compared, and with what.
#[test]
fn a_table_has_the_verdict() {
    const PLATE: &str = "stencil --width 20 --height 20 --steps 9 --workers 1";
    for (option, verdict) in [
        ("", "not compared, --check does"),
        ("--check", "equal to the sequential program"),
    ] {
        let output = run(&format!("{PLATE} {option}"));
        let table = text(&output.stdout);
        let heat = table.lines().find(|line| line.starts_with("heat "));
        assert!(heat.is_some_and(|line| line.ends_with(verdict)), "{table}");
        assert!(output.status.success() && output.stderr.is_empty());
        assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    }
}

/// Ranks that receive from one that is lost name it; the launcher ends those that do not.
#[test]
fn a_killed_rank_ends_the_launch() {
    const STENCIL: &str = "stencil --steps 1000000000";
    const ALIGNMENT: &str = "sw --length 300000 --tile 1024";
    for (program, killed, receiver) in [
        (STENCIL, 0, 1),
        (STENCIL, 1, 2),
        (STENCIL, 2, 1),
        (ALIGNMENT, 0, 1),
        (ALIGNMENT, 1, 2),
    ] {
        let launched = Launched::start(&format!("{program} --ranks 3 --workers 1"));
        let ranks = launched.computes(3);
        signal("-KILL", &ranks[killed]);
        let output = launched.end();
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(137), "{program}: {errors}");
        assert!(output.stdout.is_empty(), "{program}");
        // A rank may have sent what its neighbour had not received yet.
        let lines = errors.lines().filter(|line| {
            let (survivor, rest) = line.split_once(": tautline: ").unwrap_or_default();
            !rest.starts_with(&format!("{survivor}: a message to rank "))
                || !rest.contains(" did not arrive: ")
        });
        assert_eq!(lines.clone().count(), 3, "{program}: {errors}");
        for line in [
            format!("rank {killed}: ended by signal 9 (SIGKILL)"),
            format!("rank {receiver}: tautline: rank {receiver}: "),
        ] {
            let is_there = lines.clone().any(|found| found.starts_with(&line));
            assert!(is_there, "{program}, {line}: {errors}");
        }
    }
}

#[test]
fn an_interrupt_ends_all_ranks() {
    for ranks in [1, 2] {
        let args = format!("stencil --steps 1000000000 --workers 1 --ranks {ranks}");
        let launched = Launched::start(&args);
        let ranks = match ranks {
            1 => launched.computing("tautline", 1),
            ranks => launched.computes(ranks),
        };
        assert!(!ranks.is_empty());
        signal("-INT", launched.id());
        let output = launched.end();
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{errors}");
        let [line] = errors.lines().collect::<Vec<_>>()[..] else {
            panic!("one line, not {errors}");
        };
        assert!(
            line.contains("tautline: stencil: interrupted after "),
            "{line}"
        );
        assert!(output.stdout.is_empty());
    }
}

/// A rank that ends first is not reported as lost by those that are about to end as well.
#[test]
fn an_interrupt_may_end_one_rank_first() {
    /// Rank 0 resumes when rank 1 has ended, and has about a millisecond to notice it.
    const SCRIPT: &str = "\
        kill -STOP $0; kill -INT $1; while kill -0 $1; do :; done; kill -CONT $0; \
        i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done; kill -INT $0";
    let launched = Launched::start("stencil --steps 1000000000 --workers 1 --ranks 2");
    let ranks = launched.computes(2);
    let mut shell = Command::new("sh");
    shell.args(["-c", SCRIPT, &ranks[0], &ranks[1]]);
    let status = shell.stderr(Stdio::null()).status();
    assert!(status.expect("it starts").success());
    let output = launched.end();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(
        errors.starts_with("rank 0: tautline: stencil: interrupted"),
        "{errors}"
    );
}
