//! The suite of `tautline bench`: each mechanism, all of them, and machines that permit no verdict.

use serde_json::Value;
use std::process::{Command, Output};

mod bench_command;
#[cfg(target_os = "linux")]
#[path = "../../platforms/tests/refusing/mod.rs"]
mod refusing;
mod scratch;
use scratch::Scratch;

fn bench(args: &str) -> Command {
    bench_command::bench(&args.split(' ').collect::<Vec<_>>())
}

fn run(args: &str) -> Output {
    bench(args).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

fn document(output: &Output) -> Value {
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    serde_json::from_slice(&output.stdout).expect("one object")
}

/// Returns the names of the figures of a benchmark.
fn names<'a>(document: &'a Value, bench: &str) -> Vec<&'a str> {
    let figures = document["figures"].as_array().expect("figures").iter();
    let figures = figures.filter(|figure| figure["bench"] == bench);
    let name = |figure: &'a Value| figure["figure"].as_str().expect("a name");
    figures.map(name).collect()
}

fn doubts(document: &Value) -> Vec<&str> {
    let figures = document["figures"].as_array().expect("figures").iter();
    let doubts = figures.flat_map(|figure| figure["doubts"].as_array().expect("an array"));
    doubts
        .map(|doubt| doubt.as_str().expect("a sentence"))
        .collect()
}

/// The processors of this machine, one after the other.
fn cpus() -> Vec<usize> {
    tautline::Machine::discover().cpus()
}

/// The figures of other libraries that a build with them has.
fn rivals(name: &str) -> &'static [&'static str] {
    match name {
        _ if !cfg!(feature = "rivals") => &[],
        "steal" => &["crossbeam-deque", "crossbeam-deque, empty", "st3"],
        "fork" => &["rayon", "rayon, stolen"],
        "spawn" => &["rayon, one worker", "rayon, all workers"],
        _ => &[],
    }
}

#[test]
fn each_mechanism_has_its_figures_with_all_samples() {
    let ranks = |names: [&str; 2]| -> Vec<String> {
        let ranks = match cfg!(target_os = "linux") {
            true => &["threads", "processes"][..],
            false => &["threads"],
        };
        let each = |ranks: &&str| names.map(|name| format!("{ranks}, {name}"));
        ranks.iter().flat_map(each).collect()
    };
    let messages = ranks(["8 bytes", "1 MiB"]);
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    let collectives = ranks(["barrier", "all-reduce of 8 bytes"]);
    let collectives: Vec<&str> = collectives.iter().map(String::as_str).collect();
    let cells = [
        "put and get, two workers",
        "task that waits, one worker",
        "channel of std",
    ];
    for (name, expected) in [
        ("clock", &["a reading", "the smallest step"][..]),
        (
            "steal",
            &[
                "deque",
                "deque, empty",
                "mutex of std",
                "mutex of std, empty",
            ],
        ),
        (
            "fork",
            &["fork and join", "fork and join, stolen", "thread of std"],
        ),
        ("spawn", &["task, one worker", "task, all workers"]),
        ("wake", &["parked worker", "park of std"]),
        ("cell", &cells),
        ("message", &messages),
        ("collective", &collectives),
        ("grain", &["forked tasks", "spawned tasks"]),
    ] {
        let expected = [expected, rivals(name)].concat();
        let found = document(&run(&format!("{name} --samples 8 --deadline 20 --json")));
        assert_eq!(names(&found, name), expected, "{found}");
        for figure in found["figures"].as_array().expect("figures") {
            let samples = figure["samples_ns"].as_array().expect("samples");
            let count = samples.len();
            // On a machine that others use, the deadline may come first.
            assert!(count == 8 || found["complete"] == false, "{found}");
            let mut samples = samples.iter().map(|one| one.as_f64().expect("a number"));
            assert!(samples.all(|ns| ns > 0.0), "{figure}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn ranks_of_a_launcher_are_measured_and_one_of_them_reports() {
    let launched = |ranks: u32, args: &str| {
        let own = env!("CARGO_BIN_EXE_tautline");
        let mut command = bench_command::tautline();
        command.args(["launch", "-n", &ranks.to_string(), "--", own, "bench"]);
        let output = command.args(args.split(' ')).output();
        output.expect("the command starts")
    };
    for (bench, expected) in [
        ("message", ["ranks, 8 bytes", "ranks, 1 MiB"]),
        (
            "collective",
            ["ranks, barrier", "ranks, all-reduce of 8 bytes"],
        ),
    ] {
        let args = format!("{bench} --samples 8 --deadline 20 --json");
        let found = document(&launched(2, &args));
        assert_eq!(names(&found, bench), expected, "{found}");
        for figure in found["figures"].as_array().expect("figures") {
            assert!(figure["min_ns"].as_f64() > Some(0.0), "{figure}");
        }
    }
    let output = launched(3, "message");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("3 ranks: expected 2"), "{said}");
}

#[test]
fn the_matrix_has_each_pair_of_processors() {
    let found = document(&run("line --samples 8 --deadline 20 --json"));
    let count = cpus().len();
    let pairs = found["pairs"].as_array().expect("pairs");
    assert_eq!(pairs.len(), count * (count - 1) / 2);
    let table = run("line --samples 8 --deadline 5 --processors {0}");
    if cpus()[0] == 0 {
        let table = text(&table.stdout);
        assert!(table.contains("none: there is one processor"), "{table}");
    }
    for (home, why) in [("99", "expected a memory node"), ("all", "invalid")] {
        let output = run(&format!("line --home {home}"));
        let said = text(&output.stderr);
        assert_eq!(
            (output.status.code(), said.lines().count()),
            (Some(2), 1),
            "{said}"
        );
        assert!(said.contains(&format!("--home {home}: ")), "{said}");
        let unknown = said.contains("no known memory node");
        assert!(said.contains(why) || unknown || home == "all", "{said}");
    }
    let node = tautline::Machine::discover()
        .nodes()
        .first()
        .map(|node| node.id);
    if let Some(node) = node {
        let found = document(&run(&format!(
            "line --home {node} --samples 8 --deadline 20 --json"
        )));
        assert_eq!(found["pairs"].as_array().map(Vec::len), Some(pairs.len()));
    }
}

#[test]
fn one_processor_gets_figures_but_no_verdict() {
    let one = format!("{{{}}}", cpus()[0]);
    let found = document(&run(&format!(
        "steal --samples 8 --deadline 20 --json --processors {one}"
    )));
    let doubts = doubts(&found);
    let crowded = "2 tasks take turns on 1 processor";
    // On a busy machine each may be cut, too.
    let (crowded, others): (Vec<_>, Vec<_>) = doubts.into_iter().partition(|it| *it == crowded);
    assert_eq!(crowded.len(), 4 + rivals("steal").len(), "{found}");
    let is_cut = |doubt: &&str| doubt.starts_with("the measurement ended");
    assert!(others.iter().all(is_cut), "{others:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_system_that_refuses_pins_and_fences_gets_figures_and_the_reason() {
    use refusing::{Refused, refusing};
    let mut command = bench("clock --samples 8 --deadline 20 --json");
    refusing(&mut command, Refused::Missing(libc::SYS_sched_setaffinity));
    let found = document(&command.output().expect("the command starts"));
    let reason = "threads could not be kept on their processors";
    assert!(doubts(&found).contains(&reason), "{found}");

    let mut command = bench("fence --samples 8 --deadline 20 --json");
    refusing(&mut command, Refused::Missing(libc::SYS_membarrier));
    let found = document(&command.output().expect("the command starts"));
    let names = names(&found, "fence");
    assert!(
        names.contains(&"full, as membarrier is refused"),
        "{names:?}"
    );
    let found = document(&run("fence --samples 8 --deadline 20 --json"));
    assert_eq!(found["figures"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_suite_ends_in_time_and_keeps_what_it_has() {
    let page = Scratch::new("suite.html");
    let path = page.0.to_str().expect("a name of text");
    let output = run(&format!("all --quick --deadline 1 --json --html {path}"));
    let found = document(&output);
    assert_eq!(found["stopped"], "deadline");
    let doubts = doubts(&found);
    assert!(
        doubts.iter().any(|doubt| doubt.contains("ended after")),
        "{doubts:?}"
    );
    let before = Scratch::new("suite.json");
    std::fs::write(&before.0, &output.stdout).expect("a file");
    assert!(page.text().contains("</table>"));
    // What was cut off gets no verdict.
    let path = before.0.to_str().expect("a name of text");
    let again = run(&format!("show {path} --against {path}"));
    let table = text(&again.stdout);
    assert_eq!(again.status.code(), Some(0), "{table}");
    assert!(table.contains("no verdict on "), "{table}");
    assert!(
        table.replace('\n', " ").contains(" 0 worse, 0 better"),
        "{table}"
    );
}

#[test]
fn bad_requests_get_one_line_and_exit_code_2() {
    for (args, names) in [
        ("all --samples 7", ["--samples 7", "from 8"]),
        ("steal --deadline 0", ["--deadline 0", "from 0.001"]),
        (
            "fork --processors {99999}",
            ["--processors {99999}", "allowed processor"],
        ),
        (
            "wake --html /no/such/page.html",
            ["--html /no/such/page.html", "can be written"],
        ),
        (
            "all --machine-file /no/such/here.toml",
            ["--machine-file /no/such/here.toml", "can be written"],
        ),
        (
            "clock --against /no/such.json",
            ["--against /no/such.json", "expected"],
        ),
        ("steal --home 0", ["--home", "unknown"]),
    ] {
        let output = run(args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args}: {said}");
        assert_eq!(
            (said.lines().count(), text(&output.stdout)),
            (1, ""),
            "{said}"
        );
        for name in names {
            assert!(said.contains(name), "{args}: no {name:?} in {said}");
        }
    }
}
