//! The tables, in Markdown.

use crate::machine::{load, said_by, version};
use crate::membership::{self, Bytes};
use crate::programs::Program;
use crate::{PROCESSORS, Section};
use tautline::Machine;
use tautline::bench::{Comparison, Row, Setting, Spread};

pub fn print_head(
    machine: &Machine,
    setting: &Setting,
    sections: &[Section],
    programs: &[Program],
    quick: bool,
) {
    println!("# Phasers beside what is used in their place\n");
    println!("```sh");
    println!("benches/peers.sh SOURCES OUT       # peers in C, C++ and Java; optional");
    println!(
        "cargo run --release -p tautline-bench --example phasers -- --peers OUT/peers.tsv > benches/PHASERS.md"
    );
    println!("```\n");
    if quick {
        println!("Quick: few samples, whose figures say nothing.\n");
    }
    let known = |program: &&Program| sections.iter().any(|section| section.name == program.row);
    let mut peers = ["hurdles", "tokio"]
        .map(|name| format!("{name} {}", version(name)))
        .to_vec();
    for program in programs.iter().filter(known) {
        if !peers.contains(&program.who) {
            peers.push(program.who.clone());
        }
    }
    println!(
        "{}, {} processors, of which {} are used; load {}; {}. Peers: {}.",
        machine.model().unwrap_or("unknown processor"),
        machine.allowed().len(),
        setting.cpus.len().min(PROCESSORS),
        load(),
        said_by("rustc").unwrap_or("unknown compiler".into()),
        peers.join(", "),
    );
    println!(
        "Medians [least most] of {} samples, each by fresh threads or a fresh process, all in turn; pinned, the n-th thread \
         to the n-th processor in turn. After x: how many round trips of a cache line between the processors, measured in \
         the same rounds. How: `tautline bench barrier --help`.",
        setting.samples
    );
}

pub fn print_section(section: &Section, comparisons: &[Comparison]) {
    println!("\n## {}\n", section.title);
    let head = |text: &str, each: &dyn Fn(&Comparison) -> String| {
        let cells: Vec<String> = comparisons.iter().map(each).collect();
        println!("| {text} | {} |", cells.join(" | "));
    };
    head("", &|column| format!("{} {}", column.tasks, section.unit));
    println!("|---|{}", "---|".repeat(comparisons.len()));
    head("round trip of a cache line", &|column| {
        figures(&column.round_trips)
    });
    for (at, kind) in section.kinds.iter().enumerate() {
        head(kind.name(), &|column| {
            let Row { samples, .. } = &column.rows[at];
            let ratio = column.ratio(&column.rows[at]).filter(|_| section.threads);
            let times = ratio.map_or(String::new(), |ratio| format!(" x{}", short(ratio)));
            format!("{}{times}", figures(samples))
        });
    }
    if section.kinds.len() > 1 || comparisons.iter().any(|column| !column.doubts.is_empty()) {
        head("fastest", &judged);
    }
}

fn judged(column: &Comparison) -> String {
    let name = |row: usize| column.rows[row].name.as_str();
    if let Some(verdict) = column.verdict() {
        let level = verdict.level.iter().map(|&row| format!(", {}", name(row)));
        return format!("{}{}", name(verdict.fastest), level.collect::<String>());
    }
    match column.doubts.is_empty() {
        true => String::new(),
        false => {
            let doubts: Vec<String> = column.doubts.iter().map(ToString::to_string).collect();
            format!("no verdict: {}", doubts.join("; "))
        }
    }
}

/// Bytes a task, for each of so many.
pub fn print_bytes(columns: impl Iterator<Item = usize>) {
    let columns: Vec<(usize, Vec<Bytes>)> = columns
        .map(|tasks| (tasks, membership::bytes(tasks)))
        .collect();
    println!("\n## Memory, bytes a task\n");
    let heads: Vec<String> = columns
        .iter()
        .map(|(tasks, _)| format!("{tasks} tasks"))
        .collect();
    println!("| | {} |", heads.join(" | "));
    println!("|---|{}", "---|".repeat(columns.len()));
    let rows = columns.first().map_or(0, |(_, rows)| rows.len());
    for at in 0..rows {
        let cells: Vec<String> = columns.iter().map(|(_, rows)| short(rows[at].1)).collect();
        println!("| {} | {} |", columns[0].1[at].0, cells.join(" | "));
    }
}

pub fn print_foot() {
    println!("\nLoad at the end: {}.", load());
}

fn figures(samples: &[f64]) -> String {
    Spread::of(samples).map_or("-".into(), |spread| {
        let Spread {
            least,
            median,
            most,
            ..
        } = spread;
        format!("{} [{} {}]", short(median), short(least), short(most))
    })
}

/// Three digits that count.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}
