//! Random programs over ranks, against the sequential interpreter.

mod started;

use serde_json::Value;
use started::tautline;
use std::env;
use tautline::Runtime;
use tautline::watch::Stalled;
use tautline::world::{self, World};
use tautline_cli::selftest::{self, Selftest, Tested, shrink};

fn runtime(world: &World, workers: usize) -> Runtime {
    let builder = Runtime::builder().world(world).workers(workers);
    // A rank that waits for another one is no mistake.
    let built = builder.pinned(false).stalled(Stalled::Ignore).build();
    built.expect("a runtime")
}

/// Runs the programs over ranks of this process, and returns the outcome.
fn over_loopback(selftest: Selftest, ranks: u32, workers: usize) -> Tested {
    let tested = world::loopback(ranks, |world| {
        selftest::across(&selftest, world, &runtime(world, workers), |_| ())
    });
    let tested = tested.into_iter().collect::<tautline::Result<Vec<_>>>();
    let tested = tested.expect("no call fails").into_iter().flatten();
    let tested = Vec::from_iter(tested);
    let [tested] = &tested[..] else {
        panic!("{} ranks have an outcome", tested.len())
    };
    tested.clone()
}

/// Teamed, acceptance facts T-1 to T-4, in random programs; Paudel, acceptance facts:
/// the same on one rank as on several, and no finish returns early.
#[test]
fn programs_over_ranks() {
    for (ranks, workers) in [(1, 2), (2, 1), (2, 2), (3, 2), (5, 1)] {
        let selftest = Selftest {
            seed: 1000 * u64::from(ranks) + workers as u64,
            programs: 200,
            depth: 4,
        };
        let tested = over_loopback(selftest, ranks, workers);
        assert_eq!(tested.failed, None, "{ranks} ranks");
        assert!(tested == selftest::sequential(&selftest), "{ranks} ranks");
        assert!(tested.events > 10_000, "programs are short");
        assert!(
            tested.panics > 50 && tested.cancellations > 50,
            "{tested:?}"
        );
        assert!(tested.teamed > 500, "{tested:?}");
        if ranks > 1 {
            assert!(tested.elsewhere > 4_000, "{tested:?}");
            let is_linux = cfg!(target_os = "linux");
            assert!(
                !is_linux || tested.overlaps > 50,
                "nothing overlaps: {tested:?}"
            );
            assert!(
                !is_linux || tested.ordered > 4_000,
                "the clock was set: {tested:?}"
            );
        }
    }
}

#[test]
#[ignore = "cargo ci deep: programs"]
fn many_programs_over_ranks() {
    let number = |name, other: u64| env::var(name).map_or(other, |n| n.parse().expect("a number"));
    let (first, programs) = (number("FIRST", 0), number("PROGRAMS", 100_000));
    let mut ordered = 0;
    for part in 0..programs.div_ceil(1000) {
        let selftest = Selftest {
            seed: first + 1000 * part,
            programs: 1000,
            depth: 4 + (part % 2) as u32,
        };
        let tested = over_loopback(selftest, 1 + (part % 5) as u32, 1 + (part / 5 % 2) as usize);
        assert_eq!(tested.failed, None, "{selftest:?}");
        ordered += tested.ordered;
    }
    assert!(
        ordered > 10 * programs,
        "{ordered} events were compared in time"
    );
}

/// Runs the command over processes, and returns its object.
#[cfg(target_os = "linux")]
fn json(args: &str) -> Value {
    let output = tautline(&format!("{args} --json")).output();
    let output = output.expect("the command starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && errors.is_empty(),
        "{args}: {errors}"
    );
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

#[cfg(target_os = "linux")]
#[test]
fn programs_over_processes() {
    let expected = json("selftest --programs 100 --workers 1");
    assert_eq!(expected["verified"], true);
    for way in [
        "--ranks 4 --workers 1",
        "--ranks 2 --workers 2",
        "--ranks 3 --loopback",
    ] {
        let found = json(&format!("selftest --programs 100 {way} --check"));
        assert_eq!(found["agrees"], "equal to the sequential program", "{way}");
        for same in ["programs", "events", "checksum"] {
            assert_eq!(found[same], expected[same], "{way}");
        }
        let overlaps = found["overlaps"].as_u64().expect("a count");
        assert!(overlaps > 0, "{way}: nothing overlaps");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn selftest_refuses_what_is_out_of_bounds() {
    for (args, line) in [
        (
            "--programs 0",
            "--programs 0: expected a whole number from 1 to ",
        ),
        (
            "--depth 9",
            "--depth 9: expected a whole number from 0 to 8",
        ),
        ("--seed x", "--seed x: expected a whole number from 0 to "),
    ] {
        let output = tautline(&format!("selftest {args}")).output();
        let output = output.expect("the command starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args}: {errors}");
        assert!(errors.starts_with(&format!("tautline: {line}")), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

/// A failure that needs one kind of statement leaves a program of that statement, with those around
/// it.
#[test]
fn a_program_that_fails_shrinks() {
    let selftest = Selftest {
        seed: 1,
        programs: 40,
        depth: 4,
    };
    let mut shrunk = 0;
    for program in selftest.programs() {
        let lines = |text: &str| text.lines().count();
        let listing = program.to_string();
        if !listing.contains("Batch([") || lines(&listing) < 40 {
            continue;
        }
        let fails = |program: &_| Ok(format!("{program}").contains("Batch(["));
        let least = shrink(&program, fails).expect("no error").to_string();
        assert_eq!(least.matches("Batch([").count(), 1, "{least}");
        // The events by which activities around it begin cannot be left out.
        assert!(lines(&least) < 16, "{least}");
        assert!(least.lines().all(|line| listing.contains(line)), "{least}");
        shrunk += 1;
    }
    assert!(shrunk > 5, "{shrunk} programs had batches");
}
