//! The command where the system refuses threads: what is printed is what ran.
#![cfg(target_os = "linux")]

mod launched;
#[path = "../../platforms/tests/refusing/mod.rs"]
mod refusing;
mod started;

use launched::{Launched, computes_on, signal, text};
use refusing::{Refused, refusing};
use serde_json::Value;
use started::tautline;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

/// The errors of a container, and of a limit on processes.
const ERRORS: [i32; 2] = [libc::EPERM, libc::EAGAIN];

fn without_threads(mut command: Command, error: i32) -> Output {
    refusing(&mut command, Refused::Threads(error));
    command.output().expect("it starts")
}

#[test]
fn one_thread_is_enough_and_reported() {
    for error in ERRORS {
        let command = tautline("nqueens 8 --workers 8 --baseline none --explain");
        let output = without_threads(command, error);
        let (table, errors) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{errors}");
        let lines: Vec<_> = errors.lines().collect();
        let watch = "tautline: cannot watch for interrupts: ";
        assert!(lines.len() == 2 && lines[0].starts_with(watch), "{errors}");
        assert!(
            lines[0].ends_with("; one ends the program at once"),
            "{errors}"
        );
        assert_eq!(lines[1], "tautline: 8 workers wanted, the system allows 1");
        assert!(table.contains("places x workers  1 x 1, "), "{table}");
        assert!(
            table.contains("verified") && !table.contains("threads on"),
            "{table}"
        );

        let command = tautline("nqueens 8 --places 2 --workers 4 --baseline none --json");
        let output = without_threads(command, error);
        let run: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        let of = |key: &str| run[key].as_u64();
        let shape = ["places", "workers", "threads", "processors"].map(of);
        assert_eq!(shape, [2, 1, 1, 1].map(Some), "{run}");
        assert_eq!(
            (&run["solutions"], &run["verified"]),
            (&92.into(), &true.into())
        );
    }
}

/// A handler without a thread would swallow it.
#[test]
fn an_interrupt_ends_a_command_without_threads() {
    let mut command = tautline("uts T1WL --workers 1 --baseline none");
    refusing(&mut command, Refused::Threads(libc::EPERM));
    let search = Launched::of(command);
    computes_on(search.id());
    signal("-INT", search.id());
    let output = search.end();
    assert_eq!(output.status.signal(), Some(libc::SIGINT));
}

#[test]
fn a_deadline_is_kept_without_threads() {
    let command = tautline("uts T1WL --workers 1 --baseline none --deadline 100ms --json");
    let output = without_threads(command, libc::EAGAIN);
    let run: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(run["stopped"], "deadline", "{}", text(&output.stderr));
}

/// Other programs of the command either work or refuse in one line.
#[test]
fn commands_without_threads_do_not_panic() {
    for args in [
        "topo",
        "stencil --workers 4",
        "smith-waterman --length 200 --workers 4",
        "gups --log2 9 --workers 4",
        "bfs --scale 6 --keys 2 --workers 4",
        "heat --size 20 --workers 4",
        "selftest --programs 5 --workers 4",
        "simulate uts T1 --places 4",
        "simulate team barrier --ranks 4",
        "loops exponential",
        "bench barrier --tasks 2 --deadline 1",
        "bench all --quick --deadline 1",
        "uts T1 --workers 2",
        "nqueens 6 --ranks 2 --workers 2 --baseline none",
        "launch -n 2 -- true",
    ] {
        let output = without_threads(tautline(args), libc::EAGAIN);
        let errors = text(&output.stderr);
        let code = output.status.code();
        assert!(
            matches!(code, Some(0..=4)) && !errors.contains("panicked"),
            "{args}: {code:?} {errors}"
        );
    }
}
