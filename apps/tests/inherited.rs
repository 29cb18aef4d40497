//! Signals that the command was started to ignore, as by `nohup` and by shells without job control.
#![cfg(target_os = "linux")]

mod launched;
mod started;

use launched::{ENDLESS, Launched, computes_on, signal, text};
use started::{prepared, shell};
use std::process::Command;

/// The search, whose processes are found by the name of the program.
const NAME: &str = "tautline";

/// Returns a search that ignores `ignored`, as the shell that starts it does.
fn ignoring(ignored: &str, args: &str) -> Launched {
    Launched::of(shell(&format!("trap '' {ignored}; exec $CLI {args}")))
}

/// Interrupts a search by what is not ignored. It reports the part that it has done.
fn interrupt(launched: Launched, name: &str) {
    signal(name, launched.id());
    let output = launched.end();
    let (table, errors) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert!(table.contains("partial: interrupted"), "{table}");
}

#[test]
fn an_ignored_signal_does_not_end_a_search() {
    let all = ["HUP", "INT", "TERM"];
    for ignored in all {
        let search = ignoring(ignored, "uts T1WL --workers 1 --baseline none");
        let process = search.computing(NAME, 1).remove(0);
        signal(&format!("-{ignored}"), &process);
        computes_on(&process);
        computes_on(&process);
        let other = all.iter().find(|other| **other != ignored);
        interrupt(search, &format!("-{}", other.expect("there are three")));
    }
}

/// Neither by the launcher nor by its ranks, which inherit it.
#[test]
fn an_ignored_signal_does_not_end_a_launch() {
    for ignored in ["HUP", "INT"] {
        let search = ignoring(ignored, &format!("{ENDLESS} 2 --workers 1"));
        let ranks = search.computes(2);
        for process in [search.id(), &ranks[0], &ranks[1]] {
            signal(&format!("-{ignored}"), process);
        }
        for rank in ranks.iter().chain(&ranks) {
            computes_on(rank);
        }
        interrupt(search, "-TERM");
    }
}

/// The shell itself sets `SIGINT` to be ignored. The interrupt reaches the whole group, as that of
/// a terminal does.
#[test]
fn a_job_in_the_background_of_a_script_is_not_interrupted() {
    let mut script = shell("$CLI uts T1WL --workers 1 --baseline none & wait; wait");
    std::os::unix::process::CommandExt::process_group(&mut script, 0);
    let script = Launched::of(script);
    let process = script.computing(NAME, 1).remove(0);
    signal("-INT", &format!("-{}", script.id()));
    computes_on(&process);
    computes_on(&process);
    signal("-TERM", &process);
    let table = script.end().stdout;
    assert!(text(&table).contains("partial: interrupted"));
}

#[test]
fn a_search_survives_the_end_of_its_terminal_under_nohup() {
    let mut nohup = prepared(Command::new("nohup"));
    nohup.arg(env!("CARGO_BIN_EXE_tautline"));
    nohup.args("uts T1WL --workers 1 --baseline none".split(' '));
    let search = Launched::of(nohup);
    let process = search.computing(NAME, 1).remove(0);
    signal("-HUP", &process);
    computes_on(&process);
    computes_on(&process);
    interrupt(search, "-INT");
}
