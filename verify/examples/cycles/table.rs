//! The tables, as Markdown.

use super::barriers::{Place, Way};
use super::phasers::{Kind, Reading, measure};
use super::ring;
use std::sync::Arc;
use tautline_sim::memory::{CYCLOPS64, Machine, NIAGARA2, POWER7, Region, XEON};
use tautline_verify::virtual_time::Virtual;

const EPISODES: u64 = 20;

const BY_HAND: [Way; 3] = [Way::Central, Way::Flat, Way::Tree(4)];

const PHASERS: [Kind; 9] = [
    Kind::Flat,
    Kind::Tiered(2),
    Kind::Tiered(4),
    Kind::Tiered(8),
    Kind::Tiered(16),
    Kind::Tree(2),
    Kind::Tree(4),
    Kind::Tree(8),
    Kind::Tree(16),
];

/// The location of a program's words.
#[derive(Clone, Copy)]
struct Setting {
    name: &'static str,
    machine: Machine,
    region: Region,
}

const SRAM: Setting = setting("Cyclops64, SRAM", CYCLOPS64, Region::OnChip);
const DRAM: Setting = setting("Cyclops64, DRAM", CYCLOPS64, Region::OffChip);

const fn setting(name: &'static str, machine: Machine, region: Region) -> Setting {
    Setting {
        name,
        machine,
        region,
    }
}

impl Setting {
    fn machine(&self) -> Virtual {
        Virtual::new(self.machine).place_all(self.region).patient()
    }

    fn phaser(&self, kind: Kind, threads: usize) -> Reading {
        measure(&self.machine(), kind, threads, EPISODES as usize)
    }

    /// Cycles per episode of `way` among this number of threads.
    fn by_hand(&self, way: Way, threads: usize) -> u64 {
        let place = Arc::new(Place::new(threads));
        let pass = move |episodes: u64| {
            let place = Arc::clone(&place);
            move |port: &_| place.pass(way, episodes as usize, port)
        };
        // Everything before the first episode is excluded.
        let before = self.machine().run(threads, pass(0)).last();
        (self.machine().run(threads, pass(EPISODES)).last() - before) / EPISODES
    }
}

/// Prints a row for each barrier, a column for each number of threads.
pub(crate) fn print(threads: &[usize]) {
    let power = setting("POWER7", POWER7, Region::OnChip);
    let niagara = setting("Niagara T2", NIAGARA2, Region::OnChip);
    let xeon = setting("Xeon", XEON, Region::OnChip);
    for setting in [SRAM, DRAM, power, niagara, xeon] {
        let has_lines = setting.machine.signals.lines > 0;
        head(
            &format!("{}: cycles an episode", setting.name),
            threads.iter().filter(|n| **n <= setting.machine.threads),
        );
        let row = |name: String, cell: &dyn Fn(usize) -> u64| {
            let fits = threads.iter().filter(|n| **n <= setting.machine.threads);
            let cells: String = fits.map(|n| format!(" {} |", cell(*n))).collect();
            println!("| {name} |{cells}");
        };
        for kind in PHASERS {
            row(name(kind), &|n| setting.phaser(kind, n).cycles);
        }
        let asleep = Kind::Awake(4);
        row(name(asleep), &|n| setting.phaser(asleep, n).cycles);
        if has_lines {
            let lines = Kind::Lines(4);
            row(name(lines), &|n| setting.phaser(lines, n).cycles);
            for way in [Way::Hardware, Way::Awake(4)] {
                row(by_hand(way), &|n| setting.by_hand(way, n));
            }
        }
        for way in BY_HAND {
            row(by_hand(way), &|n| setting.by_hand(way, n));
        }
    }
    few([power, niagara, xeon]);
    rings();
    traffic(threads.iter().copied().max().unwrap_or(160));
}

fn head<T: std::fmt::Display>(title: &str, columns: impl Iterator<Item = T>) {
    let columns: Vec<_> = columns.collect();
    let cells: String = columns.iter().map(|cell| format!(" {cell} |")).collect();
    println!("\n## Simulated: {title}\n\n| |{cells}");
    println!("|---|{}", "---:|".repeat(columns.len()));
}

fn name(kind: Kind) -> String {
    match kind {
        Kind::Flat => "flat".into(),
        Kind::Tiered(degree) => format!("tiered, degree {degree}"),
        Kind::Tree(degree) => format!("tree, degree {degree}"),
        Kind::Lines(degree) => format!("tree, degree {degree}, with a line"),
        Kind::Awake(degree) => format!("tree, degree {degree}, suspend and awake"),
    }
}

fn by_hand(way: Way) -> String {
    match way {
        Way::Central => "by hand: a counter".into(),
        Way::Flat => "by hand: flat".into(),
        Way::Tree(degree) => format!("by hand: tree, degree {degree}"),
        Way::Awake(degree) => format!("by hand: tree, degree {degree}, suspend and awake"),
        Way::Hardware => "by hand: a line".into(),
        Way::Watch(1) => "by hand: each watches all, a cache line each".into(),
        Way::Watch(words) => {
            format!("by hand: each watches all, the first {words} on one cache line")
        }
    }
}

/// Few threads on cores of their own that watch each other: how many of their words should share a
/// cache line.
fn few(settings: [Setting; 3]) {
    for setting in settings {
        let title = format!("{}, few threads: cycles an episode", setting.name);
        head(&title, [2, 3, 4].iter());
        for words in [1, 2, 3, 4] {
            let way = Way::Watch(words);
            let cells = [2, 3, 4].map(|n| format!(" {} |", setting.by_hand(way, n)));
            println!("| {} |{}", by_hand(way), cells.concat());
        }
        for kind in [Kind::Tree(4), Kind::Tree(8)] {
            let cells = [2, 3, 4].map(|n| format!(" {} |", setting.phaser(kind, n).cycles));
            println!("| {} |{}", name(kind), cells.concat());
        }
    }
}

fn rings() {
    let tasks = [2, 8, 16, 32, 64];
    head("Cyclops64: cycles a hop in a ring of tasks", tasks.iter());
    for setting in [SRAM, DRAM] {
        for (name, interrupts) in [("busy-wait", false), ("suspend and awake", true)] {
            let hop = |n: &usize| ring::hop(&setting.machine(), *n, interrupts);
            let cells: String = tasks.iter().map(|n| format!(" {} |", hop(n))).collect();
            println!("| {}, {name} |{cells}", setting.region_name());
        }
    }
}

impl Setting {
    fn region_name(&self) -> &'static str {
        match self.region {
            Region::OffChip => "DRAM",
            _ => "SRAM",
        }
    }
}

/// The memory accesses of an episode.
fn traffic(threads: usize) {
    let columns = [
        "loads",
        "stores",
        "updates",
        "fences",
        "lines with two writers",
    ];
    let title = format!("Cyclops64, SRAM: accesses of {threads} threads, an episode");
    head(&title, columns.iter());
    for kind in PHASERS.into_iter().chain([Kind::Awake(4), Kind::Lines(4)]) {
        let traffic = SRAM.phaser(kind, threads).traffic;
        let sum = traffic.sum();
        let shared = traffic.lines.iter().filter(|line| line.writers > 1).count();
        let [loads, stores, updates, fences] = [sum.loads, sum.stores, sum.updates, traffic.fences]
            .map(|all| all as f64 / EPISODES as f64);
        println!(
            "| {} | {loads:.0} | {stores:.0} | {updates:.0} | {fences:.0} | {shared} |",
            name(kind)
        );
    }
}
