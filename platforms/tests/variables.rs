//! Variables of a program that was made with the library, from outside: it starts itself.
#![cfg(unix)]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use tautline::prelude::*;
use tautline::runtime::Builder;
use tautline::{Machine, variables};

/// The program, if this process is to be it: two runtimes, and one that reads no variable.
#[test]
fn program() {
    if std::env::var_os("ROLE").is_none() {
        return;
    }
    let machine = Machine::read("/nowhere".as_ref(), &[0]);
    Builder::on(machine)
        .pinned(false)
        .build()
        .expect("a runtime");
    eprintln!("none of the environment before");
    for _ in 0..2 {
        match Runtime::new() {
            Ok(rt) => eprintln!("{} workers", rt.workers()),
            Err(error) => eprintln!("refused: {error}"),
        }
    }
}

/// Returns the output of the program with these variables, without that of its test harness.
fn printed(set: &[(&str, &[u8])]) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "program", "--nocapture", "--test-threads=1"]);
    command.env("ROLE", "program");
    for name in variables::ALL {
        command.env_remove(name);
    }
    command.env("TAUTLINE_NO_PIN", "1").env_remove("OMP_PLACES");
    let set = set
        .iter()
        .map(|(name, value)| (*name, OsStr::from_bytes(value)));
    let output = command.envs(set).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stderr).expect("text");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_mistyped_name_is_reported_once() {
    let lines = printed(&[
        ("TAUTLINE_WORKRS", b"2"),
        ("TAUTLINE_WORKERS", b"1"),
        ("TAUTLINE_X", b" "),
    ]);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!(lines[0], "none of the environment before");
    let begins =
        "tautline: TAUTLINE_WORKRS: unknown and ignored; the variables are TAUTLINE_PLACES ";
    assert!(lines[1].starts_with(begins), "{lines:?}");
    assert!(variables::ALL.iter().all(|name| lines[1].contains(name)));
    assert!(
        lines[1].ends_with("; TAUTLINE_WARN=0 silences this"),
        "{lines:?}"
    );
    assert_eq!(lines[2..], ["1 workers", "1 workers"]);
}

#[test]
fn a_mistyped_name_is_not_reported_in_vain() {
    for (name, value) in [
        ("TAUTLINE_WARN", "0"),
        ("TAUTLINE_WARN", " 0\r"),
        ("TAUTLINE_RANK", "0"),
        ("TAUTLINE_RANK", "1"),
        ("PMIX_RANK", "1"),
    ] {
        let set = [
            ("TAUTLINE_WORKRS", &b"2"[..]),
            (name, value.as_bytes()),
            ("TAUTLINE_WORKERS", b"1"),
        ];
        let lines = printed(&set);
        assert_eq!(lines[1..], ["1 workers", "1 workers"], "{name}");
    }
}

#[test]
fn values_are_read_without_blanks_and_refused_by_name() {
    let workers = |value| printed(&[("TAUTLINE_WORKERS", value), ("TAUTLINE_WARN", b"0")]);
    for value in [&b"2 "[..], b"\t2", b"2\r", b" 2\r\n"] {
        assert_eq!(workers(value)[1], "2 workers");
    }
    for (name, value, shown) in [
        ("TAUTLINE_WORKERS", &b"\xff"[..], r#""\xff""#),
        ("TAUTLINE_LIFE", b"life\xff.html", r#""life\xff.html""#),
        ("TAUTLINE_STALLED", b"\xc3\xa9\xe9", r#""\xc3\xa9\xe9""#),
    ] {
        let line = format!("refused: {name} {shown}: not Unicode, expected UTF-8");
        assert_eq!(printed(&[(name, value)])[1], line);
    }
}
