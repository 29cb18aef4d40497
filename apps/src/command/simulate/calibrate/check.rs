//! `tautline simulate --calibrate --check`: real runs on this machine against the same runs in the
//! model.
//!
//! # Algorithm
//! Rounds, so that a drift of the machine affects all alike: in each, the tree is searched without
//! a balancer by one thread and by two at once, which is what a task takes, and then by every
//! arrangement. Medians are compared. What a task takes is measured with as many threads as the
//! arrangement has, since processors may share a core, a cache or a clock. Ranks are simulated with
//! several costs of encoding, to show how much depends on them.

use super::bench::spread;
use crate::command::show::{document, object};
use crate::command::{Failure, Outcome, deliver};
use serde_json::{Value, json};
use std::thread;
use std::time::Instant;
use tautline::balance::{Bag, PlaceId};
use tautline::machines::Description;
use tautline::runtime::Builder;
use tautline::world;
use tautline_cli::bench::Spread;
use tautline_cli::uts::{Counts, Tree, Uts, named};
use tautline_sim::{Ranks, Simulation};

const ROUNDS: usize = 7;

/// Places, and workers of each; every place may be a rank.
struct Arrangement {
    name: &'static str,
    places: u32,
    workers: usize,
    ranks: bool,
}

const ARRANGEMENTS: [Arrangement; 4] = [
    Arrangement {
        name: "1 x 1",
        places: 1,
        workers: 1,
        ranks: false,
    },
    Arrangement {
        name: "1 x 2",
        places: 1,
        workers: 2,
        ranks: false,
    },
    Arrangement {
        name: "2 x 1",
        places: 2,
        workers: 1,
        ranks: false,
    },
    Arrangement {
        name: "2 ranks x 1",
        places: 2,
        workers: 1,
        ranks: true,
    },
];

impl Arrangement {
    fn builder(&self) -> Builder {
        Builder::new().places(self.places).workers(self.workers)
    }
}

/// The tree and its name.
struct Search {
    name: &'static str,
    nodes: u64,
    params: tautline_cli::uts::Params,
}

/// An arrangement with its medians, in seconds.
struct Row {
    name: &'static str,
    /// The time of one thread for its share, if nothing is lost.
    alone: f64,
    real: Spread,
    model: f64,
    /// Of ranks: by the cost of encoding, what the model takes and the messages in it.
    encoded: Vec<(&'static str, f64, u64)>,
}

/// The costs of encoding that are tried: a name, and the multiple of the measured ones, as a
/// fraction.
const ENCODINGS: [(&str, [u64; 2]); 4] = [
    ("none", [0, 1]),
    ("halved", [1, 2]),
    (MEASURED, [1, 1]),
    ("doubled", [2, 1]),
];
const MEASURED: &str = "as measured";

/// Returns a multiple of the costs of encoding.
fn scaled(ranks: Ranks, [times, parts]: [u64; 2]) -> Ranks {
    let rate = |mb_per_s: u64| match times {
        0 => 0,
        times => (mb_per_s * parts / times).max(1),
    };
    Ranks {
        message_ns: ranks.message_ns * times / parts,
        encode_mb_per_s: rate(ranks.encode_mb_per_s),
        decode_mb_per_s: rate(ranks.decode_mb_per_s),
        ..ranks
    }
}

/// Compares real runs of the tree of that name with those on `machine`, and prints a table or data.
pub(super) fn run(name: &str, machine: &Description, as_json: bool) -> Outcome {
    let known = named::find(name).map_err(|error| Failure::Usage(format!("--check {error}")))?;
    let search = Search {
        name: known.name,
        nodes: known.nodes,
        params: known.params,
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let fits = |of: &&Arrangement| of.places as usize * of.workers <= processors;
    let here: Vec<&Arrangement> = ARRANGEMENTS.iter().filter(fits).collect();
    let mut alone = vec![Vec::new(); 2];
    let mut real = vec![Vec::new(); here.len()];
    for _ in 0..ROUNDS {
        for threads in 1..=processors.min(2) {
            alone[threads - 1].push(search.alone(threads));
        }
        for (of, times) in here.iter().zip(&mut real) {
            times.push(search.real(of)?);
        }
    }
    let rows = here.into_iter().zip(real).map(|(of, real)| {
        let threads = of.places as usize * of.workers;
        let each = spread(&alone[threads - 1]).median / threads as f64;
        let model = |multiple| {
            let run = search.simulate(of, machine, multiple, each * threads as f64);
            (each / run.efficiency, run.messages)
        };
        let encodings = ENCODINGS.iter().filter(|_| of.ranks);
        Row {
            name: of.name,
            alone: each,
            real: spread(&real),
            model: model([1, 1]).0,
            encoded: encodings
                .map(|&(name, multiple)| {
                    let (seconds, messages) = model(multiple);
                    (name, seconds, messages)
                })
                .collect(),
        }
    });
    let rows: Vec<Row> = rows.collect();
    match as_json {
        true => {
            let rows: Vec<Value> = rows.iter().map(Row::json).collect();
            let object = object([
                ("tree", search.name.into()),
                ("rounds", ROUNDS.into()),
                ("processors", processors.into()),
                ("rows", rows.into()),
            ]);
            deliver(&document(object))
        }
        false => deliver(&table(&search, processors, &rows)),
    }
}

impl Search {
    fn tree(&self) -> Tree {
        Tree::new(self.params).expect("named trees are valid")
    }

    /// Returns what a search without a balancer takes by each of `threads` threads, on average.
    fn alone(&self, threads: usize) -> f64 {
        let one = || {
            let tree = self.tree();
            let mut bag = Uts::root(&tree);
            let start = Instant::now();
            while bag.process(usize::MAX, &tree) > 0 {}
            start.elapsed().as_secs_f64()
        };
        let times: Vec<f64> = thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
            let join = |one: thread::ScopedJoinHandle<'_, f64>| one.join().expect("a search ends");
            all.into_iter().map(join).collect()
        });
        times.iter().sum::<f64>() / threads as f64
    }

    /// Returns what a balanced search takes on this machine.
    fn real(&self, of: &Arrangement) -> Result<f64, Failure> {
        let bag = || Uts::root(&self.tree());
        let (nodes, elapsed) = match of.ranks {
            false => {
                // Kept runtimes would be pinned to the same processors.
                let rt = of.builder().build()?;
                let run = rt
                    .balancer()
                    .run(bag(), |_| self.tree(), Counts::default())?;
                (run.output.nodes, run.elapsed)
            }
            true => {
                let runs = world::loopback(of.places, |world| {
                    let builder = Builder::new().workers(of.workers);
                    let rt = builder.pinned(false).build()?;
                    let balancer = rt.balancer().across(world);
                    balancer.run(bag(), |_| self.tree(), Counts::default())
                });
                let first = runs.into_iter().next().expect("a rank");
                let run = first.map_err(|error| Failure::Check(error.to_string()))?;
                (run.output.nodes, run.elapsed)
            }
        };
        match nodes == self.nodes {
            true => Ok(elapsed.as_secs_f64()),
            false => Err(Failure::Check(format!("{}: {nodes} nodes", self.name))),
        }
    }

    /// Simulates a run whose tasks take `seconds` in all, with this multiple of the cost of
    /// encoding.
    fn simulate(
        &self,
        of: &Arrangement,
        machine: &Description,
        encoding: [u64; 2],
        seconds: f64,
    ) -> tautline_sim::Outcome<Counts> {
        let plan = of.builder().plan().expect("an arrangement that ran");
        let mut config = plan.balancing;
        config.places = of.places;
        config.workers = of.workers;
        let task_ns = (seconds * 1e9 / self.nodes as f64).round().max(1.0) as u64;
        let mut machine = machine.machine(of.places, of.workers as u32, task_ns);
        machine.cluster.node_places = of.places;
        if of.ranks {
            // Each rank has a thread that sends and receives, which sleeps on either side.
            machine.cluster.near_ns += 2 * machine.cluster.wake_ns;
            machine.cluster.ranks = Ranks {
                places: 1,
                ..scaled(machine.cluster.ranks, encoding)
            };
        }
        let bag = Uts::root(&self.tree());
        let shared = |_: PlaceId| self.tree();
        Simulation::new(config, machine).run(bag, shared, Counts::default(), |_, _| ())
    }
}

impl Row {
    fn json(&self) -> Value {
        json!({
            "arrangement": self.name, "alone_s": self.alone, "model_s": self.model,
            "real_s": {"min": self.real.least, "median": self.real.median, "max": self.real.most},
            "model_real": self.model / self.real.median,
            "encoding": self.encoded.iter().map(|(name, model, messages)| json!({
                "cost": name, "model_s": model, "messages": messages,
            })).collect::<Vec<_>>(),
        })
    }
}

fn table(search: &Search, processors: usize, rows: &[Row]) -> String {
    let mut text = format!(
        "{}, {} nodes; {processors} processors; medians of {ROUNDS} rounds\n\n\
         | places x workers | without balancer | real | from | to | model | model / real |\n\
         |---|---|---|---|---|---|---|\n",
        search.name, search.nodes
    );
    for row in rows {
        let [alone, real, least, most, model] = [
            row.alone,
            row.real.median,
            row.real.least,
            row.real.most,
            row.model,
        ]
        .map(|seconds| format!("{:.1} ms", seconds * 1e3));
        let ratio = row.model / row.real.median;
        text += &format!(
            "| {} | {alone} | {real} | {least} | {most} | {model} | {ratio:.3} |\n",
            row.name
        );
    }
    for row in rows.iter().filter(|row| !row.encoded.is_empty()) {
        text += &format!(
            "\n{}, by the cost of encoding and decoding messages:\n\n\
             | encoding | model | model / real | messages |\n|---|---|---|---|\n",
            row.name
        );
        for (name, model, messages) in &row.encoded {
            let (ms, ratio) = (model * 1e3, model / row.real.median);
            text += &format!("| {name} | {ms:.3} ms | {ratio:.4} | {messages} |\n");
        }
    }
    text
}
