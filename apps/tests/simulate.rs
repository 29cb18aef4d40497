//! `tautline simulate`, from outside: exact counts, virtual times, and how it refuses.

use serde_json::Value;
use std::process::{Command, Output};

fn command(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    command.args(["simulate"]).args(args.split_whitespace());
    // What the caller has set is no part of a test.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TAUTLINE_") {
            command.env_remove(name);
        }
    }
    command
}

fn run(args: &str) -> Output {
    command(args).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// Runs a simulation that must succeed without diagnostics and print one object.
fn json(args: &str) -> Value {
    let output = run(&format!("{args} --json"));
    let talk = text(&output.stderr);
    assert_eq!((output.status.code(), talk), (Some(0), ""), "{args}");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// Runs a simulation that must succeed, and returns what it prints.
fn run_with(args: &str) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

#[test]
fn counts_are_exact_and_every_key_is_there() {
    for (args, nodes) in [
        ("uts T1 --places 64", 4_130_071),
        ("uts D8 --places 64", 257_042),
        ("uts D8 --places 64 --count-last-level", 257_042),
    ] {
        let run = json(args);
        for key in [
            "leaves",
            "max_depth",
            "rule",
            "tree",
            "config",
            "nodes_per_s",
            "sequential_nodes_per_s",
            "wall_seconds",
            "tasks",
            "tasks_per_s",
            "sequential_tasks_per_s",
            "messages",
            "reports",
            "events",
        ] {
            assert!(!run[key].is_null(), "{args}: no {key} in {run}");
        }
        assert_eq!(
            (&run["nodes"], &run["expected_nodes"]),
            (&nodes.into(), &nodes.into())
        );
        assert_eq!(
            (&run["application"], &run["stopped"]),
            (&"uts".into(), &Value::Null)
        );
        for key in ["simulated", "verified", "complete"] {
            assert_eq!(run[key], true, "{args}: {key}");
        }
        assert_eq!((&run["places"], &run["workers"]), (&64.into(), &1.into()));
        let places = run["per_place"].as_array().expect("a list of places");
        assert_eq!(places.len(), 64);
        let sum = |key| {
            places
                .iter()
                .filter_map(|place| place[key].as_u64())
                .sum::<u64>()
        };
        assert_eq!(run["tasks"], sum("tasks"));
        assert_eq!(run["messages"], sum("messages"));
    }
}

#[test]
fn efficiency_is_task_time_over_place_time() {
    let run = json("uts D8 --places 64 --task-ns 1000");
    let number = |key: &str| run[key].as_f64().expect("a number");
    let expected = number("tasks") * 1e-6 / (64.0 * number("virtual_seconds"));
    assert!((number("efficiency") - expected).abs() < 1e-9, "{run}");
    assert!((0.01..=1.0).contains(&expected), "{run}");
    let ratio = number("nodes_per_s") / number("sequential_nodes_per_s") / 64.0;
    assert!((ratio - expected).abs() < 1e-9, "{run}");
}

#[test]
fn an_efficiency_is_printed_beside_its_bound_and_what_is_lost() {
    let run = json("uts D8 --places 64");
    let (bound, number) = (&run["bound"], |value: &Value| {
        value.as_f64().expect("a number")
    });
    assert_eq!(bound["tasks"], run["tasks"]);
    assert!(
        number(&run["efficiency"]) < number(&bound["efficiency"]),
        "{run}"
    );
    assert!(number(&bound["efficiency"]) <= 1.0);
    for of in [&run, bound] {
        let part = |name: &str, key: &str| number(&of["phases"][name][key]);
        let sum = |key| part("start", key) + part("middle", key) + part("end", key);
        assert!(
            (sum("lost") + number(&of["efficiency"]) - 1.0).abs() < 1e-6,
            "{of}"
        );
        assert!(
            (sum("seconds") - number(&of["virtual_seconds"])).abs() < 1e-9,
            "{of}"
        );
    }
    let output = run_with("uts D7 --places 16");
    for part in ["\nbound ", "\nlost ", "(until every place has had work)"] {
        assert!(output.contains(part), "no {part} in {output}");
    }
    let stopped = json("uts D9 --places 64 --deadline 0.001");
    assert_eq!(stopped["bound"], Value::Null);
    let few = json("synthetic --children geometric:4 --depth 1 --roots 1 --places 64");
    assert!(few["phases"]["workless_places"].as_u64() > Some(0), "{few}");
    let rows = json("uts D7 --vary places=4,64 --repeat 2");
    for row in rows.as_array().expect("two rows") {
        assert_eq!(row["spread"]["bound"]["median"], row["bound"]["efficiency"]);
    }
}

#[test]
fn every_setting_reaches_the_run() {
    let costs = [
        ("task_ns", 410),
        ("look_ns", 120),
        ("serve_ns", 530),
        ("send_ns", 230),
        ("split_ns", 340),
        ("merge_ns", 140),
        ("wake_ns", 5_500),
        ("near_ns", 650),
        ("far_ns", 2_550),
        ("gap_ns", 150),
        ("loot_task_ns", 7),
        ("jitter_percent", 25),
    ];
    let base = "uts D7 --places 32 --workers 2";
    let usual = json(base);
    for (key, value) in costs {
        let run = json(&format!("{base} --set {key}={value}"));
        assert_eq!(run["machine"][key], value);
        assert_ne!(
            run["virtual_seconds"], usual["virtual_seconds"],
            "{key} costs nothing"
        );
    }
    let torus = "uts D7 --machine bluegene-p --places 64";
    for (base, key, value) in [
        (base, "mb_per_s", 50),
        ("uts D7 --places 32 --set mb_per_s=50", "task_bytes", 512),
        ("uts D7 --places 32 --set mb-per-s=50", "message_bytes", 512),
        (torus, "link_mb_per_s", 5),
    ] {
        let [run, usual] =
            [format!("{base} --set {key}={value}"), base.to_owned()].map(|run| json(&run));
        assert_eq!(run["machine"][key], value);
        assert_ne!(run["virtual_seconds"], usual["virtual_seconds"], "{key}");
    }
    let run = json(&format!(
        "{base} -w 0 --lifelines ring --steal 7 -n 31 --fairness never --seed 9"
    ));
    for (key, value) in [
        ("lifelines", Value::from("ring")),
        ("steal", "7".into()),
        ("fairness", "never".into()),
        ("random_steals", 0.into()),
        ("grain", 31.into()),
        ("seed", 9.into()),
    ] {
        assert_eq!(run["config"][key], value, "{key}");
    }
    assert_eq!(run["verified"], true);
}

#[test]
fn a_machine_sets_places_workers_speed_and_network() {
    for (machine, places, workers, task_ns, node_places, torus) in [
        ("triloka", 128, 1, 476, 8, Value::Null),
        ("bluegene-p", 1_024, 1, 1_852, 4, vec![8, 8, 4].into()),
        ("piccolo", 8, 4, 200, 1, Value::Null),
        ("harp", 4, 6, 225, 4, Value::Null),
        ("jaguar", 64, 16, 682, 1, vec![4, 4, 4].into()),
    ] {
        let run = json(&format!("uts D8 --machine {machine}"));
        assert_eq!(run["verified"], true, "{machine}");
        assert_eq!(
            (&run["places"], &run["workers"]),
            (&places.into(), &workers.into())
        );
        let used = &run["machine"];
        assert_eq!(
            (&used["name"], &used["task_ns"], &used["node_places"]),
            (&machine.into(), &task_ns.into(), &node_places.into())
        );
        assert_eq!(used["torus"], torus, "{machine}");
    }
    let base = "uts D7 --machine bluegene-p --places 256";
    let (usual, slow) = (json(base), json(&format!("{base} --set hop_ns=5us")));
    assert!(slow["virtual_seconds"].as_f64() > usual["virtual_seconds"].as_f64());
    let few = json("uts D7 --machine jaguar --workers 8 --places 4");
    assert_eq!(few["machine"]["node_places"], 2);
}

#[test]
fn machines_are_listed_and_read_from_files() {
    let output = run("--list-machines");
    let list = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for part in [
        "cluster",
        "40960 x 4",
        "2 / 3 + 0.1",
        "Saraswat 2011, section 3.1",
        "OakForest-PACS: Xeon Phi",
    ] {
        assert!(list.contains(part), "no {part} in {list}");
    }
    let name = format!("tautline-{}-machine.toml", std::process::id());
    let file = std::env::temp_dir().join(name);
    let path = file.display();
    let built_in = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../platforms/machines/triloka.toml"
    );
    let triloka = std::fs::read_to_string(built_in).expect("a description");
    let smaller = triloka.replace("value = 8,", "value = 4,");
    std::fs::write(&file, &smaller).expect("a file");
    let refused = run(&format!("uts D7 --machine {path}"));
    std::fs::write(&file, smaller.replace("value = 128,", "value = 64,")).expect("a file");
    let read = run(&format!("uts D7 --json --machine {path}"));
    std::fs::write(&file, triloka.replace("[costs]", "[costs]\nnap_ns = 3")).expect("a file");
    let unknown = run(&format!("uts D7 --machine {path}"));
    let _ = std::fs::remove_file(&file);
    let machine: Value = serde_json::from_slice(&read.stdout).expect("one JSON object");
    assert_eq!(machine["machine"]["node_places"], 4);
    assert_eq!(machine["places"], 64);
    let lines = [&refused, &unknown].map(|output| text(&output.stderr));
    assert!(
        lines[0].contains(":10:18: default_places 128: at most 64"),
        "{lines:?}"
    );
    let expected = ":18:10: unknown key costs.nap_ns, expected one of look_ns, serve_ns";
    assert!(lines[1].contains(expected), "{lines:?}");
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn the_same_request_is_the_same_run() {
    let mut runs = [(); 2].map(|()| json("uts D8 --places 100 --seed 3"));
    for run in &mut runs {
        // The real time, and the engine that hashed fastest in it.
        run["wall_seconds"] = Value::Null;
        run["hash"] = Value::Null;
    }
    assert_eq!(runs[0], runs[1]);
    let other = json("uts D8 --places 100 --seed 4");
    assert_ne!(other["virtual_seconds"], runs[0]["virtual_seconds"]);
}

#[test]
fn by_default_a_thousand_places_count_a_tree_of_ten_million_nodes() {
    let output = run("uts");
    let table = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for part in [
        "D11: geometric",
        "16 526 523   verified",
        "1024 x 1, simulated",
        "virtual seconds",
    ] {
        assert!(table.contains(part), "no {part} in {table}");
    }
    // Long values continue on the next line.
    let words: Vec<&str> = table.split_whitespace().collect();
    let part = "16 526 522 tasks x 400 ns / (1024 places x virtual time)";
    assert!(words.join(" ").contains(part), "no {part} in {table}");
    let rows = table
        .lines()
        .skip_while(|line| !line.contains(" comp "))
        .skip(1);
    let rows: Vec<_> = rows.map(|row| row.split_whitespace().next()).collect();
    assert_eq!(rows, ["min", "med", "max", "all"].map(Some), "{table}");
}

#[test]
fn a_virtual_deadline_is_kept_and_its_result_is_one() {
    let run = json("uts D9 --places 64 --deadline 0.002");
    assert_eq!(run["stopped"], "deadline");
    assert_eq!(
        (&run["complete"], &run["verified"]),
        (&false.into(), &Value::Null)
    );
    let seconds = run["virtual_seconds"].as_f64().expect("a number");
    assert!((0.002..0.003).contains(&seconds), "{run}");
    assert!(run["nodes"].as_u64() < Some(1_031_269), "{run}");
    let run = json("uts D8 --places 64 --deadline 10");
    assert_eq!(
        (&run["complete"], &run["verified"]),
        (&true.into(), &true.into())
    );
}

#[test]
fn longer_tasks_take_longer() {
    let task_ns =
        |args: &str| json(&format!("uts D7 --places 32 {args}"))["machine"]["task_ns"].as_u64();
    let one = task_ns("").expect("a number");
    // Up to rounding: the slowdown is no whole number.
    let three = task_ns("-g 3").expect("a number");
    assert!(three.abs_diff(3 * one) <= 2, "{one}, {three}");
    assert_eq!(task_ns("-g 3 --task-ns 400"), Some(400));
}

#[test]
fn places_have_a_life_story() {
    let name = format!("tautline-{}-simulated.html", std::process::id());
    let file = std::env::temp_dir().join(name);
    let output = run(&format!("uts D8 --places 64 --life {}", file.display()));
    let page = std::fs::read_to_string(&file);
    let _ = std::fs::remove_file(&file);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = page.expect("the page was written");
    assert!(page.contains("UTS D8, simulated") && page.contains("virtual seconds"));
    assert_eq!(page.matches("<tr><th scope=row>").count(), 1 + 64);
}

#[test]
fn bad_requests_get_one_line_and_exit_code_2() {
    // The request, and what the line must name: option and value, and what is allowed.
    for (args, names) in [
        ("", ["a command is missing", "uts"]),
        ("fib", ["fib", "the commands are uts"]),
        ("uts T9", ["T9", "T3XXL"]),
        ("uts --places 0", ["--places 0", "from 1 to 131072"]),
        (
            "uts --places 131073",
            ["--places 131073", "from 1 to 131072"],
        ),
        (
            "uts --places 5000 --lifelines full",
            ["--places 5000", "from 1 to 4096 with full"],
        ),
        ("uts --workers 65", ["--workers 65", "from 1 to 64"]),
        ("uts --workers 0", ["--workers 0", "from 1 to 64"]),
        (
            "uts --machine bluegene-p --workers 5",
            ["--workers 5", "at most the 4 cores of a node of bluegene-p"],
        ),
        (
            "uts --places 9000 --workers 16",
            ["--places 9000", "from 1 to 8192, as cluster has 8192 nodes"],
        ),
        (
            "uts --set link_mb_per_s=5",
            ["--set link_mb_per_s=5", "of cluster has no links"],
        ),
        ("uts --no-pin", ["--no-pin", "unknown"]),
        ("uts --grain 0", ["--grain 0", "from 1"]),
        ("uts --steal 0", ["--steal 0", "from 1"]),
        (
            "uts --lifelines hypercube:1",
            ["--lifelines hypercube:1", "from 2"],
        ),
        (
            "uts --fairness one-core-free",
            ["--fairness one-core-free", "at least 2 workers"],
        ),
        ("uts --task-ns 0", ["--task-ns 0", "from 1 to 1000000000"]),
        ("uts --task-ns fast", ["--task-ns fast", "a time from 1"]),
        (
            "uts --far-ns 1000000001",
            ["--far-ns 1000000001", "from 0 to 1000000000"],
        ),
        (
            "uts --set look_ns=-1",
            ["--set look_ns=-1", "a time from 0"],
        ),
        ("uts --far 5", ["--far", "--far-ns"]),
        (
            "uts --machine triloka --places 129",
            [
                "--places 129",
                "from 1 to 128, as triloka has 16 nodes of 8",
            ],
        ),
        (
            "uts --machine nowhere",
            ["--machine nowhere", "the machines are cluster, host"],
        ),
        ("uts --machine ./no.toml", ["./no.toml", "No such file"]),
        (
            "--list-machines uts",
            ["not together with --list-machines", ""],
        ),
        ("uts --deadline 0", ["--deadline 0", "from 0.000001"]),
        ("uts --life /", ["--life /", "written"]),
    ] {
        let output = run(args);
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args}: {line}");
        assert_eq!(text(&output.stdout), "", "{args}");
        assert_eq!(line.lines().count(), 1, "{args}: {line}");
        assert!(line.starts_with("tautline: "), "{args}: {line}");
        for name in names {
            assert!(line.contains(name), "{args}: no {name} in {line}");
        }
    }
}

/// A command that is interrupted, and does not outlive its test.
#[cfg(target_os = "linux")]
struct Interrupted(std::process::Child);

#[cfg(target_os = "linux")]
impl Drop for Interrupted {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a simulation that would take minutes, sends it the `signal` once it has run for a while,
/// and returns what it has printed. It must end within seconds, with exit code 130.
#[cfg(target_os = "linux")]
fn interrupt(args: &str, signal: &str) -> String {
    use std::io::Read;
    use std::process::Stdio;
    use std::time::{Duration, Instant};
    let mut command = command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Interrupted(command.spawn().expect("the command starts"));
    let id = child.0.id();
    // The handler is in place once the kernel lists the signals as caught.
    let caught = || {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))?;
        let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
        Some(
            [1, 2, 15]
                .iter()
                .all(|number| mask >> (number - 1) & 1 == 1),
        )
    };
    while caught() != Some(true) {
        let ended = child.0.try_wait().expect("a child");
        assert!(ended.is_none(), "{args}: it ended by itself");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(500));
    let sent = Command::new("sh")
        .args(["-c", "kill $0 $1", signal, &id.to_string()])
        .status();
    assert!(sent.expect("kill runs").success());
    let began = Instant::now();
    let (mut printed, mut talk) = (String::new(), String::new());
    let (out, errors) = (child.0.stdout.take(), child.0.stderr.take());
    out.expect("a pipe")
        .read_to_string(&mut printed)
        .expect("text");
    errors
        .expect("a pipe")
        .read_to_string(&mut talk)
        .expect("text");
    let code = child.0.wait().expect("a child").code();
    assert_eq!((code, talk.as_str()), (Some(130), ""), "{args}");
    let took = began.elapsed();
    assert!(took < Duration::from_secs(10), "{args}: {took:?}");
    printed
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_ends_a_simulation_with_what_was_counted() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        for args in ["uts T1WL --places 64", "uts T1WL --places 1 --workers 1"] {
            let printed = interrupt(&format!("{args} --json"), signal);
            let run: Value = serde_json::from_str(&printed).expect("one JSON object");
            assert_eq!(run["stopped"], "interrupted", "{args}");
            assert_eq!(
                (&run["complete"], &run["verified"], &run["bound"]),
                (&false.into(), &Value::Null, &Value::Null)
            );
            let tasks = run["tasks"].as_u64().expect("a number");
            assert!(tasks > 1_000, "{args}: {tasks} tasks");
            assert_eq!(
                run["nodes"],
                tasks + 1,
                "{args}: each of them once, and the root"
            );
            assert!(run["virtual_seconds"].as_f64() > Some(0.0), "{args}");
        }
    }
    let table = interrupt("uts T1WL --places 64", "-INT");
    for part in [
        "partial: interrupted",
        "stopped           interrupted after ",
    ] {
        assert!(table.contains(part), "no {part} in {table}");
    }
    assert!(!table.contains("verified"), "{table}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_ends_a_sweep_after_its_complete_points() {
    let name = format!("tautline-{}-interrupted.html", std::process::id());
    let file = std::env::temp_dir().join(name);
    // The second point has more than a billion nodes.
    let sweep = "uts -t 3 -b 4 --places 16 --vary d=5,15,4";
    let args = format!("{sweep} --json --plot {}", file.display());
    let rows: Value = serde_json::from_str(&interrupt(&args, "-INT")).expect("JSON");
    let page = std::fs::read_to_string(&file);
    let _ = std::fs::remove_file(&file);
    let page = page.expect("the page was written");
    assert!(page.contains("(partial)"), "{page}");
    assert!(page.contains("interrupted after 1 of 3 runs"), "{page}");
    let rows = rows.as_array().expect("an array");
    let [first, last] = rows.as_slice() else {
        panic!("{} objects", rows.len());
    };
    assert_eq!(
        (&first["complete"], &first["repeat"]),
        (&true.into(), &1.into())
    );
    assert_eq!(
        (&last["complete"], &last["repeat"]),
        (&false.into(), &0.into())
    );
    assert_eq!(
        (&first["sweep"]["d"], &last["sweep"]["d"]),
        (&"5".into(), &"15".into())
    );
    assert_eq!(last["stopped"], "interrupted");
    assert!(last["tasks"].as_u64() > Some(1_000), "{last}");

    let table = interrupt(sweep, "-INT");
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(lines[1].starts_with(" 5 "), "{table}");
    assert_eq!(lines[2], "partial: interrupted after 1 of 3 runs");
    let one = "uts -t 3 -b 4 -d 15 --places 16 --repeat 2 --json";
    let rows: Value = serde_json::from_str(&interrupt(one, "-INT")).expect("JSON");
    assert_eq!(
        (&rows[0]["complete"], &rows[1]),
        (&false.into(), &Value::Null)
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_ends_varied_runs() {
    let printed = interrupt("uts T1WL --places 64 --vary --json", "-INT");
    let all: Value = serde_json::from_str(&printed).expect("one JSON object");
    assert_eq!(
        (&all["complete"], &all["stopped"]),
        (&false.into(), &"interrupted".into())
    );
    assert_eq!(
        (&all["efficiency"], &all["vary"]),
        (&Value::Null, &Value::Array(vec![]))
    );
    let table = interrupt("uts T1WL --places 64 --vary", "-INT");
    assert_eq!(table, "partial: interrupted after 0 costs\n");
}

#[test]
fn help_has_examples() {
    for args in ["--help", "uts --help", "uts -h"] {
        let output = run(args);
        assert!(output.status.success(), "{args}");
        assert!(text(&output.stdout).contains("EXAMPLES"), "{args}");
        assert_eq!(text(&output.stderr), "", "{args}");
    }
}
