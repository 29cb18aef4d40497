//! Streams and files that are closed, full, no files, or empty.

#![cfg(unix)]

mod scratch;

use scratch::Scratch;
use std::process::{Command, Output};

/// Runs a line of the shell in which `tautline` is the command.
fn shell(line: &str) -> Output {
    let mut shell = Command::new("sh");
    let line = format!("tautline() {{ {} \"$@\"; }}; {line}", command());
    shell.args(["-c", &line]).env("TAUTLINE_WARN", "0");
    shell.output().expect("a shell")
}

fn command() -> String {
    format!("'{}'", env!("CARGO_BIN_EXE_tautline"))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// A reader that does not read on, and streams that are closed, are no failure, and nothing is
/// reported.
#[test]
fn closed_streams_are_no_failure() {
    for line in [
        "tautline uts D6 --json >&-",
        "tautline uts D6 --json <&- >/dev/null",
        "tautline uts D6 2>&- >/dev/null",
        "{ tautline uts D6; echo $? >&2; } 2>&1 >/dev/null | grep -qx 0",
        "{ tautline nqueens 8 --show 92; test $? = 0 || echo failed >&2; } | true",
        "{ tautline completions zsh; test $? = 0 || echo failed >&2; } | head -n 1 >/dev/null",
        "{ tautline --help; test $? = 0 || echo failed >&2; } | true",
    ] {
        let output = shell(line);
        assert!(output.status.success(), "{line}");
        assert_eq!(
            (text(&output.stdout), text(&output.stderr)),
            ("", ""),
            "{line}"
        );
    }
}

/// A failed write is reported in one line, and the exit code is that of a missing result, not of a
/// wrong one.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_stated() {
    for args in [
        "uts D6",
        "uts D6 --json",
        "nqueens 8 --show 92",
        "topo",
        "simulate uts D6 --places 4",
        "simulate team barrier",
        "loops exponential -n 64 -p 4",
        "completions bash",
        "man",
        "--help",
        "--version",
        "uts --help",
    ] {
        let output = shell(&format!("tautline {args} > /dev/full"));
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{args}: {line}");
        assert_eq!(line.lines().count(), 1, "{args}: {line}");
        assert!(
            line.starts_with("tautline: cannot write the result: "),
            "{args}: {line}"
        );
    }
    // An error line that cannot be written is lost; the exit code is not.
    for (args, code) in [("uts T9", 2), ("uts D6", 0)] {
        let output = shell(&format!("tautline {args} 2> /dev/full > /dev/null"));
        assert_eq!(output.status.code(), Some(code), "{args}");
    }
}

/// A path that is no file, or cannot be written, is refused in one line before the run begins.
#[test]
fn paths_without_a_usable_file_are_refused() {
    let folder = std::env::temp_dir();
    let folder = folder.to_str().expect("text");
    let empty = Scratch::new("empty.tsp");
    std::fs::write(&empty.0, "").unwrap();
    let empty = empty.0.to_str().expect("text");
    let mut refused = vec![
        (format!("tsp {folder}"), folder),
        (format!("bc {folder}"), folder),
        (format!("uts D6 --life {folder}"), "--life"),
        (format!("uts D6 --trace {folder}"), "--trace"),
        (format!("bc --scale 5 --output {folder}"), "--output"),
        ("tsp /nowhere/x.tsp".to_owned(), "/nowhere/x.tsp"),
        ("bc /nowhere/x.mtx".to_owned(), "/nowhere/x.mtx"),
        (format!("tsp {empty}"), ".tsp:1:1: expected DIMENSION first"),
    ];
    if cfg!(target_os = "linux") {
        // Not even the superuser may write there.
        refused.push((
            "uts D6 --life /proc/x.html".to_owned(),
            "--life /proc/x.html",
        ));
    }
    for (args, named) in refused {
        let output = shell(&format!("tautline {args}"));
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args}: {line}");
        assert_eq!(
            (text(&output.stdout), line.lines().count()),
            ("", 1),
            "{args}: {line}"
        );
        assert!(
            line.starts_with("tautline: ") && line.contains(named),
            "{args}: {line}"
        );
    }
}

/// Problems without anything to do have right answers, and no ratio of nothing to nothing.
#[test]
fn empty_problems_are_solved() {
    let empty = Scratch::new("empty.edges");
    std::fs::write(&empty.0, "").unwrap();
    let graph = format!("bc {}", empty.0.display());
    for (args, answer) in [
        (
            "tsp --cities 0",
            "optimum           0   as by dynamic programming",
        ),
        ("nqueens 0", "solutions         1   verified"),
        (&graph, "0 vertices, 0 edges"),
    ] {
        let output = shell(&format!("tautline {args}"));
        let table = text(&output.stdout);
        assert!(output.status.success(), "{args}: {}", text(&output.stderr));
        assert!(
            table.contains(answer) && !table.contains("NaN"),
            "{args}: {table}"
        );
    }
}

/// Lines of files may end as they do on Windows.
#[test]
fn files_may_have_carriage_returns() {
    let (sample, other) = (
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tsplib/burma14.tsp"),
        Scratch::new("crlf.tsp"),
    );
    let lines = std::fs::read_to_string(sample)
        .unwrap()
        .replace('\n', "\r\n");
    std::fs::write(&other.0, lines).unwrap();
    assert!(other.text().contains("EOF\r\n"));
    let output = shell(&format!(
        "tautline tsp {} --baseline none",
        other.0.display()
    ));
    assert!(
        text(&output.stdout).contains("3 323   verified"),
        "{}",
        text(&output.stderr)
    );
}

/// A reader of all ranks' output that has enough is no failure; an output that cannot be written is
/// one.
#[cfg(target_os = "linux")]
#[test]
fn the_output_of_all_ranks_may_be_closed_or_full() {
    const LAUNCH: &str = "tautline launch -n 3 --output all --";
    let output = shell(&format!(
        "{LAUNCH} sh -c 'while echo y; do :; done' | head -n 2"
    ));
    let lines: Vec<_> = text(&output.stdout).lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines.iter().all(|line| line.ends_with(": y")), "{lines:?}");
    assert_eq!(text(&output.stderr), "");
    let output = shell(&format!("{LAUNCH} echo y > /dev/full"));
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(
        errors.starts_with("tautline: cannot write the output of the ranks: "),
        "{errors}"
    );
}
