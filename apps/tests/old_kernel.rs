//! Launches on Linux before 5.3, which has no descriptors of processes.
#![cfg(target_os = "linux")]

mod launched;
#[path = "../../platforms/tests/refusing/mod.rs"]
mod refusing;
mod started;

use launched::{ENDLESS, Launched, computes_on, gone, signal, text, until};
use refusing::{Refused, refusing};
use started::{shell, tautline};
use std::fs;
use std::process::Command;

fn old(mut command: Command) -> Launched {
    refusing(&mut command, Refused::Missing(libc::SYS_pidfd_open));
    Launched::of(command)
}

#[test]
fn ranks_compute_and_end_with_their_codes() {
    let output = old(tautline("nqueens 8 --ranks 3 --workers 1 --json")).end();
    let errors = text(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    assert!(text(&output.stdout).contains("\"solutions\": 92"));
    for (program, code) in [("exit 3", 3), ("kill -9 $$", 137), ("exit 0", 0)] {
        let line = format!("exec $CLI launch -n 2 -- sh -c '{program}'");
        let output = old(shell(&line)).end();
        assert_eq!(output.status.code(), Some(code), "{program}");
    }
}

#[test]
fn the_end_of_a_rank_and_of_the_launcher_ends_the_others() {
    let launched = old(tautline(&format!("{ENDLESS} 2 --workers 1")));
    let ranks = launched.computes(2);
    signal("-KILL", &ranks[1]);
    let output = launched.end();
    let errors = text(&output.stderr);
    assert!(errors.contains("rank 1: ended by signal 9"), "{errors}");

    // The system does not kill grandchildren with the launcher.
    let script = "$CLI uts T1WL --baseline none --workers 1; true";
    let line = format!("exec $CLI launch -n 2 -- sh -c '{script}'");
    let launched = old(shell(&line));
    let ranks = [0, 1].map(|rank| {
        let script = launched.rank(rank);
        let list = format!("/proc/{script}/task/{script}/children");
        let started = || fs::read_to_string(&list).unwrap_or_default();
        until("a rank does not start", || !started().is_empty());
        started().trim().to_owned()
    });
    ranks.iter().for_each(|rank| computes_on(rank));
    signal("-KILL", launched.id());
    ranks.iter().for_each(|rank| gone(rank));
}

#[test]
fn an_interrupt_is_passed_on() {
    let launched = old(tautline(&format!("{ENDLESS} 2 --workers 1")));
    launched.computes(2);
    signal("-INT", launched.id());
    let output = launched.end();
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stdout).contains("partial: interrupted"));
}
