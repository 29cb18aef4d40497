//! Odd values of options: each is refused in one line that shows the whole value and what is
//! expected, with exit code 2.

mod started;

use started::tautline;
use std::process::Output;

/// Runs the command with these words, and with `value` after them.
fn run(words: &str, value: &str) -> Output {
    tautline(words)
        .arg(value)
        .output()
        .expect("the command starts")
}

/// Checks that the request is refused, and returns the line.
fn refused(words: &str, value: &str) -> String {
    let output = run(words, value);
    let line = String::from_utf8(output.stderr).expect("stderr is text");
    assert_eq!(output.status.code(), Some(2), "{words} {value:?}: {line}");
    assert_eq!(line.lines().count(), 1, "{words} {value:?}: {line}");
    assert!(output.stdout.is_empty(), "{words} {value:?}");
    assert!(
        !line.trim_end().contains(char::is_control),
        "{words} {value:?}: {line:?}"
    );
    line
}

/// Checks that each of `values` is refused where `words` end, as that of `option`, with what is
/// expected.
fn all_refused(words: &str, option: &str, values: &[&str], expected: &str) {
    for value in values {
        let line = refused(words, value);
        let is_odd =
            value.is_empty() || value.contains(|c: char| c.is_whitespace() || c.is_control());
        let shown = match is_odd {
            true => format!("'{}'", value.escape_debug()),
            false => (*value).to_owned(),
        };
        let start = format!("tautline: {option} {shown}: expected {expected}");
        assert!(line.starts_with(&start), "{words} {value:?}: {line}");
    }
}

/// One of each kind; the unit tests of the reader have all.
const DURATIONS: &[&str] = &[
    "",
    " ",
    "soon",
    "0s",
    "-5s",
    "nan",
    "1e300",
    "10x",
    "1 0s",
    "\u{1b}[31m10s",
    "１０s",
    "0.0001",
];

#[test]
fn durations() {
    for (words, option) in [
        ("uts D6 --deadline", "--deadline"),
        ("simulate uts D6 --deadline", "--deadline"),
        ("bench barrier --deadline", "--deadline"),
    ] {
        // In virtual time, less is allowed.
        let values = &DURATIONS[..DURATIONS.len() - usize::from(words.starts_with("sim"))];
        all_refused(words, option, values, "a time from 0.00");
    }
    let values = [
        "soon", "-1", "10x", "", "1 0s", "1h30", "10M", "nan", "1e300", "s",
    ];
    all_refused(
        "launch -n 2 --stop-limit",
        "--stop-limit",
        &values,
        "a time from 0 to",
    );
    let values = [
        "soon", "0", "-1", "1.5", "10x", "", "2s", "1e3", "ns", "1 0ns",
    ];
    all_refused(
        "loops exponential --mean",
        "--mean",
        &values,
        "a time from 1 to",
    );
    let values = [
        "soon", "-1", "1.5", "10x", "", "2s", "1e3", "ns", "1 0ns", "us1",
    ];
    all_refused(
        "bench barrier --delay",
        "--delay",
        &values,
        "a time from 0 to",
    );
}

#[test]
fn a_duration_of_a_variable_names_it() {
    for value in ["10x", "soon", "-1s"] {
        let mut command = tautline("uts D6");
        let output = command.env("TAUTLINE_DEADLINE", value).output().unwrap();
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(
            line.starts_with(&format!("tautline: --deadline {value}: expected a time ")),
            "{line}"
        );
        assert!(line.ends_with(" (from TAUTLINE_DEADLINE)\n"), "{line}");
    }
    for value in ["1h30m", "500000ms", " 10s", "10 s"] {
        let mut command = tautline("uts D6 --baseline none");
        let output = command.env("TAUTLINE_DEADLINE", value).output().unwrap();
        assert!(output.status.success(), "{value}: {output:?}");
    }
}

#[test]
fn durations_with_units_are_kept() {
    for value in ["250ms", "0.25", "250000us", "0.25s"] {
        let output = run(
            "uts T1WL --workers 1 --baseline none --json --deadline",
            value,
        );
        let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
        assert_eq!(run["stopped"], "deadline", "{value}");
        assert!(run["seconds"].as_f64() >= Some(0.2), "{value}: {run}");
    }
}

/// Lists of numbers and ranges of them: one of each kind; the unit tests of the reader have all.
const LISTS: &[&str] = &[
    "",
    "2,,4",
    "2;4",
    "0",
    "2.5",
    "2..",
    "4..2",
    "2..4..x1",
    "2..=4",
    "2..999999999999",
    "{2,4}",
];

#[test]
fn lists_and_ranges_of_numbers() {
    let form = "whole numbers from 2 to 1024 with commas, or ranges A..B, ";
    all_refused("bench barrier --tasks", "--tasks", LISTS, form);
    all_refused("bench barrier --degree", "--degree", LISTS, form);
    let form = "whole numbers from 1 to 10000 with commas, or ranges A..B, ";
    all_refused("loops exponential -p", "--processors", LISTS, form);
    let names = ["", ",", "gss,,taper", "gss,", ",gss"];
    all_refused(
        "loops exponential --policy",
        "--policy",
        &names,
        "names with commas",
    );
}

#[test]
fn values_of_sweeps() {
    let forms = [
        "",
        "places",
        "places=",
        "=1",
        "places=1,,2",
        "places=1..",
        "places=4..1",
        "places=1..4..0",
        "places=1...4",
        "places=1..x",
        "places=,",
        "places=1;;2",
    ];
    all_refused("simulate uts D6 --vary", "--vary", &forms, "KEY=V1,V2");
    for (value, start) in [
        ("places=0", "--vary places=0: expected a number from 1"),
        ("places=-1", "--vary places=-1: expected a whole number"),
        ("places=two", "--vary places=two: expected a whole number"),
        ("places=2,4,x", "--vary places=x: expected a whole number"),
        ("grain=7,coarse", "--vary grain=coarse: expected auto"),
        ("lifelines=star", "--vary lifelines=star: expected auto"),
        ("b=4,many", "--vary b=many: expected a number"),
        ("fairness=fair", "--vary fairness=fair: expected one of"),
        ("deadline=10x", "--vary deadline=10x: expected a time"),
        ("wz=83", "--vary wz=83: expected pairs"),
        ("placs=1", "--vary placs: "),
        ("tree=T1", "--vary tree: "),
    ] {
        let line = refused("simulate uts D6 --vary", value);
        assert!(
            line.starts_with(&format!("tautline: {start}")),
            "{value}: {line}"
        );
    }
}

#[test]
fn a_range_of_a_sweep_is_each_of_its_values() {
    let output = run("simulate uts D6 --json --vary", "places=1..8..x2");
    let runs: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one array");
    let places = runs
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["places"].as_u64());
    assert_eq!(places.collect::<Vec<_>>(), [1, 2, 4, 8].map(Some));
}

/// Names of trees, graphs of lifelines, policies, services and commands.
#[test]
fn names() {
    let names = [
        "",
        " ",
        "T",
        "T0",
        "T9",
        "t1 ",
        "T1\n",
        "D5",
        "\u{1b}[31mT1",
        "T1L,T2L",
        "uts",
        "t1wlx",
        "\u{feff}T1",
    ];
    for name in names {
        let line = refused("uts", name);
        assert!(
            line.contains(": expected a named tree: T1 T2 "),
            "{name:?}: {line}"
        );
    }
    assert!(refused("uts", "").starts_with("tautline: '': "));
    assert!(refused("uts", "T1\n").starts_with(r"tautline: 'T1\n': "));
    let graphs = [
        "",
        "star",
        "ring:",
        "ring:2",
        "hypercube",
        "hypercube:",
        "hypercube:x",
        "hypercube:-2",
        "dimension:0",
        "full ",
        "Ring",
    ];
    all_refused(
        "uts --lifelines",
        "--lifelines",
        &graphs,
        "auto, ring, full, ",
    );
    let services = [
        "x",
        "Inline",
        "inline ",
        "yield,never",
        "one_core_free",
        "0",
        "\t",
        "yes",
        "inlin",
        "auto",
    ];
    all_refused(
        "uts --fairness",
        "--fairness",
        &services,
        "one of inline, yield, ",
    );
    let policies = [
        "x",
        "GSS",
        "fixed",
        "fixed:",
        "fixed:0",
        "fixed:-1",
        "fixed:x",
        "taper-4",
        "gss;ss",
        "auto",
        "blocked-cached",
    ];
    for policy in policies {
        let line = refused("loops exponential --policy", policy);
        assert!(
            line.starts_with(&format!("tautline: --policy {policy}: expected ")),
            "{line}"
        );
    }
    let steals = [
        "", "all", "0", "-1", "half ", "1.5", "Half", "1,2", "1..2", "½",
    ];
    all_refused("uts --steal", "--steal", &steals, "half, or a count from 1");
    let words = [
        "",
        "x",
        "4294967296",
        "-1",
        "1.5",
        "1e3",
        "0x10",
        "1 000",
        "1_000",
        "+ 1",
    ];
    all_refused("uts -w", "--random-steals", &words, "a");
}

#[test]
fn misspelled_commands_and_options() {
    for (words, start) in [
        (
            "utss",
            "utss: no such command, did you mean uts or tsp? the commands are uts, ",
        ),
        (
            "simulat",
            "simulat: no such command, did you mean simulate?",
        ),
        ("x", "x: no such command; the commands are uts, "),
        (
            "bench baryer",
            "baryer: no such command, did you mean barrier? the commands are all, line, ",
        ),
        (
            "bench",
            "a command is missing: expected one of all, line, clock, fence, steal, fork, spawn, wake, barrier, ",
        ),
        ("simulate", "a command is missing: expected one of uts, "),
        ("", "a command is missing: expected one of uts, "),
        (
            "--json uts",
            "--json: expected after the command, as in tautline uts --json",
        ),
        (
            "--vary places=1 simulate uts",
            "--vary: unknown; see tautline --help",
        ),
        (
            "--samples 20 bench barrier",
            "--samples: unknown; see tautline --help",
        ),
        (
            "bench --samples 20 barrier",
            "--samples: expected after the command, as in tautline bench barrier --samples",
        ),
        (
            "-n 2 launch ls",
            "-n: expected after the command, as in tautline launch -n",
        ),
        (
            "uts --placs 3",
            "--placs: unknown, did you mean --places? see tautline uts --help",
        ),
        ("uts --zzz", "--zzz: unknown; see tautline uts --help"),
        ("uts --workers=", "--workers '': expected a whole number"),
        (
            "uts --baseline=",
            "--baseline: needs a value, one of smaller, same, none",
        ),
        ("topo --pin {0} --pin {1}", "--pin: given more than once"),
        (
            "uts --fairness inlin",
            "--fairness inlin: expected one of inline, yield, one-core-free, never; did you mean inline?",
        ),
        ("man utss", "man utss: expected one of uts, "),
        (
            "man bench baryer",
            "man 'bench baryer': expected one of all, line, ",
        ),
        ("man uts D6", "man 'uts D6': uts has no commands"),
        (
            "man --all /no/such/folder",
            "--all /no/such/folder/tautline.1: ",
        ),
    ] {
        let output = tautline(words).output().expect("it starts");
        let line = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{words}: {line}");
        assert_eq!(line.lines().count(), 1, "{words}: {line}");
        assert!(
            line.starts_with(&format!("tautline: {start}")),
            "{words}: {line}"
        );
    }
}
