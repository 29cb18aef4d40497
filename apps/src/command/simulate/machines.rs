//! `tautline simulate --list-machines`: the machines that can be simulated by name.

use crate::command::{Outcome, deliver};
use clap::Args;
use std::fmt::Write as _;
use tautline::machines::{self, Description};
use tautline_sim::Shape;

/// The option in place of a simulation.
#[derive(Args, Debug)]
pub(super) struct Machines {
    /// List the machines that --machine knows by name
    #[arg(long)]
    list_machines: bool,
}

impl Machines {
    /// Whether the list was requested.
    pub(super) fn asked(&self) -> bool {
        self.list_machines
    }

    /// Prints them: a line each, and below it the sources of its figures.
    pub(super) fn list(&self) -> Outcome {
        let mut text = String::new();
        line(
            &mut text,
            [
                "name",
                "nodes x cores",
                "latency, us",
                "slowdown",
                "title, and sources",
            ],
        );
        for name in machines::names() {
            let machine = machines::find(name).expect("a built-in machine is well described");
            let slowdown = format!("{:.1}", machine.slowdown());
            let size = format!("{} x {}", machine.nodes, machine.cores);
            let (latency, sources) = (latency(&machine), machine.sources.join("; "));
            line(
                &mut text,
                [name, &size, &latency, &slowdown, &machine.title],
            );
            line(&mut text, ["", "", "", "", &sources]);
        }
        text.push_str(
            "\nLatency: within a node / to another node (+ each further hop). Slowdown: how many times \
             longer a\ntask takes than on one core of a present-day server. A file describes another \
             machine: --machine FILE.\n",
        );
        deliver(&text)
    }
}

fn line(text: &mut String, [name, size, latency, slowdown, title]: [&str; 5]) {
    let _ = writeln!(
        text,
        "{name:<14}  {size:<13}  {latency:<15}  {slowdown:>8}  {title}"
    );
}

fn latency(machine: &Description) -> String {
    let cluster = machine.costs().cluster;
    let us = |ns: u64| ns as f64 / 1e3;
    let (near, far, hop) = (us(cluster.near_ns), us(cluster.far_ns), us(cluster.hop_ns));
    match cluster.shape {
        _ if machine.nodes == 1 => format!("{near}"),
        Shape::Flat => format!("{near} / {far}"),
        _ => format!("{near} / {far} + {hop}"),
    }
}
