//! `tautline topo` and the variables that determine where workers run, from outside.

use serde_json::Value;
use std::process::{Command, Output};

fn tautline(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    command.args(args.split_whitespace());
    // Of the library, whose tests read the same files.
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../platforms"));
    // What the caller has set is no part of a test.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("TAUTLINE_") || name.starts_with("OMP_") {
            command.env_remove(name.as_ref());
        }
    }
    command
}

fn output(command: &mut Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

fn json(command: &mut Command) -> Value {
    let (code, stdout, stderr) = output(command);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&stdout).expect("one object")
}

const XEON: &str = "topo --what-if tests/topology/xeon-2x4x2.xml";

#[test]
fn what_would_be_chosen_on_another_machine() {
    let topo = json(&mut tautline(&format!("{XEON} --json")));
    assert_eq!(topo["default_workers"], 16);
    assert_eq!(topo["default_places"], 1);
    assert_eq!(topo["cores"], 8);
    assert_eq!(topo["sha_hardware"], Value::Null);
    let phaser = serde_json::json!({"tasks": 16, "degree": 8, "help_after": 1000});
    assert_eq!(topo["phaser"], phaser);
    assert_eq!(topo["config"]["lifelines"], "hypercube:2");
    assert_eq!(topo["cpus"][9]["package"], 0);
    let places = topo["hierarchy"]["domains"].as_array().unwrap();
    assert_eq!(places.len(), 11);
    assert_eq!(places[2]["parent"], 0);
    assert_eq!(places[2]["workers"], serde_json::json!([8, 15]));
    assert_eq!(places[2]["bytes"], 103_079_215_104u64);
    let workers = topo["hierarchy"]["workers"].as_array().unwrap();
    assert_eq!((workers.len(), &workers[1]["cpu"]), (16, &8.into()));
    assert_eq!(workers[1]["leaf"], 3);
    let nearest = serde_json::json!({"domain": 3, "workers": [[0, 0]]});
    assert_eq!(workers[1]["victims"][0], nearest);
    let next = serde_json::json!({"domain": 1, "workers": [[3, 7], [2, 2]]});
    assert_eq!(workers[1]["victims"][1], next);
}

#[test]
fn the_table_shows_tree_workers_and_victims() {
    let (code, table, talk) = output(&mut tautline(XEON));
    assert_eq!((code, talk.as_str()), (Some(0), ""));
    for part in [
        "CPUs allowed     16 (0-15)",
        "default          1 place x 16 workers",
        "\n  d0 mem ",
        "\n    d1 mem            w0-7   socket 0 + node 0 + L3, 96 GiB\n",
        "\n      d3 core         w0-1 on CPUs 0 8   L2 + L1 + core 0, 1 MiB\n",
        "w1     d3: w0   d1: w3-7 w2   d0: w9-15 w8\n",
    ] {
        assert!(table.contains(part), "no {part:?} in\n{table}");
    }
    assert!(!table.contains("random steals    "), "{table}");
    let (_, explained, _) = output(tautline(XEON).arg("--explain"));
    for part in [
        "phaser degree    8, of the 8 processors that share L3 [rule]\n",
        "phaser help      after 1000 polls, ",
        "phaser words     anywhere: ",
    ] {
        assert!(explained.contains(part), "no {part:?} in\n{explained}");
    }
    assert!(
        explained.contains("random steals    1, one for each doubling"),
        "{explained}"
    );
}

#[test]
fn all_processors_of_a_large_machine_are_divided() {
    const POWER: &str = "topo --what-if tests/topology/power8-4x3x8.xml";
    let topo = json(&mut tautline(&format!("{POWER} --json")));
    let division = &topo["division"];
    assert_eq!(division["workers"], 48);
    assert_eq!(division["why"], "cut along memory nodes");
    let places = division["places"].as_array().unwrap();
    let sizes: Vec<_> = places
        .iter()
        .map(|it| it.as_array().unwrap().len())
        .collect();
    assert_eq!(sizes, [48, 48]);
    let (code, table, _) = output(&mut tautline(POWER));
    let line = "all CPUs         2 places x 48 workers: cut along memory nodes\n";
    assert!(code == Some(0) && table.contains(line), "{table}");
    assert!(table.contains("place 1 on CPUs 48-95\n"), "{table}");
    let (_, table, _) = output(&mut tautline(XEON));
    let line = "all CPUs         1 place x 16 workers: all processors fit in one place\n";
    assert!(table.contains(line), "{table}");
}

/// Ranks with their processors, and the workers of their places with theirs.
const DIVIDED: &str = "\
processor         Intel(R) Xeon(R) Silver 4112 CPU @ 2.60GHz
CPUs              16 (0-15)
ranks             3, which divide 16 CPUs

rank 0 on CPUs 0-2, 8-9
  place 0
    worker   0   1   2   3   4
    CPU      0   1   2   8   9

rank 1 on CPUs 3-4, 10-12
  place 1
    worker   0   1   2   3   4
    CPU      3  10   4  11  12

rank 2 on CPUs 5-7, 13-15
  place 2
    worker   0   1   2   3   4   5
    CPU      5   6   7  13  14  15
";

#[test]
fn a_machine_is_divided_among_ranks() {
    let (code, table, talk) = output(&mut tautline(&format!("{XEON} --ranks 3")));
    assert_eq!((code, &*table, &*talk), (Some(0), DIVIDED, ""));
    let (_, table, _) = output(&mut tautline(&format!("{XEON} --ranks 2")));
    let page = include_str!("../../docs/ranks.md");
    assert!(
        page.contains(&table),
        "docs/ranks.md does not show\n{table}"
    );
    let ranks = json(&mut tautline(&format!("{XEON} --ranks 2 --json")))["ranks"].clone();
    assert_eq!(ranks[1]["rank"], 1);
    assert_eq!(
        ranks[1]["cpus"],
        serde_json::json!([4, 12, 5, 13, 6, 14, 7, 15])
    );
    let place = &ranks[1]["places"][0];
    let last = serde_json::json!({"worker": 7, "cpu": 15});
    assert_eq!((&place["place"], &place["workers"][7]), (&1.into(), &last));
    assert_eq!(
        json(&mut tautline(&format!("{XEON} --json")))["ranks"],
        Value::Null
    );
    // As many places as the variable requests.
    let mut here = tautline("topo --ranks 2 --json");
    here.envs([
        ("TAUTLINE_PLACES", "3"),
        ("TAUTLINE_WORKERS", "2"),
        ("TAUTLINE_NO_PIN", "1"),
    ]);
    let place = json(&mut here)["ranks"][1]["places"][2].clone();
    let workers = serde_json::json!([{"worker": 4, "cpu": null}, {"worker": 5, "cpu": null}]);
    assert_eq!(place, serde_json::json!({"place": 5, "workers": workers}));
}

#[test]
fn a_list_is_divided_among_ranks() {
    let topo = |ranks: u32, pin: &str| {
        let mut command = tautline(&format!("{XEON} --json --ranks {ranks} --pin {pin}"));
        let ranks = json(&mut command)["ranks"].clone();
        let workers = |rank: &Value| {
            let places = rank["places"].as_array().expect("a list").iter();
            let workers = places.flat_map(|place| place["workers"].as_array().expect("a list"));
            workers.map(|worker| worker["cpu"].clone()).collect()
        };
        let ranks = ranks.as_array().expect("a list").iter();
        ranks.map(workers).collect::<Vec<Value>>()
    };
    for (ranks, pin, cpus) in [
        (2, "{7},{1},{3,4}", vec![vec![7], vec![1, 3, 4]]),
        (2, "{7},{7},{1},{1}", vec![vec![7], vec![1]]),
        (3, "cores(3)", vec![vec![0, 8], vec![1, 9], vec![2, 10]]),
        (
            2,
            "sockets",
            vec![
                (0..4).chain(8..12).collect(),
                (4..8).chain(12..16).collect(),
            ],
        ),
    ] {
        assert_eq!(
            serde_json::json!(topo(ranks, pin)),
            serde_json::json!(cpus),
            "{ranks} on {pin}"
        );
    }
}

#[test]
fn more_ranks_than_processors_share_them() {
    let (_, table, _) = output(&mut tautline(&format!("{XEON} --ranks 256")));
    let line = "ranks             256 on 16 CPUs: more ranks than CPUs, which share them\n";
    assert!(table.contains(line), "{table}");
    let last = "\nrank 255 on CPUs 15\n  place 255\n    worker   0\n    CPU     15\n";
    assert!(table.ends_with(last), "{table}");
}

#[test]
fn the_degree_of_phasers_can_be_asked_for() {
    let with = |degree: &str, args: &str| {
        let mut command = tautline(args);
        command.env("TAUTLINE_PHASER_DEGREE", degree);
        output(&mut command)
    };
    let (code, explained, talk) = with("3", "topo --explain");
    assert_eq!((code, talk.as_str()), (Some(0), ""));
    assert!(
        explained.contains("phaser degree    3 [TAUTLINE_PHASER_DEGREE]; else "),
        "{explained}"
    );
    let (code, _, talk) = with("1", "topo");
    assert_eq!(code, Some(2));
    assert_eq!(
        talk,
        "tautline: TAUTLINE_PHASER_DEGREE 1: a whole number from 2 to 1024\n"
    );
}

#[test]
fn this_machine_has_a_tree_too() {
    let topo = json(&mut tautline("topo --json"));
    let pinned = topo["pinning"].as_array().unwrap().len();
    let tree = &topo["hierarchy"];
    assert_eq!(tree["workers"].as_array().unwrap().len(), pinned);
    assert_eq!(tree["domains"][0]["parent"], Value::Null);
    let (_, table, _) = output(&mut tautline("topo"));
    assert!(table.contains("\n  d0 mem "), "{table}");
}

#[test]
fn a_list_chooses_processors() {
    let topo = |pin: &str| json(tautline(XEON).args(["--json", "--pin", pin]));
    let cores = topo("cores(3)");
    assert_eq!(cores["pinning"], serde_json::json!([0, 8, 1, 9, 2, 10]));
    assert_eq!(cores["default_workers"], 6);
    assert_eq!(cores["hierarchy"]["domains"].as_array().unwrap().len(), 4);
    assert_eq!(topo("{3},{7},{99}")["pinning"], serde_json::json!([3, 7]));
    let own = json(tautline("topo --json").env("TAUTLINE_PIN", "threads(1)"));
    assert_eq!(own["default_workers"], 1);
    let number = json(tautline("topo --json").env("TAUTLINE_PLACES", "4"));
    assert_eq!(number["default_places"], 4);
}

/// The line that refuses the request.
fn refusal(command: &mut Command) -> String {
    let (code, stdout, line) = output(command);
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
    line
}

#[test]
fn each_bad_request_is_one_line_and_exit_code_2() {
    for (args, line) in [
        ("topo --what-if", "tautline: --what-if: needs a value\n"),
        (
            "topo --what-if tests/hpt/xeon.xml",
            "tautline: tests/hpt/xeon.xml:3:1: element HPT: topology is the outermost one\n",
        ),
        (
            "topo --what-if tests/platform.rs",
            "tautline: tests/platform.rs:1:1: not XML: ",
        ),
        (
            "topo --ranks 0",
            "tautline: --ranks 0: expected a whole number from 1 to 256\n",
        ),
        (
            "topo --ranks 257",
            "tautline: --ranks 257: expected a whole number from 1 to 256\n",
        ),
        (
            "topo --ranks many",
            "tautline: --ranks many: expected a whole number from 1 to 256\n",
        ),
        (
            "topo --what-if tests/topology/xeon-2x4x2.xml --ranks 3 --pin sockets",
            "tautline: --pin sockets: 2 places, fewer than --ranks 3\n",
        ),
        (
            "topo --ranks 2 --explain",
            "tautline: --ranks: not together with --explain\n",
        ),
        ("topo --what-if /nowhere.xml", "tautline: /nowhere.xml: "),
        ("topo --what-if tests", "tautline: tests: "),
        (
            "topo --pin gpus",
            "tautline: --pin gpus: at character 1, gpus: expected threads, cores, ll_caches, ",
        ),
        (
            "topo --pin {1048575}",
            "tautline: --pin {1048575}: expected at least one allowed processor, of ",
        ),
        (
            "uts D7 --pin {1048575}",
            "tautline: --pin {1048575}: expected at least one allowed processor, of ",
        ),
        (
            "uts D7 --pin cores(",
            "tautline: --pin cores(: at character 7, the end: expected ",
        ),
        (
            "uts D7 --places -1",
            "tautline: --places -1: expected a whole number, not negative",
        ),
    ] {
        let found = refusal(&mut tautline(args));
        assert!(found.starts_with(line), "{args}: {found}");
    }
    let found = refusal(tautline("topo").env("TAUTLINE_PIN", "{0"));
    assert_eq!(
        found,
        "tautline: TAUTLINE_PIN {0: at character 3, the end: expected a comma, or a closing brace\n"
    );
    let found = refusal(tautline("uts D7").env("TAUTLINE_PIN", "{0"));
    assert!(
        found.contains("--pin {0: ") && found.contains("(from TAUTLINE_PIN)"),
        "{found}"
    );
}

#[test]
fn runs_go_where_the_variables_say() {
    let uts = "uts D7 --baseline none --json --quiet";
    let run = json(tautline(uts).env("TAUTLINE_PIN", "threads(1)"));
    assert_eq!((&run["places"], &run["workers"]), (&1.into(), &1.into()));
    let run = json(tautline(uts).env("OMP_PLACES", "threads(1)"));
    assert_eq!(run["workers"], 1);
    let all = json(&mut tautline(uts))["workers"].clone();
    let unbound = tautline(uts)
        .env("OMP_PLACES", "threads(1)")
        .env("OMP_PROC_BIND", "false")
        .output();
    let unbound: Value = serde_json::from_slice(&unbound.unwrap().stdout).unwrap();
    assert_eq!(unbound["workers"], all);
    // Ours comes first, and the option before both.
    let both = [("TAUTLINE_PIN", "threads(1)"), ("OMP_PLACES", "threads")];
    assert_eq!(json(tautline(uts).envs(both))["workers"], 1);
    let option =
        json(tautline(&format!("{uts} --places 2 --workers 1")).env("TAUTLINE_PLACES", "64"));
    assert_eq!(option["places"], 2);
}

/// Each variable of a run, with a value that is refused.
const VARIABLES: [(&str, &str); 12] = [
    ("PIN", "{0"),
    ("PLACES", "{0"),
    ("WORKERS", "many"),
    ("RANDOM_STEALS", "-1"),
    ("LIFELINES", "star"),
    ("STEAL", "all"),
    ("GRAIN", "fine"),
    ("FAIRNESS", "none"),
    ("SEED", "0x1"),
    ("NO_PIN", "perhaps"),
    ("DEADLINE", "soon"),
    ("WARN", "never"),
];

#[test]
fn an_empty_variable_counts_as_unset() {
    let uts = "uts D7 --baseline none --json --quiet";
    // Whether a run is pinned depends on other programs, too; where it would be does not.
    let of_run = |name: &str, value: &str| {
        let mut run = json(tautline(uts).env(name, value));
        let config = run["config"].as_object_mut().expect("an object");
        config.remove("pinned").expect("a run states it");
        let topo = json(tautline("topo --json").env(name, value));
        [&run["config"], &run["workers"], &topo["pinning"]].map(Value::clone)
    };
    let plain = of_run("TAUTLINE_WARN", "1");
    let names = VARIABLES.map(|(name, _)| name);
    let names = names.into_iter().chain(["PHASER_DEGREE", "PLATFORM"]);
    let names = names.map(|name| format!("TAUTLINE_{name}"));
    let names: Vec<String> = names.chain(["OMP_PLACES".to_owned()]).collect();
    for value in ["", " "] {
        for name in &names {
            assert_eq!(of_run(name, value), plain, "{name}");
        }
        let all = names.iter().map(|name| (name, value));
        json(tautline("topo --json").envs(all));
    }
    let unknown = tautline("topo").env("TAUTLINE_NOTHING", "").output();
    assert_eq!(unknown.unwrap().stderr, b"");
}

#[test]
fn a_malformed_variable_is_one_line_with_its_name_and_value() {
    for (name, value) in VARIABLES {
        let name = format!("TAUTLINE_{name}");
        let line = refusal(tautline("uts D7").env(&name, value));
        assert!(line.contains(&name) && line.contains(value), "{line}");
        assert!(line.len() > name.len() + value.len() + 20, "{line}");
    }
    for (name, value, allowed) in [
        ("PHASER_DEGREE", "1", "a whole number from 2 to 1024\n"),
        ("PHASER_DEGREE", "wide", "a whole number from 2 to 1024\n"),
        ("PLATFORM", "/nowhere.xml", ""),
    ] {
        let line = refusal(tautline("topo").env(format!("TAUTLINE_{name}"), value));
        let start = format!("tautline: TAUTLINE_{name} {value}: {allowed}");
        assert!(line.starts_with(&start), "{line}");
    }
}

/// The setting in what `tautline topo --json` explains: its value, and where that came from.
fn explained(topo: &Value, setting: &str) -> (String, String) {
    let choices = topo["choices"].as_array().unwrap();
    let found = choices.iter().find(|it| it["setting"] == setting);
    let found = found.unwrap_or_else(|| panic!("no {setting} in {choices:?}"));
    let text = |key: &str| found[key].as_str().unwrap().to_owned();
    (text("value"), text("source"))
}

#[test]
fn every_setting_has_a_source() {
    let plain = json(&mut tautline("topo --json"));
    for setting in [
        "places",
        "pinned to",
        "memories",
        "task phasers",
        "random steals",
    ] {
        assert_eq!(explained(&plain, setting).1, "rule", "{setting}");
    }
    assert_eq!(explained(&plain, "workers").1, "detected");
    for (setting, name, value, shown) in [
        ("places", "PLACES", "1", "1"),
        ("workers", "WORKERS", "1", "1"),
        ("pinned to", "PIN", "{0}", "0"),
        ("pinned to", "NO_PIN", "1", "not pinned"),
        ("task phasers", "PHASER_DEGREE", "5", "degree 5"),
        ("random steals", "RANDOM_STEALS", "9", "9"),
        ("lifelines", "LIFELINES", "ring", "ring"),
        ("steal", "STEAL", "7", "7"),
        ("grain", "GRAIN", "frozen:511", "frozen:511"),
        ("fairness", "FAIRNESS", "never", "never"),
        ("seed", "SEED", "42", "42"),
    ] {
        let name = format!("TAUTLINE_{name}");
        let topo = json(tautline("topo --json").env(&name, value));
        assert_eq!(explained(&topo, setting), (shown.to_owned(), name));
    }
    let openmp = json(tautline("topo --json").env("OMP_PLACES", "{0}"));
    let found = explained(&openmp, "pinned to");
    let all = json(tautline("topo --json").env("OMP_PLACES", "threads"));
    assert_eq!(found.0, "0");
    assert!(found.1 == "OMP_PLACES" || openmp["pinning"] == all["pinning"]);
    let asked = json(tautline("topo --json --pin {0}").env("TAUTLINE_PIN", "threads"));
    assert_eq!(explained(&asked, "pinned to").1, "as asked");
}

/// The variables of the balancer's rules hold for programs that use the library, as for the
/// command.
#[test]
fn rules_hold_for_the_library_too() {
    for (name, value, key) in [
        ("RANDOM_STEALS", "9", "random_steals"),
        ("LIFELINES", "ring", "lifelines"),
        ("STEAL", "7", "steal"),
        ("GRAIN", "511", "grain"),
        ("FAIRNESS", "never", "fairness"),
        ("SEED", "42", "seed"),
    ] {
        let name = format!("TAUTLINE_{name}");
        // `topo` has no such options: it shows what the library plans.
        let topo = json(tautline("topo --json").env(&name, value));
        let run = json(tautline("uts D6 --baseline none --json --quiet").env(&name, value));
        assert_eq!(topo["config"][key], run["config"][key], "{name}");
        assert_eq!(topo["config"][key].to_string().trim_matches('"'), value);
    }
    for (name, value, allowed) in [
        (
            "RANDOM_STEALS",
            "-1",
            "auto, or a whole number, not negative",
        ),
        ("LIFELINES", "star", "auto, ring, full, hypercube:H"),
        ("LIFELINES", "hypercube:1", "ring, full, or hypercube:H"),
        ("STEAL", "0", "half, or a count from 1"),
        ("GRAIN", "fine", "auto, merge-empty, split-merge, a number"),
        ("GRAIN", "0", "from 1 to 1048576"),
        ("FAIRNESS", "none", "inline, yield, one-core-free, or never"),
        ("SEED", "0x1", "a whole number, not negative"),
    ] {
        let name = format!("TAUTLINE_{name}");
        let line = refusal(tautline("topo").env(&name, value));
        let start = format!("tautline: {name} {value}: {allowed}");
        assert!(line.starts_with(&start), "{line}");
    }
}

/// A list that is passed over, and more workers than processors, are shown with the reason.
#[test]
fn fall_backs_are_explained() {
    let placement = |table: &str, words: &str| {
        let found = table.lines().find(|line| line.contains(words));
        found.is_some_and(|line| line.starts_with("placement") && line.ends_with("[detected]"))
    };
    let mut ignored = tautline("topo --explain");
    ignored.env("OMP_PLACES", "gpus").env("TAUTLINE_WARN", "0");
    let (code, table, _) = output(&mut ignored);
    assert_eq!(code, Some(0));
    assert!(
        placement(&table, "OMP_PLACES gpus: passed over, "),
        "{table}"
    );
    let mut crowded = tautline("topo --explain");
    crowded.env("TAUTLINE_PLACES", "4000");
    let (_, table, _) = output(&mut crowded);
    assert!(placement(&table, "4000 workers take turns on "), "{table}");
}

#[test]
fn a_platform_in_a_variable_is_used_or_refused() {
    let topo = json(tautline("topo --json").env("TAUTLINE_PLATFORM", "tests/hpt/power7.toml"));
    let plain = json(&mut tautline("topo --json"));
    assert_ne!(topo["hierarchy"], plain["hierarchy"]);
    assert_eq!(topo["cpus"], plain["cpus"]);
    let file = std::env::temp_dir().join(format!("tautline-topo-{}.toml", std::process::id()));
    let text = "cpus = \"1048575\"\n[place]\ntype = \"core\"\nworkers = 1\n";
    std::fs::write(&file, text).expect("a file for the test");
    let line = refusal(tautline("topo").env("TAUTLINE_PLATFORM", &file));
    std::fs::write(&file, &text[..20]).expect("a file for the test");
    let cut = refusal(tautline("topo").env("TAUTLINE_PLATFORM", &file));
    std::fs::remove_file(&file).expect("the file of the test");
    let start = format!("tautline: TAUTLINE_PLATFORM {}", file.display());
    assert!(
        line.starts_with(&format!("{start}, CPU 1048575: allowed processors, of ")),
        "{line}"
    );
    assert!(cut.starts_with(&format!("{start}:2:")), "{cut}");
}

#[test]
fn surprises_are_told_once_and_can_be_silenced() {
    let crowded = "uts D7 --workers 64 --places 2 --baseline none --json";
    let (code, _, talk) = output(tautline(crowded).env("OMP_PLACES", "threads(1)"));
    assert_eq!(code, Some(0));
    assert!(
        talk.starts_with("tautline: 128 workers take turns on CPU "),
        "{talk}"
    );
    assert!(
        talk.ends_with("; TAUTLINE_WARN=0 silences this\n") && talk.lines().count() == 1,
        "{talk}"
    );
    let mut silent = tautline(crowded);
    silent.env("OMP_PLACES", "gpus").env("TAUTLINE_WARN", "0");
    assert_eq!(output(&mut silent).2, "");
    let (code, _, talk) = output(tautline("topo").env("OMP_PLACES", "gpus"));
    assert_eq!((code, talk.lines().count()), (Some(0), 1));
    assert!(
        talk.starts_with("tautline: OMP_PLACES gpus: passed over, "),
        "{talk}"
    );
}

#[test]
fn help_shows_examples() {
    let (code, help, _) = output(&mut tautline("topo --help"));
    assert_eq!(code, Some(0));
    assert!(
        help.contains("--what-if node.xml") && help.contains("OMP_PLACES"),
        "{help}"
    );
}
