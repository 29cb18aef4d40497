//! The table of where the time of a runtime went.

use std::env;
use std::process::Command;
use std::thread;
use std::time::Duration;
use tautline::prelude::*;
use tautline::watch::{Observe, State};

/// Set in a process of its own.
const INSIDE: &str = "TAUTLINE_TEST_TIMES";

/// Each of several processes names itself in the head of its table.
#[test]
fn a_table_has_the_rank_in_its_head() {
    const THIS: &str = "a_table_has_the_rank_in_its_head";
    if env::var_os(INSIDE).is_some() {
        let rt = Runtime::new().unwrap();
        return rt.run(|cx| cx.par_for(0..100, |_| ()));
    }
    for (variables, head) in [
        (
            &[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")][..],
            "rank 1 of 4\n",
        ),
        (
            &[("TAUTLINE_RANK", "2"), ("TAUTLINE_RANKS", "3")],
            "rank 2 of 3\n",
        ),
        (&[("PMIX_RANK", "0")], "rank 0\n"),
    ] {
        let mut command = Command::new(env::current_exe().expect("this program has a path"));
        command
            .args([THIS, "--exact", "--nocapture"])
            .env(INSIDE, "1");
        command
            .env("TAUTLINE_TIMES", "1")
            .envs(variables.iter().copied());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let (_, table) = said
            .split_once(head)
            .unwrap_or_else(|| panic!("no {head}: {said}"));
        assert!(table.trim_start().starts_with("share of time"), "{said}");
    }
}

/// The sequential parts of a program are no idle time of its workers.
#[test]
fn time_outside_of_runs_is_not_idle() {
    let pause = Duration::from_millis(200);
    let rt = Runtime::builder()
        .workers(2)
        .places(1)
        .pinned(false)
        .observe(Observe::new())
        .build()
        .unwrap();
    let parallel = || {
        // Sleeps, as work of a known time.
        let parts = rt.run(|cx| cx.join(|_| thread::sleep(pause), |_| thread::sleep(pause)));
        assert_eq!(parts, ((), ()));
    };
    // The other worker has certainly begun after one of them.
    parallel();
    // A sleep: the time without a run that is measured.
    thread::sleep(2 * pause);
    parallel();
    let table = rt.times().expect("it is observed");
    let of = |state| Duration::from_nanos(table.total().of(state));
    assert!(of(State::NoRun) >= pause, "{table}");
    assert!(of(State::Idle) < 2 * pause, "{table}");
    // The share of the time of runs in tasks.
    let text = table.to_string();
    let mut lines = text.lines().rev();
    assert!(
        lines
            .next()
            .is_some_and(|line| line.trim_start().starts_with("no run ")),
        "{text}"
    );
    let all: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert!(
        all[0] == "all" && all[2].parse::<f64>().unwrap() > 60.0,
        "{text}"
    );
}
