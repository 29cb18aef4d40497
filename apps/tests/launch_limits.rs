//! Launches that the system has no room for, and launchers without what they usually have.
#![cfg(target_os = "linux")]

mod launched;
mod scratch;
mod started;

use launched::{Launched, text};
use scratch::Scratch;
use started::{prepared, tautline};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

/// The user whose processes are limited, as the superuser's are not: one that runs none.
const USER: u32 = 54_321;

/// Runs a line of the shell until none of its processes is left.
fn shell(line: &str) -> Output {
    Launched::of(started::shell(line)).end()
}

/// Checks that a launch was refused in one line that begins so.
fn is_refused(what: &str, output: &Output, begins: &str, contains: &str) {
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{what}: {errors}");
    assert_eq!(
        (text(&output.stdout), errors.lines().count()),
        ("", 1),
        "{what}: {errors}"
    );
    assert!(
        errors.starts_with(begins) && errors.contains(contains),
        "{what}: {errors}"
    );
}

#[test]
fn launches_without_room_are_refused_once() {
    let segment = "tautline: cannot create the shared segment: ";
    for (line, begins, contains) in [
        // In the unit of the shell, 512 or 1024 bytes; the segment has more than 256 KiB.
        (
            "ulimit -f 100; exec $CLI nqueens 4 --ranks 2",
            segment,
            ", see ulimit -f\n",
        ),
        (
            "ulimit -f 0; exec $CLI launch -n 2 -- true",
            segment,
            "files have at most 0, ",
        ),
        // The segment has 528 MB, the launcher 200.
        (
            "ulimit -v 200000; exec $CLI launch -n 64 -- true",
            segment,
            " bytes: Cannot allocate",
        ),
        (
            "ulimit -n 4; exec $CLI launch -n 2 -- true",
            segment,
            " bytes: Too many open files",
        ),
        (
            "ulimit -n 24; exec $CLI launch -n 16 -- sleep 1000",
            "tautline: cannot start rank ",
            " of 16: Too many open files (os error 24); ulimit -n is ",
        ),
    ] {
        is_refused(line, &shell(line), begins, contains);
    }
}

/// Every number of files is either enough, or refused in one line of the launcher.
#[test]
fn no_number_of_files_is_too_small_for_a_line() {
    for files in 4..32 {
        let line = format!("ulimit -n {files}; exec $CLI launch -n 4 -- true");
        let output = shell(&line);
        if !output.status.success() {
            is_refused(&line, &output, "tautline: cannot ", "Too many open files");
        }
    }
}

/// Returns the command for at most `processes` processes and threads; `None` if that cannot be set
/// up.
fn limited(processes: u32) -> Option<Command> {
    let program = env!("CARGO_BIN_EXE_tautline");
    let limited = || {
        let mut command = prepared(Command::new("prlimit"));
        command.args([&format!("--nproc={processes}"), program]);
        if is_superuser() {
            command.uid(USER).gid(USER);
        }
        command
    };
    let usable = limited().arg("--version").output();
    if !usable.is_ok_and(|output| output.status.success()) {
        println!("skipped: user {USER} cannot run {program}, or prlimit is not installed");
        return None;
    }
    Some(limited())
}

#[test]
fn more_ranks_than_processes_are_refused_once() {
    let Some(mut command) = limited(3) else {
        return;
    };
    command.args(["launch", "-n", "4", "--", "sleep", "1000"]);
    let output = Launched::of(command).end();
    let begins = "tautline: cannot start rank ";
    let contains = " of 4: Resource temporarily unavailable (os error 11); ulimit -u is ";
    is_refused("processes", &output, begins, contains);
}

/// Ranks for whose threads there is no room end with errors of one line.
#[test]
fn no_number_of_processes_leads_to_a_panic() {
    // All processes of a user count, and only another user has none yet.
    for processes in if is_superuser() { 2..13 } else { 0..0 } {
        let Some(mut command) = limited(processes) else {
            return;
        };
        command.args(["nqueens", "6", "--ranks", "2", "--workers", "2"]);
        let output = Launched::of(command).end();
        let errors = text(&output.stderr);
        let code = output.status.code();
        assert!(
            matches!(code, Some(0 | 2 | 4)) && !errors.contains("panicked"),
            "{processes} processes: {code:?}, {errors}"
        );
    }
}

fn is_superuser() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// A service has neither a terminal nor streams.
#[test]
fn launchers_need_no_streams() {
    let out = Scratch::new("out.json");
    let path = out.0.display();
    for line in [
        format!("exec $CLI nqueens 6 --ranks 2 --json > {path} <&- 2>&-"),
        format!("exec setsid $CLI nqueens 6 --ranks 2 --json > {path} < /dev/null 2>&-"),
    ] {
        let output = shell(&line);
        assert!(output.status.success(), "{line}");
        assert!(
            out.text().contains("\"solutions\": 4"),
            "{line}: {}",
            out.text()
        );
    }
    for (line, code) in [
        ("exec $CLI uts D6 --ranks 2 <&- >&- 2>&-", 0),
        ("exec setsid $CLI uts D6 --ranks 2 </dev/null >&- 2>&-", 0),
        ("exec $CLI launch -n 2 -- cat <&-", 0),
        (
            "exec $CLI launch -n 2 -- sh -c 'echo lost >&2; exit 3' <&- >&- 2>&-",
            3,
        ),
        ("exec $CLI launch -n 2 -- /no/such 2>&-", 2),
    ] {
        let output = shell(line);
        assert_eq!(output.status.code(), Some(code), "{line}: {output:?}");
        assert_eq!(
            (text(&output.stdout), text(&output.stderr)),
            ("", ""),
            "{line}"
        );
    }
}

/// Nothing is written to a file system.
#[test]
fn launchers_need_no_folder() {
    let mut command = tautline("nqueens 6 --ranks 2 --json --baseline none");
    command
        .env("TMPDIR", "/no/such")
        .env("XDG_RUNTIME_DIR", "/no/such");
    let output = Launched::of(command).end();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stderr), "");
}

/// The parent of the launcher may ignore the ends of children, and the launcher inherits that.
#[test]
fn ends_of_ranks_are_seen_by_a_launcher_that_ignored_them() {
    let ignoring = "exec env --ignore-signal=CHLD";
    if !shell(&format!("{ignoring} true")).status.success() {
        println!("skipped: env cannot ignore a signal");
        return;
    }
    for (program, code) in [("exit 3", 3), ("kill -9 $$", 137), ("exit 0", 0)] {
        let line = format!("{ignoring} $CLI launch -n 2 -- sh -c '{program}'");
        assert_eq!(shell(&line).status.code(), Some(code), "{line}");
    }
}
