//! Exchanges of the two ranks of a world.
#![forbid(unsafe_code)]

use super::super::team::merged;
use super::super::{Plan, Sample};
use super::exchange::Exchange;
use super::observed::{CHUNK, threads};
use std::hint::black_box;
use std::io;
use std::ops::BitOr;
use std::time::{Duration, Instant};
use tautline::comm::{Comm, Tag};
use tautline::world::{Rank, World};

impl Exchange {
    /// Takes a sample of the two ranks of `world`, which both call it, each with the processor of
    /// its own thread. Rank 0 gets the time, and what the threads of both lost.
    ///
    /// # Errors
    /// A thread that the system refused; the loss of the other rank.
    pub fn sample(self, world: &World, plan: &Plan) -> io::Result<Sample> {
        let mut turned = Ok(f64::NAN);
        let body = || {
            turned = turn(self, world, plan);
            *turned.as_ref().unwrap_or(&f64::NAN)
        };
        let own = threads(plan, vec![Box::new(body)])?;
        turned?;
        let all = world.gather(own).map_err(io::Error::other)?;
        Ok(all.map_or(own, merged))
    }
}

/// Returns the nanoseconds of a turn, as both ranks do it.
pub(super) fn turn(exchange: Exchange, world: &World, plan: &Plan) -> io::Result<f64> {
    match exchange {
        Exchange::Message(bytes) => {
            let mut messages = Messages::new(world, bytes);
            measured(world, plan, || messages.round_trip())
        }
        Exchange::Barrier => measured(world, plan, || world.barrier()),
        Exchange::AllReduce => measured(world, plan, || {
            let sum = world.all_reduce(black_box(1_u64), |one, other| one + other);
            sum.map(|sum| _ = black_box(sum))
        }),
    }
}

fn measured<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    world: &World,
    plan: &Plan,
    mut one: impl FnMut() -> Result<(), E>,
) -> io::Result<f64> {
    let mut all = |turns: u32| {
        let (mut done, mut time) = (0, Duration::ZERO);
        // Both ranks must end after the same turn: they agree before each chunk, whose time alone
        // counts.
        while done < turns && !is_stopped(world, plan)? {
            let next = CHUNK.min(turns - done);
            let start = Instant::now();
            for _ in 0..next {
                one().map_err(io::Error::other)?;
            }
            time += start.elapsed();
            done += next;
        }
        Ok(time.as_nanos() as f64 / f64::from(done))
    };
    all(plan.iterations / 10 + 1)?;
    all(plan.iterations)
}

/// Whether the measurement is stopped at either rank.
fn is_stopped(world: &World, plan: &Plan) -> io::Result<bool> {
    let stopped = world.all_reduce(plan.stop.is_stopped(), BitOr::bitor);
    stopped.map_err(io::Error::other)
}

/// Messages of a communicator, whose buffers are used again.
struct Messages {
    comm: Comm,
    is_first: bool,
    other: Rank,
    buffers: [Vec<u8>; 2],
}

impl Messages {
    fn new(world: &World, bytes: usize) -> Self {
        Self {
            comm: world.comm(),
            is_first: world.is_home(),
            other: Rank(1 - world.rank().0),
            buffers: [vec![7; bytes], vec![0; bytes]],
        }
    }

    fn round_trip(&mut self) -> Result<(), tautline::comm::Error> {
        let [sent, received] = std::mem::take(&mut self.buffers);
        let received = self.comm.irecv_vec(received, self.other, Tag(0));
        let send = || {
            self.comm
                .isend_vec(sent, self.other, Tag(0))
                .wait_blocking()
        };
        self.buffers = if self.is_first {
            [send()?.value, received.wait_blocking()?.value]
        } else {
            let received = received.wait_blocking()?.value;
            [send()?.value, received]
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tautline::balance::Reason;
    use tautline::world;

    fn plan(iterations: u32) -> Plan {
        Plan {
            cpus: vec![tautline_node::Machine::discover().cpus()[0]],
            iterations,
            delay: 0,
            stop: Arc::default(),
        }
    }

    #[test]
    fn both_ranks_take_a_sample_of_which_the_first_has_the_whole() {
        for bench in ["message", "collective"] {
            for (name, exchange) in Exchange::of(bench) {
                let samples = world::loopback(2, |world| exchange.sample(world, &plan(100)));
                let [first, second]: [Sample; 2] = samples
                    .into_iter()
                    .map(|sample| sample.expect("both ranks live"))
                    .collect::<Vec<_>>()
                    .try_into()
                    .expect("two ranks");
                assert!(first.ns > 0.0, "{name}: {first:?}");
                assert!(first.lost.of > second.lost.of, "{first:?} {second:?}");
            }
        }
    }

    #[test]
    fn a_sample_that_one_rank_stops_ends_at_both() {
        for (_, exchange) in Exchange::of("message").chain(Exchange::of("collective")) {
            let samples = world::loopback(2, |world| {
                // Days.
                let plan = plan(u32::MAX);
                if world.is_home() {
                    plan.stop.stop(Reason::Deadline);
                }
                exchange.sample(world, &plan)
            });
            assert!(samples.iter().all(Result::is_ok), "{samples:?}");
        }
    }
}
