//! The command, from outside: what it prints, where, and how it ends.

mod scratch;
mod started;

use scratch::Scratch;
use serde_json::Value;
use started::tautline;
use std::io::Read;
use std::process::{Child, Command, Output, Stdio};

fn run(args: &str) -> Output {
    tautline(args).output().expect("the command starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("stdout is text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("stderr is text")
}

/// Runs a command that must succeed without diagnostics and print one object.
fn json(args: &str) -> Value {
    let output = run(args);
    assert!(output.status.success(), "{args}: {}", stderr(&output));
    assert_eq!(stderr(&output), "", "{args}");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

#[test]
fn bad_requests_get_one_line_and_exit_code_2() {
    // The request, and what the line must name: option and value, and what is allowed.
    for (args, names) in [
        ("", ["command", "uts"]),
        ("ust", ["ust", "uts"]),
        ("uts T9", ["T9", "T3XXL"]),
        (
            "uts T1 T2",
            ["T2", "one argument too many; see tautline uts --help"],
        ),
        (
            "simulate uts D6 --plot x.svg",
            ["--vary: missing", "see tautline simulate uts --help"],
        ),
        ("simulate bc --directed", ["FILE", "missing"]),
        ("uts -t 4", ["-t 4", "3 (balanced)"]),
        ("uts -a 7", ["-a 7", "3 (fixed)"]),
        ("uts -t 0 -q 0.5 -m 2", ["-q 0.5 -m 2", "below 1"]),
        ("uts -t 0 -q 1.5", ["-q 1.5", "from 0 to 1"]),
        ("uts -t 0 -m 101", ["-m 101", "from 1 to 100"]),
        ("uts -d -5", ["-d -5", "not negative"]),
        ("uts -d 99999999", ["-d 99999999", "1000000"]),
        ("uts -d 99999999999", ["-d 99999999999", "at most 1000000"]),
        ("uts -r 2147483648", ["-r 2147483648", "at most 2147483647"]),
        ("uts -r 4294967296", ["-r 4294967296", "at most 2147483647"]),
        ("uts -g 1048577", ["-g 1048577", "1048576"]),
        (
            "uts -g 99999 -n 511",
            ["--grain 511 -g 99999", "at most 167"],
        ),
        ("uts -q nan", ["-q nan", "a number"]),
        ("uts -b 1e400", ["-b 1e400", "a number"]),
        ("uts -b many", ["-b many", "a number"]),
        ("uts -b -4", ["-b -4", "from"]),
        ("uts -g 0", ["-g 0", "from 1"]),
        ("uts -t 2 -f 2", ["-f 2", "from 0 to 1"]),
        ("uts T3 --count-last-level", ["-t 0", "last level"]),
        ("uts --places 0", ["--places 0", "from 1 to 4096"]),
        ("uts --places 4097", ["--places 4097", "from 1 to 4096"]),
        ("uts --places many", ["--places many", "a whole number"]),
        ("uts --workers 0", ["--workers 0", "from 1 to 64"]),
        ("uts --workers 65", ["--workers 65", "from 1 to 64"]),
        ("uts --places 100 --workers 64", ["--workers 64", "4096"]),
        ("uts --places 99999999999", ["--places", "at most 4096"]),
        ("uts -n 1048577", ["--grain 1048577", "from 1 to 1048576"]),
        ("uts --grain 0", ["--grain 0", "from 1"]),
        ("uts -n -1", ["--grain -1", "a number from 1"]),
        ("uts -w x", ["--random-steals x", "a whole number"]),
        ("uts --steal 0", ["--steal 0", "from 1"]),
        ("uts --steal all", ["--steal all", "half"]),
        (
            "uts --lifelines hypercube:1",
            ["--lifelines hypercube:1", "from 2"],
        ),
        ("uts --lifelines star", ["--lifelines star", "ring, full"]),
        (
            "uts --fairness maybe",
            ["--fairness maybe", "one-core-free"],
        ),
        (
            "uts --workers 1 --fairness one-core-free",
            ["--fairness one-core-free", "2 workers"],
        ),
        ("uts --seed -1", ["--seed -1", "not negative"]),
        ("uts --deadline 0", ["--deadline 0", "from 0.001"]),
        ("uts --deadline -1", ["--deadline -1", "from 0.001"]),
        ("uts --deadline nan", ["--deadline nan", "seconds"]),
        ("uts --deadline soon", ["--deadline soon", "seconds"]),
        ("uts --deadline 1e300", ["--deadline 1e300", "to 100000000"]),
        (
            "uts --baseline big",
            ["--baseline big", "smaller, same, none"],
        ),
        (
            "uts --life /nowhere/x.html",
            ["--life /nowhere/x.html", "written"],
        ),
        ("uts --trace /", ["--trace /", "written"]),
        ("uts --life x --trace x", ["--trace x", "--life"]),
        ("uts --places", ["--places", "a value"]),
        ("uts --placs 3", ["--placs", "--places"]),
        ("uts --json --json", ["--json", "more than once"]),
        ("uts --json=1", ["--json 1", "expected no value"]),
        ("topo --xml", ["--xml", "unknown"]),
    ] {
        let output = run(args);
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args}: {line}");
        assert_eq!(stdout(&output), "", "{args}");
        assert_eq!(line.lines().count(), 1, "{args}: {line}");
        assert!(line.starts_with("tautline: "), "{args}: {line}");
        for name in names {
            assert!(line.contains(name), "{args}: no {name} in {line}");
        }
    }
}

#[test]
#[cfg(unix)]
fn arguments_that_are_no_text_are_refused_in_one_line() {
    use std::os::unix::ffi::OsStrExt;
    let garbled = std::ffi::OsStr::from_bytes(b"\xff");
    for args in ["", "simulate", "uts", "uts --places", "uts -q", "topo"] {
        let output = tautline(args).arg(garbled).output().unwrap();
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args}: {line}");
        assert_eq!(line.lines().count(), 1, "{args}: {line}");
        assert_eq!(stdout(&output), "", "{args}");
    }
    let output = tautline("uts").arg(garbled).output().unwrap();
    let line = "tautline: \"\\xff\": not Unicode, expected UTF-8\n";
    assert_eq!(stderr(&output), line);
    let output = tautline("uts D7")
        .env("TAUTLINE_GRAIN", garbled)
        .output()
        .unwrap();
    let line = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
}

#[test]
fn help_and_version_are_results() {
    for (args, text) in [
        ("--help", "EXAMPLES"),
        ("uts --help", "EXAMPLES"),
        ("uts -h", "--count-last-level"),
        ("topo --help", "--json"),
        ("--version", "SHA-1: "),
    ] {
        let output = run(args);
        assert!(output.status.success(), "{args}");
        assert!(stdout(&output).contains(text), "{args}");
        assert_eq!(stderr(&output), "", "{args}");
    }
}

#[test]
fn t1_is_verified_in_a_table() {
    let output = run("uts T1 --baseline none");
    let table = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(table.contains("4 130 071   verified"), "{table}");
    assert!(table.contains("every node hashed"), "{table}");
    assert!(!table.contains('\x1b'), "colours off a terminal: {table}");
}

#[test]
fn json_has_every_key() {
    let run = json("uts D8 --places 2 --workers 1 --json");
    for key in [
        "nodes",
        "leaves",
        "max_depth",
        "expected_nodes",
        "verified",
        "complete",
        "seconds",
        "nodes_per_s",
        "sequential_nodes_per_s",
        "efficiency",
        "places",
        "workers",
        "config",
        "per_place",
        "rule",
        "tree",
        "tasks_per_s",
        "sequential_tasks_per_s",
    ] {
        assert!(!run[key].is_null(), "no {key} in {run}");
    }
    assert_eq!(run["nodes"], 257_042);
    // The root is counted, but no task.
    assert_eq!(run["tasks"], 257_041);
    assert_eq!(run["application"], "uts");
    assert_eq!(run["sequential_problem"], run["sequential_tree"]);
    assert_eq!(run.get("stopped"), Some(&Value::Null));
    assert_eq!(
        (&run["verified"], &run["complete"]),
        (&true.into(), &true.into())
    );
    assert_eq!(run["per_place"].as_array().map(Vec::len), Some(2));
    assert_eq!(run["config"]["lifelines"], "hypercube:2");
}

#[test]
fn every_setting_reaches_the_run() {
    let run = json(
        "uts D7 --places 3 --workers 2 -w 0 --lifelines ring --steal 7 -n 31 --fairness yield \
         --seed 9 --no-pin --baseline none --json",
    );
    assert_eq!((&run["places"], &run["workers"]), (&3.into(), &2.into()));
    let config = &run["config"];
    for (key, value) in [
        ("lifelines", Value::from("ring")),
        ("steal", "7".into()),
        ("fairness", "yield".into()),
        ("random_steals", 0.into()),
        ("grain", 31.into()),
        ("seed", 9.into()),
        ("pinned", false.into()),
    ] {
        assert_eq!(config[key], value, "{key}");
    }
    assert_eq!(run["verified"], true);
}

#[test]
fn flags_spell_a_known_tree() {
    let run = json("uts -t 1 -a 3 -d 8 -b 4 -r 19 --baseline none --json");
    assert_eq!(
        (&run["tree"]["name"], &run["verified"]),
        (&"D8".into(), &true.into())
    );
    let run = json("uts D8 -r 20 --baseline none --json");
    assert!(run["expected_nodes"].is_null() && run["verified"].is_null());
}

#[test]
fn the_rule_is_named() {
    let run = json("uts D8 --count-last-level --baseline same --json");
    assert_eq!(run["rule"], "last level counted, not hashed");
    assert_eq!(
        (&run["verified"], &run["sequential_tree"]),
        (&true.into(), &"D8".into())
    );
}

#[test]
fn variables_set_what_options_do_not() {
    let mut command = tautline("uts D7 --workers 2 --baseline none --json");
    let output = command
        .envs([
            ("TAUTLINE_PLACES", "2"),
            ("TAUTLINE_WORKERS", "5"),
            ("TAUTLINE_PLACSE", "3"),
            ("TAUTLINE_WARN", "1"),
        ])
        .output()
        .unwrap();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&run["places"], &run["workers"]), (&2.into(), &2.into()));
    let warning = stderr(&output);
    let unknown = warning.lines().filter(|line| line.contains("unknown"));
    assert_eq!(unknown.count(), 1, "{warning}");
    assert!(warning.contains("TAUTLINE_PLACSE: unknown"), "{warning}");
}

#[test]
fn a_refused_value_names_its_variable() {
    let refused = [
        ("uts D7", "GRAIN", "none", "--grain none: "),
        (
            "uts D10",
            "WORKERS",
            "0",
            "--workers 0: expected a number from 1 to ",
        ),
        ("nqueens 12", "PLACES", "2x", "--places 2x: "),
    ];
    for (args, variable, value, start) in refused {
        let variable = format!("TAUTLINE_{variable}");
        let output = tautline(args).env(&variable, value).output().unwrap();
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(line.starts_with(&format!("tautline: {start}")), "{line}");
        assert!(line.ends_with(&format!(" (from {variable})\n")), "{line}");
    }
    let line = stderr(&run("uts D10 --workers 0"));
    assert!(!line.contains("(from "), "{line}");
}

#[test]
fn the_life_story_needs_no_network() {
    let life = Scratch::new("life.html");
    let output = tautline("uts D8 --places 2 --workers 2 --baseline none --life")
        .arg(&life.0)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let page = life.text();
    assert!(!page.contains("http"));
    assert!(page.contains("UTS D8") && page.contains("hypercube:2"));
}

#[test]
fn a_refused_run_leaves_files_as_they_were() {
    let (old, new) = (Scratch::new("old.html"), Scratch::new("new.json"));
    std::fs::write(&old.0, "what was there").unwrap();
    for args in [
        ["--life", "OLD", "--trace", "/nowhere/x"],
        ["--life", "/nowhere/x", "--trace", "OLD"],
        ["--life", "NEW", "--trace", "/nowhere/x"],
    ] {
        let mut command = tautline("uts D7");
        for arg in args {
            match arg {
                "OLD" => command.arg(&old.0),
                "NEW" => command.arg(&new.0),
                other => command.arg(other),
            };
        }
        assert_eq!(command.output().unwrap().status.code(), Some(2), "{args:?}");
        assert_eq!(old.text(), "what was there", "{args:?}");
        assert!(!new.0.exists(), "{args:?}");
    }
    let output = tautline("uts D7 --life").arg(&old.0).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!old.text().contains("what was there"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_story_that_cannot_be_written_costs_no_result() {
    for command in ["uts D8 --baseline none", "simulate uts D8"] {
        let trace = Scratch::new("beside.json");
        let output = tautline(command)
            .args(["--life", "/dev/full", "--trace"])
            .arg(&trace.0)
            .output()
            .unwrap();
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(line.contains("--life /dev/full"), "{line}");
        assert!(stdout(&output).contains("257 042   verified"), "{command}");
        assert!(trace.text().contains("traceEvents"), "{command}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_tree() {
    let peak = |tree| {
        let run = json(&format!("uts {tree} --workers 2 --baseline none --json"));
        run["peak_memory_kib"].as_u64().expect("Linux reports it") as f64
    };
    let (small, large) = (peak("T1"), peak("D11"));
    let ratio = large / small;
    assert!((0.8..1.2).contains(&ratio), "{small} KiB, {large} KiB");
}

/// A panic while tasks are done ends the command with the status that its help states: here the
/// virtual clock runs out.
#[test]
fn a_panic_ends_the_command_with_101() {
    let output = run(
        "simulate synthetic --cost 1000000000 -n 1048576 --task-ns 1000000000 --roots 40 --depth 0 --places 1",
    );
    assert_eq!(output.status.code(), Some(101), "{}", stderr(&output));
    assert!(stderr(&output).contains("virtual time overflows"));
    assert!(stdout(&output).is_empty());
}

#[test]
fn topo_names_the_processors_it_uses() {
    let topo = json("topo --json");
    let allowed = topo["cpus"].as_array().unwrap().len();
    let pinning = topo["pinning"].as_array().unwrap().len();
    assert!((1..=allowed).contains(&pinning));
    assert_eq!(topo["default_workers"], pinning.min(64));
    assert!(stdout(&run("topo")).contains("pinned to CPUs"));
}

#[test]
#[cfg(target_os = "linux")]
fn threads_that_the_system_refuses_are_done_without() {
    // 4096 stacks do not fit into 2 GB of addresses.
    let output = Command::new("sh")
        .args([
            "-c",
            "ulimit -v 2001000; exec \"$0\" uts D8 --places 4096 --workers 1",
        ])
        .arg(env!("CARGO_BIN_EXE_tautline"))
        .env("TAUTLINE_WARN", "0")
        .output()
        .unwrap();
    let line = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{line}");
    let told = "4096 workers wanted, the system allows ";
    assert!(line.contains(told), "{line}");
}

#[test]
fn a_deadline_is_kept_and_its_result_is_one() {
    let life = Scratch::new("deadline.html");
    let args = format!(
        "uts T1WL --workers 2 --deadline 0.25 --baseline none --life {}",
        life.0.display()
    );
    let output = run(&args);
    let table = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for part in ["partial: deadline", "stopped           deadline after "] {
        assert!(table.contains(part), "no {part} in {table}");
    }
    assert!(!table.contains("verified"), "{table}");
    assert!(life.text().contains("(partial)"));

    let run = json("uts T1WL --workers 2 --deadline 0.25 --json");
    assert_eq!(run["stopped"], "deadline");
    assert_eq!(run["complete"], false);
    assert!(run["verified"].is_null());
    assert!(run["seconds"].as_f64() >= Some(0.2), "{run}");
    assert!(run["nodes"].as_u64() > Some(1), "{run}");
    // Rates can be compared all the same.
    assert_eq!(run["sequential_tree"], "T1");
    assert!(run["efficiency"].as_f64() > Some(0.0), "{run}");
}

#[test]
fn a_deadline_that_is_not_reached_changes_nothing() {
    let run = json("uts D8 --workers 2 --deadline 100000000 --baseline none --json");
    assert_eq!(run["verified"], true);
    assert_eq!(
        (&run["complete"], &run["stopped"]),
        (&true.into(), &Value::Null)
    );
}

/// A child that does not outlive the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Batch systems end a program with SIGTERM, terminals that close with SIGHUP.
#[test]
#[cfg(target_os = "linux")]
fn a_signal_keeps_what_was_counted() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let life = Scratch::new("interrupted.html");
        let mut command = tautline("uts T1WL --workers 2 --life");
        command
            .arg(&life.0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = Running(command.spawn().unwrap());
        signal_when_running(&mut child.0, signal, &life);
        let (mut table, mut talk) = (String::new(), String::new());
        let (out, errors) = (child.0.stdout.take(), child.0.stderr.take());
        out.unwrap().read_to_string(&mut table).unwrap();
        errors.unwrap().read_to_string(&mut talk).unwrap();
        assert_eq!(
            child.0.wait().unwrap().code(),
            Some(130),
            "{signal}: {talk}"
        );
        assert!(table.contains("partial: interrupted"), "{signal}: {table}");
        let stopped = "stopped           interrupted after ";
        assert!(table.contains(stopped), "{signal}: {table}");
        assert!(!table.contains("verified"), "{signal}: {table}");
        assert!(life.text().contains("(partial)"), "{signal}");
    }
}

/// Sends the child a signal once the handler is in place: then the kernel lists SIGINT and the
/// others as caught.
#[cfg(target_os = "linux")]
fn signal_when_running(child: &mut Child, signal: &str, file: &Scratch) {
    let id = child.id();
    let caught = || {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))?;
        let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
        let all = [1, 2, 15]
            .iter()
            .fold(0, |all, number| all | 1 << (number - 1));
        Some(mask & all == all)
    };
    while !(file.0.exists() && caught() == Some(true)) {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let sent = Command::new("sh")
        .args(["-c", "kill $0 $1", signal, &id.to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}
