//! Applications as ranks that a launcher of MPI starts: `$TAUTLINE_MPIRUN`, or else
//! `mpirun --oversubscribe`. Feature `mpi`.
#![cfg(target_os = "linux")]

#[path = "../../platforms/examples/breadth_first.rs"]
mod breadth_first;
mod chunks;
#[path = "../../platforms/examples/common_subsequence/main.rs"]
mod common_subsequence;
mod exact;
#[path = "../../platforms/examples/gups.rs"]
mod gups;
#[path = "../../platforms/examples/halos/main.rs"]
mod halos;
#[path = "../../platforms/examples/heat/main.rs"]
mod heat;
mod histories;
#[path = "../../platforms/examples/inverted_index.rs"]
mod inverted_index;
#[path = "../../platforms/examples/k_means/main.rs"]
mod k_means;
mod launched;
#[path = "../../platforms/examples/rank_ring.rs"]
mod rank_ring;
#[path = "../../platforms/tests/ranks/mod.rs"]
mod ranks;
mod scratch;
#[path = "../../platforms/examples/shared_bound.rs"]
mod shared_bound;
mod started;
#[path = "../../platforms/examples/tasks_anywhere.rs"]
mod tasks_anywhere;

use chunks::Setting;
use exact::results_are_exact;
use launched::{Launched, signal, text};
use serde_json::Value;
use started::tautline;
use std::env;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// The longest time from the end of a rank to that of the last process.
const BOUND: Duration = Duration::from_secs(10);

/// Returns the launcher's command, for programs that follow.
fn launcher() -> Command {
    let words = env::var("TAUTLINE_MPIRUN");
    let words = words.unwrap_or_else(|_| "mpirun --oversubscribe".to_owned());
    let mut words = words.split_whitespace();
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words);
    command
}

/// Returns the command that launches `ranks` ranks of the command with `args`.
fn mpirun(ranks: u64, args: &str) -> Command {
    let mut command = launcher();
    with(&mut command, ranks, args);
    command
}

fn with(command: &mut Command, ranks: u64, args: &str) {
    command.args(["-n", &ranks.to_string(), env!("CARGO_BIN_EXE_tautline")]);
    command.args(args.split_whitespace());
}

fn object(args: &str, output: &Output) -> Value {
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{args}: {errors}");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{args}: one JSON object: {}", text(&output.stdout)))
}

fn json(mut command: Command, args: &str) -> Value {
    let command = command.arg("--json");
    object(args, &command.output().expect("it starts"))
}

#[test]
fn results_over_mpi_are_exact_whatever_the_shape() {
    results_are_exact(
        |args| json(tautline(args), args),
        |args, ranks| json(mpirun(ranks, args), args),
    );
}

/// The examples over ranks, as which the next tests start this program.
#[test]
#[ignore = "by hand: the program of ranks, which another test starts"]
fn example() {
    let main = match env::var("ROLE").as_deref() {
        Ok("rank_ring") => rank_ring::main,
        Ok("gups") => gups::main,
        Ok("breadth_first") => breadth_first::main,
        Ok("heat") => heat::main,
        Ok("inverted_index") => inverted_index::main,
        Ok("tasks_anywhere") => tasks_anywhere::main,
        Ok("k_means") => k_means::main,
        Ok("histories") => histories::main,
        Ok("common_subsequence") => common_subsequence::main,
        Ok("halos") => halos::main,
        Ok("shared_bound") => shared_bound::main,
        _ => return,
    };
    main().expect("all live");
    // Before the time of the test is printed.
    std::process::exit(0);
}

/// Returns what an example prints that this program is started as, by a command that names it.
fn printed(command: &mut Command, example: &str) -> String {
    let words = "--exact example --nocapture --include-ignored --test-threads 1";
    let output = command.args(words.split(' ')).env("ROLE", example).output();
    let output = output.expect("it starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

#[test]
fn programs_with_teams_print_the_same_by_mpirun() {
    let program = env::current_exe().expect("it runs");
    for example in [
        "gups",
        "breadth_first",
        "heat",
        "tasks_anywhere",
        "inverted_index",
        "k_means",
        "common_subsequence",
        "halos",
        "shared_bound",
    ] {
        let mut by_mpi = launcher();
        by_mpi.args(["-n", "3"]).arg(&program);
        let alone = printed(&mut Command::new(&program), example);
        let line = alone.lines().last().expect("a line");
        let by_mpi = printed(&mut by_mpi, example);
        assert!(
            by_mpi.ends_with(&format!("{line}\n")),
            "{by_mpi}, alone {alone}"
        );
    }
}

#[test]
fn random_programs_over_mpi() {
    let args = "selftest --programs 20 --workers 1 --check";
    let (alone, by_mpi) = (json(tautline(args), args), json(mpirun(3, args), args));
    assert_eq!(
        by_mpi["agrees"], "equal to the sequential program",
        "{by_mpi}"
    );
    for same in ["programs", "events", "checksum"] {
        assert_eq!(by_mpi[same], alone[same], "{by_mpi}");
    }
}

#[test]
fn histories_over_mpi_are_those_of_one_memory() {
    let mut command = launcher();
    command.args(["-n", "4"]);
    command.arg(env::current_exe().expect("it runs"));
    let printed = printed(command.env(histories::ACCESSES, "40000"), "histories");
    let line = "40000 accesses of 4 ranks are those of one memory\n";
    assert!(printed.contains(line), "{printed}");
}

#[test]
fn one_program_runs_alone_launched_and_by_mpirun() {
    let program = env::current_exe().expect("it runs");
    let mut by_mpi = launcher();
    by_mpi.args(["-n", "4"]).arg(&program);
    let launch = format!("launch -n 4 -- {}", program.display());
    let commands = [
        (Command::new(&program), 1),
        (tautline(&launch), 4),
        (by_mpi, 4),
    ];
    for (mut command, ranks) in commands {
        let printed = printed(&mut command, "rank_ring");
        let line = format!("1000 times round a ring, {ranks} ranks\n");
        assert!(printed.contains(&line), "{printed}");
    }
}

/// Chatterjee, acceptance fact 25, over MPI: every combination of ranks, workers, chunk and
/// interval.
#[test]
fn every_chunk_and_interval() {
    for setting in chunks::all() {
        let Setting {
            tree,
            workers,
            chunk,
            interval,
            ..
        } = setting;
        let args =
            format!("uts {tree} --workers {workers} --steal {chunk} --grain {interval} --quiet");
        let mut command = mpirun(setting.ranks.into(), &args);
        // Where ranks share processors, each poll of Open MPI would yield one: that of every few
        // nodes.
        command.env("OMPI_MCA_mpi_yield_when_idle", "0");
        let found = json(command, &args);
        assert_eq!(found["nodes"], setting.nodes, "{setting:?}");
    }
}

/// The launcher ends the others, which it leaves no time to notice.
#[test]
fn a_killed_rank_ends_the_job() {
    let job = Launched::of(mpirun(3, "uts T1WL --baseline none --workers 1"));
    let ranks = job.computing("tautline", 3);
    let start = Instant::now();
    signal("-KILL", &ranks[1]);
    let output = job.end();
    let elapsed = start.elapsed();
    assert!(!output.status.success() && elapsed < BOUND, "{elapsed:?}");
}

/// The result would be wrong, with no other sign of it. The launcher may end a rank before that has
/// printed its line.
#[test]
fn ranks_with_other_settings_are_refused() {
    for (zero, one) in [
        ("nqueens 6", "uts -t 1 -b 4 -d 6"),
        ("nqueens 9", "nqueens 10"),
    ] {
        let mut command = mpirun(1, &format!("{zero} --baseline none"));
        command.arg(":");
        with(&mut command, 1, &format!("{one} --baseline none"));
        let start = Instant::now();
        let output = command.output().expect("it starts");
        let errors = text(&output.stderr);
        assert!(!output.status.success() && start.elapsed() < BOUND);
        let line = "tautline: rank 1 has other arguments than rank 0: ";
        assert!(errors.contains(line), "{errors}");
    }
}

/// Open MPI gives each rank a terminal for its output, also if it passes that on to a file.
#[test]
fn files_get_no_colours() {
    let mut command = mpirun(2, "nqueens 8 --baseline none");
    command.env("TERM", "xterm").env_remove("NO_COLOR");
    let output = command.output().expect("it starts");
    let printed = text(&output.stdout);
    assert!(printed.contains("   verified"), "{printed}");
    let all = [printed, text(&output.stderr)].concat();
    assert!(!all.contains('\x1b'), "{all:?}");
}

/// Variables as of a launcher that the library does not know: it would run as a single rank.
#[test]
fn another_launcher_than_the_library_s_is_refused() {
    let mut command = tautline("uts -t 1 -b 4 -d 6");
    command
        .env("JSM_NAMESPACE_RANK", "1")
        .env("JSM_NAMESPACE_SIZE", "2");
    let output = command.output().expect("it starts");
    let errors = text(&output.stderr);
    let expected = "launched as rank 1 of 2, but rank 0 of 1 to the MPI library of this program, ";
    assert!(errors.contains(expected), "{errors}");
    assert_eq!(
        (output.status.code(), errors.lines().count()),
        (Some(2), 1),
        "{errors}"
    );
}

#[test]
fn a_single_rank_is_a_program_started_by_hand() {
    const ARGS: &str = "nqueens 6 --baseline none";
    let found = json(mpirun(1, ARGS), ARGS);
    assert_eq!(found["solutions"], 4, "{found}");
}

/// Starts and stops.
#[test]
fn three_hundred_jobs_end() {
    for run in 0..300 {
        let args = "nqueens 6 --workers 1 --baseline none";
        let found = json(mpirun(1 + run % 3, args), args);
        assert_eq!(found["solutions"], 4, "run {run}: {found}");
    }
}

#[test]
fn bench_measures_exchanges_of_two_ranks() {
    for (bench, names) in [
        ("message", ["ranks, 8 bytes", "ranks, 1 MiB"]),
        (
            "collective",
            ["ranks, barrier", "ranks, all-reduce of 8 bytes"],
        ),
    ] {
        let args = format!("bench {bench} --samples 8 --deadline 20");
        let found = json(mpirun(2, &args), &args);
        let figures = found["figures"].as_array().expect("figures");
        let found: Vec<_> = figures.iter().map(|figure| &figure["figure"]).collect();
        assert_eq!(found, names, "{args}");
        for figure in figures {
            assert!(figure["min_ns"].as_f64() > Some(0.0), "{figure}");
        }
    }
    let output = mpirun(3, "bench message").output().expect("it starts");
    let errors = text(&output.stderr);
    assert!(!output.status.success(), "{errors}");
    assert!(errors.contains("3 ranks: expected 2"), "{errors}");
}
