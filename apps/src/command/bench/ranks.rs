//! Exchanges between the two ranks that a launcher has started:
//! `mpirun -n 2 tautline bench message`.
#![forbid(unsafe_code)]

use crate::command::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::{fs, io};
use tautline::Machine;
use tautline::world::World;
use tautline_cli::bench::{Exchange, Kind, Plan, Sample};

/// A sample that both ranks are to take.
#[derive(Clone, Serialize, Deserialize)]
struct Request {
    /// The name of the exchange.
    name: String,
    turns: u32,
    /// The system of rank 0, and the processor of its thread there.
    system: String,
    cpu: usize,
}

/// Returns what distinguishes systems: the identity of this one since it was started, where it has
/// one.
fn system() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Sends the request of rank 0 to the other one; `None`: there are no more. Both ranks must call it
/// at the same place.
fn request(world: &World, of_first: Option<Request>) -> tautline::Result<Option<Request>> {
    world.broadcast(of_first)
}

/// Rank 0, which has the other one take part in each sample, and ends it when dropped.
pub(super) struct Leader(Arc<World>);

impl Leader {
    pub(super) fn of(world: World) -> Self {
        Self(Arc::new(world))
    }

    /// Returns what a benchmark measures between the ranks.
    pub(super) fn kinds(&self, bench: &str) -> Vec<Kind> {
        let kind = |(name, exchange): (&'static str, Exchange)| {
            let world = Arc::clone(&self.0);
            Kind::measured(format!("ranks, {name}"), move |plan| {
                let wanted = Request {
                    name: name.to_owned(),
                    turns: plan.iterations,
                    system: system(),
                    cpu: plan.cpus[0],
                };
                request(&world, Some(wanted)).map_err(io::Error::other)?;
                exchange.sample(&world, plan)
            })
        };
        Exchange::of(bench).map(kind).collect()
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        // The loss of the other rank was reported by the sample that it was missing from.
        let _ = request(&self.0, None);
    }
}

/// Takes part in the samples of rank 0 until it has no more.
pub(super) fn follow(world: &World) -> Outcome {
    let lost = |error: io::Error| Failure::Ranks(error.to_string());
    let cpus = Machine::discover().cpus();
    while let Some(wanted) = request(world, None)? {
        let exchange = Exchange::named(&wanted.name).expect("rank 0 runs the same program");
        let is_taken = |cpu: &usize| wanted.system == system() && *cpu == wanted.cpu;
        let own = cpus.iter().copied().find(|cpu| !is_taken(cpu));
        let plan = Plan {
            // Without a processor of its own, which launchers need not give it, it is not pinned:
            // so there is no verdict.
            cpus: vec![own.unwrap_or(usize::MAX)],
            iterations: wanted.turns,
            delay: 0,
            stop: Arc::default(),
        };
        let _: Sample = exchange.sample(world, &plan).map_err(lost)?;
    }
    Ok(())
}
