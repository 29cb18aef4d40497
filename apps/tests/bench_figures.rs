//! Figures of `tautline bench` that are kept, compared and shown, from outside.

use serde_json::{Value, json};
use std::process::Output;
use std::sync::LazyLock;

mod bench_command;
mod scratch;
use scratch::Scratch;

fn bench(args: &[&str]) -> Output {
    let output = bench_command::bench(args).output();
    output.expect("the command starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// The document of a few short barriers, measured once: tasks of two measurements at a time would
/// wait for each other's processors.
fn measured() -> Value {
    static MEASURED: LazyLock<Value> = LazyLock::new(measure);
    MEASURED.clone()
}

fn measure() -> Value {
    let output = bench(&[
        "barrier",
        "--tasks",
        "2",
        "--iterations",
        "20",
        "--degree",
        "2",
        // All samples, also where other processes disturb them.
        "--deadline",
        "10m",
        "--json",
    ]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    serde_json::from_slice(&output.stdout).expect("one object")
}

/// Replaces what was measured by figures of a quiet machine: 20 samples within 4 % above `ns` times
/// the number of the figure.
fn quiet(mut document: Value, ns: f64) -> Value {
    for (at, figure) in figures(&mut document).iter_mut().enumerate() {
        let samples =
            (0..20).map(|sample| ns * (at + 1) as f64 * (1.0 + f64::from(sample) / 500.0));
        figure["samples_ns"] = samples.collect();
        figure["doubts"] = json!([]);
    }
    document
}

fn figures(document: &mut Value) -> &mut Vec<Value> {
    document["figures"].as_array_mut().expect("an array")
}

/// Makes the phaser slower.
fn slowed(mut document: Value, factor: f64) -> Value {
    for figure in figures(&mut document) {
        if figure["figure"]
            .as_str()
            .expect("a name")
            .contains(": phaser")
        {
            for sample in figure["samples_ns"].as_array_mut().expect("an array") {
                *sample = (sample.as_f64().expect("a number") * factor).into();
            }
        }
    }
    document
}

fn kept(name: &str, document: &Value) -> Scratch {
    let file = Scratch::new(name);
    std::fs::write(&file.0, document.to_string()).expect("a file");
    file
}

fn path(file: &Scratch) -> &str {
    file.0.to_str().expect("a name of text")
}

#[test]
fn a_document_names_the_machine_and_the_build_and_has_all_samples() {
    let document = measured();
    assert_eq!(document["schema"], 2);
    let machine = &document["machine"];
    assert_eq!(machine["architecture"], std::env::consts::ARCH);
    let cpus = machine["cpus"].as_array().expect("an array");
    assert_eq!(cpus.len(), tautline::Machine::discover().cpus().len());
    if cfg!(target_os = "linux") {
        assert!(machine["kernel"].is_string(), "{machine}");
    }
    assert_eq!(document["build"]["version"], env!("CARGO_PKG_VERSION"));
    let rows = document["barriers"][0]["kinds"].as_array().expect("rows");
    for row in rows {
        let name = format!("2 tasks: {}", row["kind"].as_str().expect("a name"));
        let all = document["figures"].as_array().expect("figures").iter();
        let figure = all.clone().find(|one| one["figure"] == name.as_str());
        let figure = figure.unwrap_or_else(|| panic!("no {name} in {document}"));
        assert_eq!(figure["bench"], "barrier");
        assert_eq!(figure["samples_ns"].as_array().map(Vec::len), Some(20));
        assert_eq!(figure["median_ns"], row["median_ns"]);
    }
}

#[test]
fn figures_against_themselves_are_equal_and_a_slower_phaser_is_found() {
    let before = quiet(measured(), 150.0);
    let count = before["figures"].as_array().expect("figures").len();
    let old = kept("before.json", &before);
    let output = bench(&["show", path(&old), "--against", path(&old)]);
    let table = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    let summary = format!("{count} figures equal within the noise, 0 worse, 0 better");
    assert!(table.replace('\n', " ").contains(&summary), "{table}");

    let new = kept("slowed.json", &slowed(before, 1.2));
    let output = bench(&["show", path(&new), "--against", path(&old)]);
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{table}");
    let worse: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("worse: "))
        .collect();
    assert_eq!(worse.len(), 1, "{table}");
    assert!(worse[0].contains("2 tasks: phaser, degree 2"), "{table}");
    let said = text(&output.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("1 figure is worse"), "{said}");

    let output = bench(&["show", path(&old), "--against", path(&new), "--json"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    let found: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(found["against"]["better"][0]["bench"], "barrier");
    assert_eq!(found["against"]["worse"], json!([]));
}

#[test]
fn a_disturbed_measurement_gets_no_verdict() {
    let before = quiet(measured(), 150.0);
    let mut after = slowed(before.clone(), 9.0);
    let doubt = "other programs used 40 % of the processors";
    for figure in figures(&mut after) {
        figure["doubts"] = json!([doubt]);
    }
    let (old, new) = (kept("calm.json", &before), kept("stormy.json", &after));
    let output = bench(&["show", path(&new), "--against", path(&old)]);
    let table = text(&output.stdout).replace('\n', " ");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    assert!(table.contains("no verdict on barrier ("), "{table}");
    assert!(table.contains(doubt), "{table}");
    assert!(!table.contains("worse: "), "{table}");
}

#[test]
fn files_that_cannot_be_compared_or_written_get_one_line() {
    let good = quiet(measured(), 150.0);
    let own = kept("own.json", &good);
    let schema = kept("schema.json", &{
        let mut other = good.clone();
        other["schema"] = 1.into();
        other
    });
    let machine = kept("machine.json", &{
        let mut other = good.clone();
        other["machine"]["model"] = "Z80".into();
        other
    });
    let cut = Scratch::new("cut.json");
    let all = good.to_string();
    std::fs::write(&cut.0, &all[..all.len() / 2]).expect("a file");
    let other = kept("other.json", &json!({"schema": 2, "application": "uts"}));
    let unlike = kept("unlike.json", &json!([1, 2]));
    let quick = "--tasks 2 --iterations 20 --degree 2 --against";
    for (file, names) in [
        (path(&schema), ["expected schema 2", "found 1"]),
        (path(&machine), ["figures of this machine", "Z80"]),
        (path(&cut), ["expected what tautline bench", "EOF"]),
        (path(&other), ["expected what tautline bench", "machine"]),
        (path(&unlike), ["expected what tautline bench", "schema"]),
        (
            "/no/such.json",
            ["expected what tautline bench", "No such file"],
        ),
    ] {
        let measure: Vec<&str> = "barrier "
            .split_whitespace()
            .chain(quick.split(' '))
            .collect();
        for args in [&measure[..], &["show", path(&own), "--against"]] {
            let output = bench(&[args, &[file]].concat());
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{args:?} {file}: {said}");
            assert_eq!(
                (said.lines().count(), text(&output.stdout)),
                (1, ""),
                "{said}"
            );
            for name in names.into_iter().chain(["--against", file]) {
                assert!(said.contains(name), "no {name:?} in {said}");
            }
        }
    }
    let output = bench(&["show", path(&own), "--html", "/no/such/page.html"]);
    let said = text(&output.stderr);
    assert_eq!(
        (output.status.code(), said.lines().count()),
        (Some(2), 1),
        "{said}"
    );
    assert!(said.contains("--html /no/such/page.html"), "{said}");
}

#[test]
fn a_page_is_complete_by_itself() {
    let mut document = quiet(measured(), 150.0);
    document["machine"]["cpus"] = (0..4)
        .map(|id| json!({"id": id, "core": id, "node": null, "package": 0}))
        .collect();
    document["pairs"] = [[0, 1], [0, 2], [3, 1]]
        .map(|cpus| json!({"cpus": cpus, "samples_ns": [100.0 * f64::from(cpus[1])]}))
        .into_iter()
        .collect();
    let (kept, page) = (kept("page.json", &document), Scratch::new("page.html"));
    let output = bench(&["show", path(&kept), "--html", path(&page)]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    let html = std::fs::read_to_string(&page.0).expect("a page");
    assert!(html.starts_with("<!doctype html>"), "{html}");
    for part in [
        "<svg ",
        "CPUs 3 and 1: 100.0 ns",
        "CPUs 1 and 3: 100.0 ns",
        "2 tasks: phaser, degree 2",
    ] {
        assert!(html.contains(part), "no {part} in {html}");
    }
    for outside in ["http", "src=", "<link", "{{"] {
        assert!(!html.contains(outside), "{outside} in {html}");
    }
}
