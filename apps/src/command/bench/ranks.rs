//! Exchanges between the two ranks that a launcher has started: `mpirun -n 2 tautline bench message`.
#![forbid(unsafe_code)]

use crate::command::{Failure, Outcome};
use std::io;
use std::sync::Arc;
use tautline::Machine;
use tautline::world::World;
use tautline_cli::bench::{Exchange, Kind, Plan, Sample};

/// A sample that both ranks are to take: the name of the exchange and the turns.
type Request = (String, u32);

/// Sends the request of rank 0 to the other one; `None`: there are no more. Both ranks must call it at the same place.
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
                let wanted = Some((name.to_owned(), plan.iterations));
                request(&world, wanted).map_err(io::Error::other)?;
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
    while let Some((name, iterations)) = request(world, None)? {
        let exchange = Exchange::named(&name).expect("rank 0 runs the same program");
        let plan = Plan {
            cpus: cpus.iter().take(1).copied().collect(),
            iterations,
            delay: 0,
            stop: Arc::default(),
        };
        let _: Sample = exchange.sample(world, &plan).map_err(lost)?;
    }
    Ok(())
}
