//! `tautline loops`, from outside.

use serde_json::Value;
use std::path::PathBuf;
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

/// A file that is gone at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("tautline-loops-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.0).expect("the file was written")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
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
    let args =
        format!("hot-spot -n 500 -p 4,16 --policy taper,gss --plot {plot_path} --life {life_path}");
    assert!(run(&args).status.success());
    assert!(plot.text().contains("<svg") && plot.text().contains("taper"));
    assert!(life.text().contains("hot-spot by taper, simulated"));
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
