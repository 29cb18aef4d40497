//! Many simulated runs at once, synthetic trees, and measured machines, from outside.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

fn run(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    command.args(args.split_whitespace());
    // What the caller has set is no part of a test.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TAUTLINE_") {
            command.env_remove(name);
        }
    }
    command.env("TAUTLINE_WARN", "0");
    command.output().expect("the command starts")
}

/// Returns the output of a command that must succeed without diagnostics.
fn printed(args: &str) -> String {
    let output = run(args);
    let talk = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success(), "{args}: {talk}");
    assert_eq!(talk, "", "{args}");
    String::from_utf8(output.stdout).expect("text")
}

fn json(args: &str) -> Value {
    serde_json::from_str(&printed(&format!("{args} --json"))).expect("JSON")
}

fn list(args: &str) -> Vec<Value> {
    let Value::Array(all) = json(args) else {
        panic!("{args}: no array");
    };
    all
}

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tautline-{}-{name}", std::process::id()))
}

/// Returns the part that two runs of the same request have in common: not their real time, nor the
/// engine that hashed fastest in it.
fn timeless(mut run: Value) -> Value {
    for key in ["wall_seconds", "hash", "sweep", "repeat"] {
        run[key] = Value::Null;
    }
    run
}

#[test]
fn every_point_is_the_run_that_it_stands_for() {
    let base = "simulate uts D7 --places 16";
    for (name, values) in [
        ("grain", ["31", "127"]),
        ("places", ["8", "24"]),
        ("workers", ["1", "2"]),
        ("random-steals", ["0", "3"]),
        ("lifelines", ["ring", "dimension:2"]),
        ("steal", ["half", "7"]),
        ("fairness", ["inline", "never"]),
        ("seed", ["4", "5"]),
        ("far_ns", ["9000", "70000"]),
        ("wake_ns", ["9us", "70000"]),
        ("machine", ["triloka", "jaguar"]),
        ("r", ["1", "2"]),
    ] {
        let base = match name {
            "r" => "simulate uts -t 1 -b 4 -d 6 --places 16",
            _ => base,
        };
        let runs = list(&format!("{base} --vary {name}={},{}", values[0], values[1]));
        assert_eq!(runs.len(), 2, "{name}");
        for (run, value) in runs.into_iter().zip(values) {
            let option = match name {
                "r" => format!("-r {value}"),
                "wake_ns" => format!("--set {name}={value}"),
                _ => format!("--{} {value}", name.replace('_', "-")),
            };
            assert_eq!(run["sweep"][name], value, "{name}");
            let base = match name {
                "places" => "simulate uts D7",
                _ => base,
            };
            assert_eq!(
                timeless(run),
                timeless(json(&format!("{base} {option}"))),
                "{name} {value}"
            );
        }
    }
}

#[test]
fn two_sweeps_run_every_pair_and_pairs_set_steals_and_lifelines() {
    let runs = list("simulate uts D7 --vary wz=83/1,1/3 --vary places=16,64");
    let found: Vec<_> = runs
        .iter()
        .map(|run| {
            let config = &run["config"];
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            let steals = config["random_steals"].as_u64().expect("a number");
            assert_eq!(run["verified"], true);
            (
                text(&run["sweep"]["wz"]),
                text(&run["sweep"]["places"]),
                steals,
                text(&config["lifelines"]),
            )
        })
        .collect();
    let expected = [
        ("83/1", "16", 83, "hypercube:16"),
        ("83/1", "64", 83, "hypercube:64"),
        ("1/3", "16", 1, "hypercube:3"),
        ("1/3", "64", 1, "hypercube:4"),
    ];
    let expected = expected
        .map(|(wz, places, w, graph)| (wz.to_owned(), places.to_owned(), w, graph.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn the_table_has_a_row_a_run() {
    let table = printed("simulate uts D7 --places 16 --vary grain=7,500 --repeat 3");
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    for (line, start) in lines.iter().zip(["grain  efficiency", "    7 ", "  500 "]) {
        assert!(line.starts_with(start), "{table}");
    }
    assert!(
        lines[1].contains("Mnodes/s") && lines[1].contains(" %"),
        "{table}"
    );
    assert!(lines[0].ends_with("events"), "{table}");
}

#[test]
fn repeated_runs_differ_in_the_seed_and_the_median_is_told() {
    let base = "simulate uts D7 --places 32 -n 31";
    let runs = list(&format!("{base} --seed 5 --repeat 3"));
    let [run] = runs.as_slice() else {
        panic!("{} objects", runs.len());
    };
    let seconds = |run: &Value| run["virtual_seconds"].as_f64().expect("a number");
    let mut single: Vec<f64> = [5, 6, 7]
        .map(|seed| seconds(&json(&format!("{base} --seed {seed}"))))
        .into();
    single.sort_by(f64::total_cmp);
    let spread = &run["spread"]["virtual_seconds"];
    let told = ["min", "median", "max"].map(|key| spread[key].as_f64().expect("a number"));
    assert_eq!(single, told);
    assert!(told[0] < told[2], "{spread}");
    assert_eq!((seconds(run), &run["repeat"]), (told[1], &3.into()));
}

#[test]
fn a_single_run_tells_distances_reserves_and_grains() {
    let run = json("simulate uts D8 --machine bluegene-p --places 64 --workers 2");
    let number = |value: &Value| value.as_f64().expect("a number");
    let by_hops = run["steal_distance"]["by_hops"].as_array().expect("a list");
    let loot: u64 = by_hops.iter().filter_map(Value::as_u64).sum();
    assert_eq!(run["loot"], loot);
    let received = run["per_place"].as_array().expect("a list").iter();
    let received = received.filter_map(|place| place["received"]["count"].as_u64());
    assert_eq!(received.sum::<u64>(), loot);
    let near = number(&by_hops[0]) / loot as f64;
    assert!((number(&run["steal_distance"]["within_node"]) - near).abs() < 1e-12);
    assert!(number(&run["steal_distance"]["mean_hops"]) > 1.0 - near);
    let reserve = &run["reserve"];
    let ratio = number(&reserve["fed"]) / number(&reserve["emptied"]);
    assert!((number(&reserve["merge_empty"]) - ratio).abs() < 1e-12);
    assert!(number(&run["speedup"]) > 1.0);
    let table = printed("simulate uts D8 --places 64 --grain 20");
    for part in [
        "hops on average",
        "merge/empty",
        "20 to 20, median 20, place 0 20",
    ] {
        assert!(table.contains(part), "no {part} in {table}");
    }
}

#[test]
fn plots_show_the_sweep() {
    let (page, drawing) = (file("plot.html"), file("plot.svg"));
    let base = "simulate uts D7 --places 16 --vary grain=7,31,500 --vary w=0,2";
    printed(&format!("{base} --plot {} --y seconds", page.display()));
    printed(&format!("{base} --plot {}", drawing.display()));
    let names = "simulate uts D7 --vary fairness=inline,never --y speedup --plot";
    let read = |path: &PathBuf| std::fs::read_to_string(path).expect("it was written");
    let (html, svg) = (read(&page), read(&drawing));
    printed(&format!("{names} {}", drawing.display()));
    let named = read(&drawing);
    let _ = (std::fs::remove_file(&page), std::fs::remove_file(&drawing));
    assert!(html.contains("virtual seconds") && html.contains("random-steals 2"));
    assert!(svg.starts_with("<svg") && svg.contains("efficiency, %"));
    assert_eq!(svg.matches("class=\"point\"").count(), 6);
    assert!(named.contains("fairness: 1 inline, 2 never") && named.contains("speedup"));
}

#[test]
fn a_synthetic_tree_is_the_same_on_threads_and_simulated() {
    let tree = "synthetic --children geometric:3 --depth 6 --cost uniform:1-9 --tree-seed 7";
    let threads = json(&format!(
        "{tree} --places 2 --workers 2 --baseline none --quiet"
    ));
    let simulated = json(&format!("simulate {tree} --places 64 -n 50"));
    for key in ["tree_tasks", "units", "tasks", "max_depth", "checksum"] {
        assert!(!threads[key].is_null(), "{key}");
        assert_eq!(threads[key], simulated[key], "{key}");
    }
    assert_eq!(threads["tasks"], threads["units"]);
    let other = json(&format!("simulate {tree} --tree-seed 8").replace("--tree-seed 7 ", ""));
    assert_ne!(other["checksum"], threads["checksum"]);
}

#[test]
fn a_recorded_tree_is_the_same_on_threads_and_simulated() {
    // A comb: a chain of 50 tasks of 2 us, each of which makes 9 of 20 us.
    let chain = |task: usize| {
        if task == 0 {
            String::new()
        } else {
            (10 * (task - 1)).to_string()
        }
    };
    let tooth = |task: usize| format!("{},20000\n", 10 * task).repeat(9);
    let tasks = (0..50).map(|task| format!("{},2000\n{}", chain(task), tooth(task)));
    let file = std::env::temp_dir().join(format!("tautline-recorded-{}.csv", std::process::id()));
    let text = format!("parent,ns\n{}", tasks.collect::<String>());
    std::fs::write(&file, text).expect("room for a file");
    let tree = format!("recorded {}", file.display());
    let threads = json(&format!("{tree} --places 2 --baseline none --quiet"));
    let [one, many] =
        [1, 16].map(|places| json(&format!("simulate {tree} --places {places} -n 500")));
    _ = std::fs::remove_file(&file);
    for run in [&threads, &one, &many] {
        assert_eq!(run["tasks"], 50 * (2000 + 9 * 20_000), "{run}");
        assert_eq!(run["tree_tasks"], 500, "{run}");
        assert_eq!(run["longest_chain_ns"], 50 * 2000 + 20_000, "{run}");
        assert_eq!(run["agrees"], "all tasks of the file", "{run}");
    }
    let [one, many] = [one, many].map(|run| run["virtual_seconds"].as_f64().expect("a number"));
    assert!(one > 0.0091 && many < one / 4.0, "{one} {many}");
}

#[test]
fn synthetic_trees_have_the_sizes_and_costs_asked_for() {
    let run = |tree: &str| json(&format!("simulate synthetic --places 8 -n 1000 {tree}"));
    let even = run("--children uniform:3-3 --depth 5 --roots 4 --cost 5");
    assert_eq!(
        (&even["tree_tasks"], &even["units"]),
        (&1456.into(), &7280.into())
    );
    assert_eq!(even["verified"], true);
    let roots = "--children uniform:0-0 --roots 40000";
    for (cost, mean, allowed) in [
        ("uniform:1-9", 5.0, 0.1),
        ("exponential:100", 100.0, 3.0),
        // The mean of Pareto's law: least * alpha / (alpha - 1).
        ("pareto:10,3", 15.0, 0.5),
    ] {
        let run = run(&format!("{roots} --cost {cost}"));
        let each = run["units"].as_f64().expect("a number") / 40_000.0;
        assert!((each - mean).abs() < allowed, "{cost}: {each}");
        assert_eq!(run["tree_tasks"], 40_000, "{cost}");
    }
    for (children, depth, expected) in [
        ("geometric:2", "--depth 3", 15.0),
        ("binomial:4,0.2", "", 5.0),
        ("uniform:0-4", "--depth 3", 15.0),
    ] {
        let run = run(&format!("--children {children} {depth} --roots 20000"));
        let each = run["tree_tasks"].as_f64().expect("a number") / 20_000.0;
        assert!((each / expected - 1.0).abs() < 0.05, "{children}: {each}");
    }
}

#[test]
fn a_calibrated_machine_can_be_simulated() {
    let text = printed("simulate --calibrate");
    let path = file("calibrated.toml");
    std::fs::write(&path, &text).expect("a file");
    let output = run(&format!(
        "simulate uts D7 --json --rank-places 1 --machine {}",
        path.display()
    ));
    let _ = std::fs::remove_file(&path);
    assert!(output.status.success(), "{text}\n{output:?}");
    let run: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(run["verified"], true);
    let (machine, ranks) = (&run["machine"], &run["machine"]["ranks"]);
    for (key, of) in [
        ("look_ns", machine),
        ("serve_ns", machine),
        ("send_ns", machine),
        ("split_ns", machine),
        ("merge_ns", machine),
        ("wake_ns", machine),
        ("message_bytes", machine),
        ("task_bytes", machine),
        ("message_ns", ranks),
        ("encode_mb_per_s", ranks),
        ("decode_mb_per_s", ranks),
    ] {
        let line = text.lines().find(|line| line.starts_with(key));
        let line = line.unwrap_or_else(|| panic!("no {key} in {text}"));
        assert!(line.contains("source = \"measured: "), "{line}");
        let value = of[key].as_u64().expect("a number");
        assert!(
            value > 0 && line.contains(&format!("value = {value},")),
            "{line}"
        );
    }
    assert!(run["machine"]["wake_ns"].as_u64() > run["machine"]["look_ns"].as_u64());
    let near = match std::thread::available_parallelism().map_or(1, usize::from) {
        1 => "near_ns = { value = 100, assumed = ",
        _ => "measured: a cache line that changes its owner; ",
    };
    for part in ["# nqueens: ", "# synthetic: ", near] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

#[test]
fn bad_sweeps_get_one_line_and_run_nothing() {
    for (args, names) in [
        ("uts D7 --vary frob=1", ["--vary frob", "one of wz, "]),
        (
            "uts D7 --vary json=1",
            ["--vary json", "unknown, expected one of wz, "],
        ),
        ("uts D7 --vary grain", ["--vary grain", "KEY=V1,V2"]),
        (
            "uts D7 --vary grain=7,x",
            ["--vary grain=x", "a number from 1"],
        ),
        ("uts D7 --vary grain=7,0", ["--vary grain=0", "from 1"]),
        (
            "uts D7 --vary wake_ns=7,-1",
            ["--vary wake_ns=-1", "a time from 0 to 1000000000"],
        ),
        (
            "uts D7 --vary wke_ns=7",
            ["--vary wke", "did you mean wake_ns?"],
        ),
        (
            "uts D7 --vary encode_mb_per_s=7,9",
            ["--vary encode_mb_per_s=7", "see --rank-places"],
        ),
        (
            "uts D7 --vary costs --vary n=7",
            ["--vary", "alone it halves and doubles each cost"],
        ),
        (
            "uts D7 --vary places=7,0",
            ["--vary places=0", "from 1 to 131072"],
        ),
        (
            "uts D7 --vary machine=triloka,moon",
            ["--vary machine=moon", "the machines are"],
        ),
        ("uts D7 --vary wz=1/3,83", ["--vary wz=83", "like 83/1"]),
        (
            "uts D7 --vary wz=1/0",
            ["--vary wz=1/0", "dimension:Z from 1"],
        ),
        (
            "uts D7 --vary w=1 --vary random-steals=2",
            ["random-steals", "more than once"],
        ),
        (
            "uts D7 --vary w=1 --vary n=2 --vary steal=3",
            ["--vary steal", "at most two"],
        ),
        ("uts D7 --repeat 0", ["--repeat 0", "from 1 to 10000"]),
        (
            "uts D7 --vary n=7 --plot x.png",
            ["--plot x.png", ".html or .svg"],
        ),
        (
            "uts D7 --vary n=7 --life x.html",
            ["--life", "not together with"],
        ),
        (
            "uts D7 --vary n=7 --plot /no/x.svg",
            ["--plot /no/x.svg", "can be written"],
        ),
        (
            "synthetic --children tall:3",
            ["--children tall:3", "geometric:MEAN"],
        ),
        (
            "synthetic --children uniform:5-3",
            ["--children uniform:5-3", "uniform:LO-HI"],
        ),
        ("synthetic --cost 0", ["--cost 0", "a number from 1"]),
        (
            "synthetic --cost pareto:10",
            ["--cost pareto:10", "pareto:MIN,ALPHA"],
        ),
        ("synthetic --roots 0", ["--roots 0", "from 1 to 16777216"]),
        ("recorded /nowhere.csv", ["/nowhere.csv", "No such file"]),
        (
            "recorded /dev/null",
            ["/dev/null:1:1: ", "the head `parent,ns`"],
        ),
        (
            "--calibrate --list-machines",
            ["--list-machines", "not together with"],
        ),
    ] {
        let output = run(&format!("simulate {args}"));
        let line = std::str::from_utf8(&output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{args}: {line}");
        assert_eq!(output.stdout, b"", "{args}");
        assert_eq!(line.lines().count(), 1, "{args}: {line}");
        for name in names {
            assert!(line.contains(name), "{args}: no {name} in {line}");
        }
    }
}
