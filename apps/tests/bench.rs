//! `tautline bench`, from outside.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

mod bench_command;
mod scratch;
use scratch::Scratch;

fn tautline(args: &[&str]) -> Output {
    command(args).output().expect("the command starts")
}

fn command(args: &[&str]) -> Command {
    bench_command::bench(args)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn bad_requests_get_one_line_and_exit_code_2() {
    for (args, names) in [
        (&[][..], ["a command is missing", "barrier"]),
        (&["barriers"], ["barriers", "barrier"]),
        (
            &["barrier", "--tasks", "2,1"],
            ["--tasks 2,1", "from 2 to 1024"],
        ),
        (
            &["barrier", "--tasks", "all"],
            ["--tasks all", "whole numbers"],
        ),
        (
            &["barrier", "--tasks", "0"],
            ["--tasks 0", "from 2 to 1024"],
        ),
        (&["barrier", "--degree", "1"], ["--degree 1", "from 2"]),
        (&["barrier", "--samples", "19"], ["--samples 19", "from 20"]),
        (
            &["barrier", "--iterations", "0"],
            ["--iterations 0", "from 1"],
        ),
        (&["barrier", "--delay", "-1"], ["--delay -1", "from 0"]),
        (
            &["barrier", "--deadline", "0"],
            ["--deadline 0", "from 0.001"],
        ),
        (
            &["barrier", "--processors", "cores("],
            ["--processors cores(", "at character"],
        ),
        (
            &["barrier", "--processors", "{99999}"],
            ["--processors {99999}", "allowed processor"],
        ),
        (
            &["barrier", "--program", "/no/such"],
            ["--program /no/such", "a program"],
        ),
    ] {
        let output = tautline(args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert_eq!(
            (said.lines().count(), text(&output.stdout)),
            (1, ""),
            "{said}"
        );
        for name in names {
            assert!(said.contains(name), "{args:?}: no {name:?} in {said}");
        }
    }
}

#[test]
fn help_has_examples() {
    let output = tautline(&["barrier", "--help"]);
    let help = text(&output.stdout);
    assert!(
        help.contains("EXAMPLES:\n  tautline bench barrier "),
        "{help}"
    );
    assert!(help.contains("[default: 10s]"), "{help}");
}

/// More tasks than any machine that runs tests has processors would take long; one processor has
/// too few for two.
const CROWDED: &[&str] = &[
    "barrier",
    "--iterations",
    "20",
    "--tasks",
    "2,3",
    "--degree",
    "2,2",
];

#[test]
fn tasks_that_take_turns_get_figures_but_no_verdict() {
    let first = tautline::Machine::discover().cpus()[0];
    let one = format!("{{{first}}}");
    let args = [CROWDED, &["--processors", &one, "--json"]].concat();
    let output = tautline(&args);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    let seen: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(seen["processors"], serde_json::json!([first]));
    assert_eq!(
        (&seen["samples"], &seen["round_trips"]),
        (&20.into(), &serde_json::json!([]))
    );
    for (comparison, tasks) in seen["barriers"].as_array().unwrap().iter().zip([2, 3]) {
        assert_eq!(
            (&comparison["tasks"], &comparison["verdict"]),
            (&tasks.into(), &Value::Null)
        );
        let why = format!("{tasks} tasks take turns on 1 processor");
        assert_eq!(comparison["doubts"], serde_json::json!([why]));
        let kinds = comparison["kinds"].as_array().unwrap();
        let names: Vec<_> = kinds
            .iter()
            .map(|kind| kind["kind"].as_str().unwrap())
            .collect();
        let expected = [
            "std::sync::Barrier",
            "central counter",
            "combining tree, degree 2",
            "flat phaser",
            "tiered phaser, degree 2",
            "phaser, degree 2",
        ];
        let rivals: &[&str] = match cfg!(feature = "rivals") {
            true => &["hurdles"],
            false => &[],
        };
        assert_eq!(names, [&expected, rivals].concat());
        for kind in kinds {
            let [least, median, most] =
                ["min_ns", "median_ns", "max_ns"].map(|key| kind[key].as_f64().unwrap());
            assert!(least <= median && median <= most && most > 0.0, "{kind}");
            assert_eq!(
                (&kind["iterations"], &kind["round_trips"]),
                (&20.into(), &Value::Null)
            );
        }
    }
    let table = tautline(&[CROWDED, &["--processors", &one]].concat());
    let table = text(&table.stdout);
    assert!(
        table.contains("no verdict: 3 tasks take turns on 1 processor\n"),
        "{table}"
    );
    assert!(!table.contains("fastest"), "{table}");
}

#[test]
#[cfg(unix)]
fn a_program_takes_part() {
    // It prints what it is called with, the number of episodes first.
    let one = format!("{{{}}}", tautline::Machine::discover().cpus()[0]);
    let args = "barrier --tasks 3 --iterations 73 --program /bin/echo --json --processors";
    let output = tautline(&args.split(' ').chain([&*one]).collect::<Vec<_>>());
    let seen: Value = serde_json::from_slice(&output.stdout).expect("one object");
    let program = seen["barriers"][0]["kinds"]
        .as_array()
        .unwrap()
        .last()
        .unwrap();
    assert_eq!(
        (&program["kind"], &program["median_ns"]),
        (&"echo".into(), &73.0.into())
    );
    assert_eq!(program["sd_ns"], 0.0);
}

/// Runs `work` while every processor has two threads that compute.
fn beside_load<R>(work: impl FnOnce() -> R) -> R {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 * tautline::Machine::discover().cpus().len() {
            scope.spawn(|| {
                // ORDERING: Relaxed: the threads exchange nothing.
                while !ended.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let result = work();
        // ORDERING: Relaxed: as above.
        ended.store(true, Ordering::Relaxed);
        result
    })
}

/// On a shared machine the time of samples depends on the other load, and they are repeated.
#[test]
fn a_busy_machine_is_measured_until_the_deadline() {
    let args = "barrier --tasks 2,3,64 --samples 100000 --iterations 100000000 --deadline 1";
    let args: Vec<&str> = args.split(' ').collect();
    let start = Instant::now();
    let output = beside_load(|| tautline(&args));
    let table = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    // A hundred samples, each of some minutes, would take hours. Threads that share processors with
    // others may take some seconds to notice that they are to end.
    assert!(start.elapsed() < Duration::from_secs(60), "{table}");
    assert!(table.ends_with("\npartial: deadline\n"), "{table}");
}

/// A program that prints 5.0 for two tasks, and for three opens `pipe`, and never ends.
#[cfg(target_os = "linux")]
fn endless(pipe: &Scratch) -> Scratch {
    let program = Scratch::new("endless.sh");
    let named = Command::new("mkfifo").arg(&pipe.0).status();
    assert!(named.expect("mkfifo is found").success());
    let pipe = pipe.0.display();
    let script = format!(
        "#!/bin/sh\n[ $2 = 2 ] && {{ echo 5.0; exit; }}\necho begun > '{pipe}'\nexec sleep 1000000\n"
    );
    std::fs::write(&program.0, script).expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program.0, mode).expect("its own file");
    program
}

/// A child that does not outlive the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a measurement of two tasks, which take turns on one processor, then of three, which never
/// ends; returns once that has begun.
#[cfg(target_os = "linux")]
fn started(pipe: &Scratch, program: &Scratch, rest: &[&str]) -> Running {
    let program = program.0.to_str().expect("a name of text");
    let one = format!("{{{}}}", tautline::Machine::discover().cpus()[0]);
    let args = "barrier --tasks 2,3 --iterations 20 --degree 2 --deadline 100000 --processors";
    let args: Vec<&str> = args
        .split(' ')
        .chain([&*one, "--program", program])
        .chain(rest.iter().copied())
        .collect();
    let mut command = command(&args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = Running(command.spawn().expect("the command starts"));
    // Opening waits for the writer.
    let begun = std::fs::read_to_string(&pipe.0).expect("the program writes");
    assert_eq!(begun, "begun\n");
    child
}

#[cfg(target_os = "linux")]
fn interrupt(child: &Running) {
    let id = child.0.id().to_string();
    let sent = Command::new("sh")
        .args(["-c", "kill $0 $1", "-INT", &id])
        .status();
    assert!(sent.expect("a shell").success());
}

#[test]
#[cfg(target_os = "linux")]
fn rows_are_printed_as_they_are_done_and_kept_at_an_interrupt() {
    let pipe = Scratch::new("rows.fifo");
    let program = endless(&pipe);
    let mut child = started(&pipe, &program, &[]);
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let mut line = || lines.next().expect("more lines").expect("text");
    while !line().starts_with("barrier of 2 tasks ") {}
    // All but the program's are of barriers here.
    while !line().contains("endless.sh") {}
    // The measurement of three tasks has begun and does not end.
    assert!(child.0.try_wait().expect("a child").is_none());
    interrupt(&child);
    let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
    assert_eq!(child.0.wait().expect("a child").code(), Some(130));
    let rest = rest.join("\n");
    assert!(rest.contains("barrier of 3 tasks "), "{rest}");
    assert!(rest.ends_with("\npartial: interrupted"), "{rest}");
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupt_keeps_what_was_measured_as_json() {
    let pipe = Scratch::new("json.fifo");
    let program = endless(&pipe);
    let mut child = started(&pipe, &program, &["--json"]);
    interrupt(&child);
    let mut printed = String::new();
    let mut out = child.0.stdout.take().unwrap();
    out.read_to_string(&mut printed).expect("text");
    assert_eq!(child.0.wait().expect("a child").code(), Some(130));
    let seen: Value = serde_json::from_str(&printed).expect("one object");
    assert_eq!(
        (&seen["complete"], &seen["stopped"]),
        (&false.into(), &"interrupted".into())
    );
    let two = seen["barriers"][0]["kinds"].as_array().unwrap();
    assert!(two.iter().all(|kind| kind["samples"] == 20), "{printed}");
    let last = two.last().unwrap();
    assert_eq!(
        (&last["median_ns"], last["sd_ns"].as_f64()),
        (&5.0.into(), Some(0.0))
    );
    // The program for three tasks has printed nothing.
    let three = seen["barriers"][1]["kinds"].as_array().unwrap();
    assert_eq!(three.last().unwrap()["samples"], 0);
}
