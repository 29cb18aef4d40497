//! `tautline loops`, from outside.

mod scratch;

use scratch::Scratch;
use serde_json::Value;
use std::process::{Command, Output};

fn run(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    command.arg("loops").args(args.split_whitespace());
    command
        .env("TAUTLINE_WARN", "0")
        .output()
        .expect("the command starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("stderr is text")
}

fn json(args: &str) -> Value {
    let output = run(&format!("{args} --json"));
    assert!(output.status.success(), "{args}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

fn efficiency(result: &Value, policy: &str) -> f64 {
    let rows = result["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["policy"] == policy);
    row.expect("the policy")["efficiency"]
        .as_f64()
        .expect("a number")
}

/// Every policy, in the order in which long times rank them (spec 5.4 of Lucco 1995, first rows).
#[test]
fn simulated_policies_rank_as_in_the_source() {
    let result = json("long -n 6400 -p 64 --repeat 100");
    assert_eq!(result["rows"].as_array().map(Vec::len), Some(14));
    let [blocked, gss, fac, taper] =
        ["blocked", "gss", "fac", "taper"].map(|policy| efficiency(&result, policy));
    assert!(blocked < gss && gss < fac && fac < taper, "{result}");
    assert!((taper - 0.938).abs() < 0.02, "{taper}");
}

#[test]
fn a_recorded_loop_is_simulated_again() {
    let file = Scratch::new("rows.csv");
    let path = file.0.display();
    let drawn = json(&format!(
        "exponential -n 1000 -p 8 --overhead 100 --repeat 1 --policy gss --record {path}"
    ));
    let again = json(&format!("{path} -p 8 --overhead 100 --policy gss"));
    assert_eq!(file.text().lines().count(), 1001);
    assert_eq!(drawn["rows"], again["rows"]);
}

#[test]
fn all_processors_are_drawn() {
    let (plot, life) = (Scratch::new("plot.html"), Scratch::new("life.html"));
    let (plot_path, life_path) = (plot.0.display(), life.0.display());
    let args = format!("hot-spot -n 500 -p 4,16 --policy taper,gss --plot {plot_path}");
    assert!(run(&args).status.success());
    assert!(plot.text().contains("<svg") && plot.text().contains("taper"));
    let args = format!("hot-spot -n 500 -p 16 --policy taper --life {life_path}");
    assert!(run(&args).status.success());
    assert!(life.text().contains("hot-spot by taper, simulated"));
}

/// Over ranks: all methods; those that know the execution before are better on a loop that changes
/// slowly.
#[test]
fn methods_over_ranks_are_compared() {
    let plot = Scratch::new("ranks.html");
    let result = json(&format!(
        "climate -n 1024 -p 16 --ranks --plot {}",
        plot.0.display()
    ));
    assert_eq!(result["rows"].as_array().map(Vec::len), Some(21));
    for (method, better) in [
        ("blocked", "ss"),
        ("fac", "fac-cached"),
        ("gl2", "dlb"),
        ("fac", "auto"),
    ] {
        let [a, b] = [method, better].map(|method| efficiency(&result, method));
        assert!(a < b, "{method} {a}, {better} {b}");
    }
    assert!(plot.text().contains("dlb-free"));
    for source in ["emu", "amr", "psirrfan", "exponential"] {
        let result = json(&format!(
            "{source} -n 256 -p 4,8 --ranks --repeat 1 --policy fac,auto"
        ));
        let rows = result["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 4, "{result}");
        assert!(
            rows.iter().all(|row| row["time_us"].as_f64() > Some(0.0)),
            "{result}"
        );
    }
    let queue = json("emu -n 256 -p 4 --policy taper");
    assert!(efficiency(&queue, "taper") > 0.8, "{queue}");
}

/// On threads: all policies, and `par_for`.
#[test]
fn policies_run_on_threads() {
    for source in [
        "mandelbrot -n 64",
        "sparse -n 256",
        "constant -n 64 --mean 1000",
    ] {
        let result = json(&format!("{source} --threads --repeat 1"));
        let rows = result["rows"].as_array().expect("rows");
        assert_eq!(
            (rows.len(), &result["simulated"]),
            (16, &Value::Bool(false))
        );
        assert!(
            rows.iter().all(|row| row["time_us"].as_f64() > Some(0.0)),
            "{result}"
        );
    }
}

#[test]
fn calibration_covers_every_setting() {
    let result = json("--calibrate -p 4 --repeat 1");
    let points = result["points"].as_array().expect("points");
    assert_eq!(points.len(), 3 * 2 * 3);
    let is_best = |point: &Value| point["best"].as_f64() >= point["published"].as_f64();
    assert!(points.iter().all(is_best));
}

#[test]
fn bad_requests_get_one_line_and_exit_code_2() {
    let file = Scratch::new("bad.csv");
    std::fs::write(&file.0, "ns\n5\nNaN\n").expect("a file");
    let bad = file.0.display().to_string();
    let good = Scratch::new("good.csv");
    std::fs::write(&good.0, "ns\n5\n").expect("a file");
    let with_length = format!("{} -n 5", good.0.display());
    for (args, names) in [
        ("exponetial", ["exponetial", "a kernel"]),
        ("normal:7", ["normal:7", "from 0 to 1"]),
        ("/no/such.csv", ["/no/such.csv", "No such file"]),
        ("uniform --policy guided", ["guided", "gss"]),
        ("uniform --policy fixed:0", ["fixed:0", "at least 1"]),
        ("uniform -p 0", ["0", "1 to 10000"]),
        ("uniform -n 0", ["0", "1 to 524288"]),
        ("uniform --mean -1", ["-1", "1 to"]),
        ("uniform --threads -p 4", ["--threads", "--processors"]),
        ("uniform --threads --policy hand", ["hand", "auto"]),
        ("uniform --ranks --policy tss", ["--policy tss", "dlb-free"]),
        ("uniform --ranks -p 4000", ["--processors 4000", "2048"]),
        ("uniform --ranks --threads", ["--ranks", "--threads"]),
        ("uniform --ranks --life l.html", ["--ranks", "--life"]),
        (
            "uniform --policy gss,fac --life l.html",
            ["--life l.html: 2 runs", "--policy"],
        ),
        (
            "uniform --policy gss -p 2,4,8 --trace t.json",
            ["--trace t.json: 3 runs", "--processors"],
        ),
        ("climat", ["climat", "a program: climate"]),
        ("uniform --calibrate", ["--calibrate", "LOOP"]),
        (
            "uniform --plot /no/dir/p.html",
            ["--plot", "/no/dir/p.html"],
        ),
        (&bad, [":3:1", "`NaN`"]),
        (&with_length, ["--iterations 5", "not with the file"]),
    ] {
        let output = run(args);
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args}: {line}");
        assert_eq!(line.trim_end().lines().count(), 1, "{args}: {line}");
        assert!(
            names.iter().all(|name| line.contains(name)),
            "{args}: {line}"
        );
    }
}
