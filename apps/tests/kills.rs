//! Ranks and launchers that end at any time: what the others print, and that nothing is left.
//!
//! This program also is one of ranks: they run the test `rank` alone, which plays the role that the
//! variable `ROLE` names.
#![cfg(target_os = "linux")]

mod killed;
mod launched;
mod scratch;
mod started;

use killed::{Longest, Random, alone, others_name, shared_files};
use launched::{ENDLESS, Launched, are_held, segments, signal, text, until};
use scratch::Scratch;
use started::tautline;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use std::{env, fs, hint, process, thread};
use tautline::Runtime;
use tautline::world::World;

/// Kills a random rank at a random time, `times` times.
fn kill_ranks(times: usize) {
    let (mut random, mut longest) = (Random(3), Longest::default());
    for _ in 0..times {
        let ranks = 2 + random.below(3) as usize;
        let killed = random.below(ranks as u64) as usize;
        let launched = Launched::start(&format!("{ENDLESS} {ranks}"));
        let process = launched.rank(killed);
        random.wait();
        let since = Instant::now();
        signal("-KILL", &process);
        let output = launched.end();
        longest.add(since, &format!("rank {killed} of {ranks}"));
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(137), "{errors}");
        let own = others_name(killed, ranks, errors);
        let line = format!("rank {killed}: ended by signal 9 (SIGKILL)");
        assert!(own.len() == 1 && own[0].starts_with(&line), "{errors}");
        assert_eq!(errors.lines().count(), ranks, "{errors}");
    }
    longest.print(times, "a rank was killed");
}

/// The others end by themselves, with one line each that names the rank.
#[test]
fn killed_ranks_end_the_launch() {
    alone(|| kill_ranks(12));
}

/// Kills a rank other than the first at a random time, `times` times, where losses are tolerated:
/// rank 0 prints what is known, or all name the rank, as before the computation.
fn kill_dispensable_ranks(times: usize) {
    let (mut random, mut longest) = (Random(5), Longest::default());
    let mut results = 0;
    for _ in 0..times {
        let ranks = 2 + random.below(3) as usize;
        let killed = 1 + random.below(ranks as u64 - 1) as usize;
        let launched = Launched::start(&format!("{ENDLESS} {ranks} --json --on-loss partial"));
        let process = launched.rank(killed);
        random.wait();
        let since = Instant::now();
        signal("-KILL", &process);
        let output = launched.end();
        longest.add(since, &format!("rank {killed} of {ranks}"));
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(137), "{errors}");
        match text(&output.stdout) {
            "" => _ = others_name(killed, ranks, errors),
            found => {
                results += 1;
                assert!(found.contains("\"stopped\": \"place lost\""), "{found}");
                assert!(found.contains("\"complete\": false"), "{found}");
                assert_eq!(errors.lines().count(), 1, "{errors}");
            }
        }
    }
    assert!(results > 0, "no rank was killed while it computed");
    longest.print(times, "a rank was killed that could be done without");
}

#[test]
fn killed_ranks_leave_a_result() {
    alone(|| kill_dispensable_ranks(12));
}

#[test]
#[ignore = "cargo ci deep: two hundred kills, with results"]
fn two_hundred_results_without_a_rank() {
    alone(|| kill_dispensable_ranks(200));
}

#[test]
#[ignore = "cargo ci deep: two hundred kills"]
fn two_hundred_killed_ranks() {
    alone(|| kill_ranks(200));
}

/// Kills the launcher at a random time, `times` times.
fn kill_launchers(times: usize) {
    let (mut random, mut longest) = (Random(5), Longest::default());
    let folder = Scratch::new("launchers");
    fs::create_dir(&folder.0).expect("a folder");
    let before = shared_files();
    for _ in 0..times {
        let ranks = 1 + random.below(4);
        let mut command = tautline(&format!("{ENDLESS} {ranks}"));
        command.env("TMPDIR", &folder.0);
        command.env("XDG_RUNTIME_DIR", &folder.0);
        let launched = Launched::of(command);
        random.wait();
        let held = segments(launched.id());
        let since = Instant::now();
        signal("-KILL", launched.id());
        let output = launched.end();
        assert_eq!(output.status.code(), None);
        // The outputs are closed with rank 0; the others end in any order.
        until("memory is left", || !are_held(&held));
        longest.add(since, &format!("launcher of {ranks}"));
    }
    assert_eq!(shared_files(), before);
    // Which fails for a folder with files.
    fs::remove_dir(&folder.0).expect("no file is left");
    longest.print(times, "the launcher was killed");
}

#[test]
fn ranks_do_not_outlive_killed_launchers() {
    alone(|| kill_launchers(5));
}

#[test]
#[ignore = "cargo ci deep: fifty kills"]
fn fifty_killed_launchers() {
    alone(|| kill_launchers(50));
}

/// The program of a rank.
#[test]
#[ignore = "by hand: the program of ranks, which other tests start"]
fn rank() {
    let (Ok(role), Ok(last)) = (env::var("ROLE"), env::var("LAST")) else {
        return;
    };
    if env::var("TAUTLINE_RANK") == env::var("DOOMED") {
        thread::spawn(move || {
            until("the end is not announced", || Path::new(&last).exists());
            match &*role {
                "exit" => process::exit(7),
                // ORDERING: Relaxed: nothing is published.
                "panic" => IS_OVER.store(true, Ordering::Relaxed),
                role => panic!("{role}"),
            }
        });
    }
    let error = match World::join() {
        Ok(world) => compute(&world).expect_err("it has no end"),
        Err(error) => error,
    };
    eprintln!("tautline: {error}");
    process::exit(4);
}

/// Whether the tasks of this rank are to panic.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Computes without an end, with a number of tasks that stays the same.
fn compute(world: &World) -> tautline::Result<u64> {
    let rt = Runtime::builder().workers(1).pinned(false).build().unwrap();
    let balancer = rt.balancer().across(world);
    let run = balancer.sum(0..100_u64, |number, todo| {
        // ORDERING: Relaxed: as there.
        assert!(!IS_OVER.load(Ordering::Relaxed), "as intended");
        (0..1000).for_each(|_| hint::spin_loop());
        todo.extend([number]);
        1
    });
    run.map(|run| run.output)
}

/// Ends a random rank at a random time in this way, `times` times.
fn end_ranks(role: &str, times: usize, check: impl Fn(&Output, &[&str])) {
    let (mut random, mut longest) = (Random(7), Longest::default());
    let program = env::current_exe().expect("it runs");
    let program = program.to_str().expect("text");
    for _ in 0..times {
        let ranks = 2 + random.below(3) as usize;
        let doomed = random.below(ranks as u64) as usize;
        let last = Scratch::new("last");
        let mut command: Command = tautline(&format!("launch -n {ranks} --"));
        command.args([program, "--exact", "rank", "--nocapture", "--ignored"]);
        command.env("ROLE", role).env("LAST", &last.0);
        command.env("DOOMED", doomed.to_string());
        // Which takes half a second.
        command.env("RUST_BACKTRACE", "0");
        let launched = Launched::of(command);
        random.wait();
        let since = Instant::now();
        fs::write(&last.0, "").expect("room for a file");
        let output = launched.end();
        longest.add(since, &format!("{role} of rank {doomed} of {ranks}"));
        check(&output, &others_name(doomed, ranks, text(&output.stderr)));
    }
    longest.print(times, role);
}

#[test]
fn ranks_that_exit_early_are_named() {
    alone(|| {
        end_ranks("exit", 8, |output, own| {
            assert_eq!(output.status.code(), Some(7), "{output:?}");
            assert!(own.is_empty(), "{own:?}");
        });
    });
}

#[test]
fn ranks_that_panic_are_named() {
    alone(|| {
        end_ranks("panic", 8, |output, own| {
            assert_eq!(output.status.code(), Some(101), "{output:?}");
            assert!(
                own.iter().any(|line| line.ends_with(": as intended")),
                "{own:?}"
            );
        });
    });
}
