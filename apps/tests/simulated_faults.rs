//! `tautline simulate` with costs that are varied, with faults, processes and other networks.

use serde_json::Value;
use std::process::{Command, Output};

fn run(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    command.args(["simulate"]).args(args.split_whitespace());
    // What the caller has set is no part of a test.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TAUTLINE_") {
            command.env_remove(name);
        }
    }
    command.output().expect("the command starts")
}

fn json(args: &str) -> Value {
    let output = run(&format!("{args} --json"));
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args}: {talk}");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

fn seconds(run: &Value) -> f64 {
    run["virtual_seconds"].as_f64().expect("a number")
}

#[test]
fn every_cost_is_halved_and_doubled() {
    let all = json("uts D7 --places 32 --machine bluegene-p --vary --repeat 3");
    let rows = all["vary"].as_array().expect("rows");
    let of = |name: &str| {
        let row = rows.iter().find(|row| row["cost"] == name);
        row.unwrap_or_else(|| panic!("no {name} in {all}"))
    };
    let share = |value: &Value| value.as_f64().expect("a number");
    let task = of("task_ns");
    assert_eq!(task["value"], 1_852);
    assert!(share(&task["halved"]) < share(&task["doubled"]), "{task}");
    let far = of("far_ns");
    assert!(share(&far["halved"]) > share(&far["doubled"]), "{far}");
    assert!(
        far["origin"]
            .as_str()
            .expect("text")
            .starts_with("assumed: the middle")
    );
    assert_eq!(task["origin"], "Saraswat 2011, table 1, ANL-BG/P");
    assert!(
        rows.iter().all(|row| row["cost"] != "mb_per_s"),
        "what costs nothing is not varied"
    );
    let given = json("uts D7 --places 32 --vary --far-ns 2000");
    let far = given["vary"].as_array().expect("rows").iter();
    let far = far
        .clone()
        .find(|row| row["cost"] == "far_ns")
        .expect("a row");
    assert_eq!(
        (&far["value"], &far["origin"]),
        (&2_000.into(), &"given".into())
    );
    let names = |all: &Value| -> Vec<String> {
        let rows = all["vary"].as_array().expect("rows").iter();
        rows.map(|row| row["cost"].as_str().expect("a name").to_owned())
            .collect()
    };
    let encoding = ["rank_message_ns", "encode_mb_per_s", "decode_mb_per_s"];
    for machine in tautline::machines::names() {
        // The host may have few cores.
        let described = tautline::machines::find(machine).expect("a built-in machine");
        let places = (described.nodes * described.cores).min(8);
        if places < 2 {
            continue;
        }
        let places = format!("--places {places} --workers 1");
        let ranks = json(&format!(
            "uts D7 {places} --machine {machine} --rank-places 1 --vary"
        ));
        let rows = ranks["vary"].as_array().expect("rows");
        for cost in encoding {
            let row = rows.iter().find(|row| row["cost"] == cost);
            let row = row.unwrap_or_else(|| panic!("no {cost} of {machine}: {ranks}"));
            assert_ne!(row["origin"], "given", "{machine}: {row}");
            assert_ne!(row["halved"], row["doubled"], "{machine}: {row}");
        }
        let one = json(&format!("uts D7 {places} --machine {machine} --vary"));
        assert!(
            names(&one).iter().all(|name| !encoding.contains(&&**name)),
            "one process encodes nothing: {one}"
        );
    }
    let table = run("uts D7 --places 32 --vary");
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(
        table.contains("one seed; see --repeat") && table.contains("\nserve_ns "),
        "{table}"
    );
}

#[test]
fn faults_make_a_run_longer_and_leave_its_result() {
    let base = "uts D8 --places 32";
    let usual = json(base);
    assert_eq!(usual["faults"], Value::Null);
    for fault in [
        "spike:100000,100000",
        "loss:100000",
        "stall:0,100000,900000",
        "slow:0,300",
        "noise:10000,5000",
        "partition:1,100000,900000",
    ] {
        let run = json(&format!("{base} --fault {fault}"));
        assert_eq!(
            (&run["verified"], &run["nodes"]),
            (&true.into(), &usual["nodes"]),
            "{fault}"
        );
        assert!(seconds(&run) > seconds(&usual), "{fault}: {run}");
        assert!(
            run["faults"].as_str().expect("text").starts_with(fault),
            "{run}"
        );
    }
    let both = json(&format!(
        "{base} --fault loss:100000 --fault slow:0,300 --set fault_seed=4"
    ));
    assert!(
        both["faults"]
            .as_str()
            .expect("text")
            .starts_with("loss:100000; slow:0,300; fault_seed 4")
    );
    let varied = json(&format!("{base} --vary fault=loss:1000;loss:200000"));
    assert!(seconds(&varied[0]) < seconds(&varied[1]), "{varied}");
}

#[test]
fn a_lost_place_is_the_reason_of_a_partial_result() {
    let args = "uts D9 --places 32 --fault crash:7,0.2ms --set detect_ns=100us";
    let run_json = json(args);
    assert_eq!(
        (&run_json["stopped"], &run_json["lost_place"]),
        (&"place lost".into(), &7.into())
    );
    assert_eq!(
        (&run_json["complete"], &run_json["bound"]),
        (&false.into(), &Value::Null)
    );
    assert!(run_json["nodes"].as_u64() < Some(1_031_269), "{run_json}");
    let table = String::from_utf8_lossy(&run(args).stdout).into_owned();
    assert!(
        table.contains("partial: place lost") && table.contains("lost place"),
        "{table}"
    );
}

#[test]
fn processes_encode_and_networks_differ() {
    let base = "uts D8 --places 64";
    let usual = json(base);
    assert!(
        usual["bytes"].as_u64() > usual["messages"].as_u64(),
        "{usual}"
    );
    let ranks = "--rank-places 4 --set rank_message_ns=20000";
    let encoded = json(&format!("{base} {ranks}"));
    assert!(seconds(&encoded) > seconds(&usual), "{encoded}");
    let worker = json(&format!(
        "{base} {ranks} --set encode_mb_per_s=100 --set decode_mb_per_s=50 --set communication_worker=1"
    ));
    let described = &worker["machine"]["ranks"];
    let expected = serde_json::json!({
        "places": 4, "message_ns": 20_000, "encode_mb_per_s": 100, "decode_mb_per_s": 50, "worker": true,
    });
    assert_eq!(described, &expected);
    for (network, key) in [
        ("torus:4,1,1", "torus"),
        ("fat-tree:2,2,1,1", "fat_tree"),
        ("dragonfly:1,2,1", "dragonfly"),
    ] {
        let run = json(&format!(
            "{base} --network {network} --set hop_ns=20000 --set ordered=true"
        ));
        let [used, none] = [&run, &usual].map(|run| &run["machine"][key]);
        assert!(used.is_array() && none.is_null(), "{network}: {run}");
        assert_eq!(
            (&run["verified"], &run["machine"]["ordered"]),
            (&true.into(), &true.into())
        );
        assert!(seconds(&run) > seconds(&usual), "{network}");
    }
    let flat = json("uts D8 --machine bluegene-p --places 64 --network flat");
    assert_eq!(flat["machine"]["torus"], Value::Null);
}

#[test]
fn bad_requests_get_one_line_and_exit_code_2() {
    for (args, names) in [
        (
            "--fault fire:1",
            ["--fault fire:1", "one of spike, loss, stall"],
        ),
        (
            "--fault loss:1000000",
            ["loss:PER_MILLION", "from 0 to 999999"],
        ),
        ("--fault slow:0,50", ["slow:NODE,PERCENT", "from 100"]),
        (
            "--fault stall:64,1,2 --places 64",
            ["--fault stall", "64 of 64 places"],
        ),
        (
            "--fault slow:9,200 --places 64",
            ["--fault slow", "9 of 4 nodes"],
        ),
        (
            "--fault partition:4,1,2 --places 64",
            ["--fault partition", "fewer than the 4 nodes"],
        ),
        (
            "--fault loss:1 --fault loss:2",
            ["--fault loss", "more than once"],
        ),
        (
            "--set fault_seed=3",
            ["--set fault_seed=3", "without --fault"],
        ),
        ("--network ring", ["--network ring", "torus:X,Y,Z"]),
        (
            "--network torus:1,1,1 --places 64",
            ["--network", "room for 1 nodes, not for the 4"],
        ),
        (
            "--set rank_message_ns=3",
            ["--set rank_message_ns=3", "see --rank-places"],
        ),
        ("--rank-places -1", ["--rank-places -1", "from 0 to 131072"]),
        (
            "--set lok_ns=1",
            ["--set lok_ns=1", "did you mean look_ns?"],
        ),
        ("--set look_ns", ["--set look_ns", "KEY=VALUE"]),
        (
            "--task-ns 5 --set task-ns=6",
            ["--set task_ns=6", "given more than once"],
        ),
        (
            "--near-ns 5us",
            ["--near-ns: ", "expected --set near_ns=VALUE instead"],
        ),
        (
            "--ordered",
            ["--ordered: ", "expected --set ordered=VALUE instead"],
        ),
        (
            "--set jitter_percent=1001",
            ["--set jitter_percent=1001", "from 0 to 1000"],
        ),
        ("--vary --vary places=1,2", ["--vary", "not together with"]),
    ] {
        let output = run(&format!("uts D6 {args}"));
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args}: {line}");
        assert_eq!(line.lines().count(), 1, "{args}: {line}");
        for name in names {
            assert!(line.contains(name), "{args}: no {name} in {line}");
        }
    }
}
