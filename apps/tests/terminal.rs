//! The display of a result: on a terminal of 80 columns, in a pipe, for one place and for several.

mod started;

use serde_json::Value;
use started::tautline;
use std::process::{Command, Output};

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Runs the command, and returns what it prints: the result, and the times of its workers.
fn printed(mut command: Command) -> [String; 2] {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("it starts");
    let printed = [text(&stdout), text(&stderr)];
    assert!(status.success(), "{command:?}: {}", printed[1]);
    printed
}

#[test]
fn no_line_is_wider_than_80_columns() {
    for args in [
        "uts D6",
        "uts T1 --workers 3 --explain",
        "uts D8 --places 16 --workers 1 --baseline none",
        "uts D9 --places 4 --workers 2 -w 0 --lifelines ring --steal 7 -n 31 --fairness yield",
        "uts T1WL --deadline 0.1 --places 2 --workers 2",
        "nqueens 9 --places 3",
        "pentomino 3x20 --workers 1 --show 1",
        "tsp --cities 12 --places 2",
        "bc --scale 7 --places 2",
        "synthetic --workers 2",
        "simulate uts D8 --places 64 --workers 1",
        "simulate nqueens 8 --places 4 --explain",
        "simulate uts D7 --machine jaguar --places 32",
        "simulate team --ranks 16,100000",
        "simulate team barrier,storm,phase --ranks 1,1024 --tasks 1",
        "loops exponential -n 64 -p 4",
        "loops climate --ranks -p 8",
        "topo --ranks 3",
        "bench barrier --tasks 2 --samples 20 --iterations 20",
    ] {
        let mut command = tautline(args);
        command.env("TAUTLINE_TIMES", "1");
        for text in printed(command) {
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{args}: {line}\nin\n{text}");
            }
        }
    }
}

/// The ranks of a process, and the times of their workers.
#[test]
fn no_line_of_ranks_is_wider_than_80_columns() {
    use tautline::prelude::*;
    use tautline::watch::Observe;
    let tables = tautline::world::loopback(3, |world| {
        let observe = Observe::new();
        let rt = Runtime::builder()
            .workers(2)
            .pinned(false)
            .observe(observe)
            .build()?;
        let balancer = rt.balancer().places(2).across(world);
        let run = balancer.sum(0..100_000_u64, |n, _| n)?;
        let places = tautline_cli::program::show::place::every(&run.places);
        let table = tautline_cli::program::show::place::table(&places);
        let times = rt.times().expect("it is observed").to_string();
        Ok::<_, tautline::Error>((run.places.len(), table, times))
    });
    for table in tables {
        let (places, table, times) = table.unwrap();
        assert_eq!(table.lines().count(), 2 + places + 1, "{table}");
        for line in table.lines().chain(times.lines()) {
            assert!(line.len() <= 80, "{line}\nin\n{table}{times}");
        }
    }
}

/// The rows below the head of the last table, by their words.
fn rows(table: &str) -> Vec<Vec<&str>> {
    let rows = table
        .lines()
        .skip_while(|line| !line.contains("share of time, %"));
    let rows = rows
        .take_while(|line| !line.starts_with("disturbed: "))
        .skip(1);
    rows.map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn one_place_has_a_row_for_each_worker() {
    let [table, _] = printed(tautline("uts D8 --workers 3 --baseline none"));
    let shown = rows(&table);
    let names: Vec<&str> = shown.iter().map(|row| row[0]).collect();
    assert_eq!(names, ["worker", "0", "1", "2", "all"], "{table}");
    // The root is counted, but no task.
    assert_eq!(shown[4][1..3].concat(), "257041", "{table}");
    for row in &shown[1..] {
        let shares = row[row.len() - 5..]
            .iter()
            .map(|share| share.parse::<f64>().unwrap());
        assert!((shares.sum::<f64>() - 100.0).abs() < 0.1, "{table}");
    }
}

#[test]
fn several_places_have_a_row_each() {
    let [table, _] = printed(tautline("uts D8 --places 3 --workers 2 --baseline none"));
    let names: Vec<&str> = rows(&table).iter().map(|row| row[0]).collect();
    assert_eq!(names, ["place", "0", "1", "2", "all"], "{table}");
}

#[test]
fn json_has_each_worker() {
    let [run, _] = printed(tautline(
        "uts D8 --places 2 --workers 2 --baseline none --json",
    ));
    let run: Value = serde_json::from_str(&run).expect("one JSON object");
    let workers = run["per_worker"].as_array().expect("a list");
    let seats = workers
        .iter()
        .map(|worker| (&worker["place"], &worker["worker"]));
    let expected = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(p, w)| (Value::from(p), Value::from(w)));
    assert!(seats.eq(expected.iter().map(|(p, w)| (p, w))), "{run}");
    let tasks = workers
        .iter()
        .map(|worker| worker["tasks"].as_u64().unwrap());
    assert_eq!(tasks.sum::<u64>(), 257_041);
    assert!(run["doubts"].is_array(), "{run}");
}

/// A verdict is coloured on a terminal only, whatever the environment requests.
#[test]
fn pipes_get_no_colours() {
    for args in [
        "uts D6 --baseline none",
        "nqueens 8",
        "simulate uts D6 --places 2",
    ] {
        let mut command = tautline(args);
        command
            .env("CLICOLOR_FORCE", "1")
            .env("TERM", "xterm-256color");
        let [table, talk] = printed(command);
        assert!(table.contains("   verified\n"), "{table}");
        assert!(!(table + &talk).contains('\x1b'), "{args}");
    }
}

/// Two runs that share a processor each get half of it, and report that.
#[test]
#[cfg(target_os = "linux")]
fn a_disturbed_run_says_so() {
    /// A child that does not outlive the test.
    struct Other(std::process::Child);

    impl Drop for Other {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    let cpu = tautline::Machine::discover().cpus()[0];
    let pinned = |seconds: u32| {
        let args = format!("--workers 1 --pin {{{cpu}}} --baseline none --deadline {seconds}");
        tautline(&format!("uts T1WL {args}"))
    };
    let mut other = pinned(120);
    let other = other.stdout(std::process::Stdio::null()).spawn();
    let _other = Other(other.expect("it starts"));
    let [table, _] = printed(pinned(2));
    let last = table.lines().last().unwrap_or_default();
    let start = "disturbed: threads had to wait for their processors for ";
    let percent = last
        .strip_prefix(start)
        .and_then(|rest| rest.split(' ').next());
    let percent: u32 = percent.unwrap_or_default().parse().unwrap_or_default();
    assert!((20..=99).contains(&percent), "{table}");
    let mut command = pinned(2);
    command.arg("--json");
    let [json, _] = printed(command);
    let json: Value = serde_json::from_str(&json).expect("one JSON object");
    let doubt = json["doubts"][0].as_str().unwrap_or_default();
    assert!(doubt.starts_with("threads had to wait "), "{json}");
}

/// On a terminal the verdict is green, unless colours are not wanted.
#[test]
#[cfg(target_os = "linux")]
fn a_terminal_gets_a_coloured_verdict() {
    let shown = |variable: Option<&str>| {
        let line = format!(
            "'{}' uts D6 --baseline none --quiet",
            env!("CARGO_BIN_EXE_tautline")
        );
        // Runs it on a terminal of its own, of the package util-linux.
        let mut command = Command::new("script");
        command.args(["-q", "-e", "-c", &line, "/dev/null"]);
        command.env("TERM", "xterm").env("TAUTLINE_WARN", "0");
        command.env_remove("NO_COLOR").env_remove("CLICOLOR");
        if let Some(name) = variable {
            command.env(name, "1");
        }
        let [shown, _] = printed(command);
        shown
    };
    let green = "   \x1b[32mverified\x1b[0m";
    assert!(shown(None).contains(green), "{}", shown(None));
    let plain = shown(Some("NO_COLOR"));
    assert!(plain.contains("   verified"), "{plain}");
    assert!(!plain.contains("\x1b[32m"), "{plain}");
}

/// A measurement of seconds shows how far it is, unless it is not to; a pipe gets the tables alone.
#[test]
#[cfg(target_os = "linux")]
fn a_terminal_gets_the_progress_of_a_benchmark() {
    const BARRIERS: &str = "bench barrier --tasks 2 --degree 2 --deadline 2s";
    let shown = |rest: &str| {
        let line = format!("'{}' {BARRIERS}{rest}", env!("CARGO_BIN_EXE_tautline"));
        let mut command = Command::new("script");
        command.args(["-q", "-e", "-c", &line, "/dev/null"]);
        command.env("TERM", "xterm").env("TAUTLINE_WARN", "0");
        let [shown, _] = printed(command);
        shown
    };
    let progress = "barriers of 2 tasks, ";
    assert!(shown("").contains(progress), "{}", shown(""));
    assert!(!shown(" --quiet").contains(progress));
    let [tables, rest] = printed(tautline(BARRIERS));
    assert!(tables.contains("barrier of 2 tasks") && rest.is_empty());
}
