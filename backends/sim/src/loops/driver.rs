//! Machines of `defer` in virtual time: a chunk takes as long as its iterations, iterations that
//! are sent take time each.

use crate::protocol::{CallsOf, Driver, EventOf, MessageOf, Part, Setup, Weight};
use crate::{self as sim, Cluster};
use std::marker::PhantomData;
use std::ops::Range;
use tautline_core::defer::{Effect, Event, Scheduler};
use tautline_core::machine::Pick;

/// Pseudo-random numbers.
#[derive(Clone, Copy, Debug)]
struct Random(u64);

impl Pick for Random {
    fn pick(&mut self, n: u32) -> u32 {
        let multiplier = 6_364_136_223_846_793_005_u64;
        self.0 = self.0.wrapping_mul(multiplier).wrapping_add(1);
        (self.0 >> 33) as u32 % n
    }
}

/// Costs in addition to those of iterations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A chunk.
    pub chunk_ns: u64,
    /// A message.
    pub message_ns: u64,
    /// An iteration that is sent, in addition to its message.
    pub moved_ns: u64,
}

impl Costs {
    /// Returns those of a loop whose iterations take `mean_ns` on average: a tenth for a chunk, a
    /// fifth for a message, a twentieth for an iteration (spec 5.4 of Lucco 1995, model M2).
    pub fn of(mean_ns: u64) -> Self {
        Self {
            chunk_ns: mean_ns / 10,
            message_ns: mean_ns / 5,
            moved_ns: mean_ns / 20,
        }
    }

    fn cluster(&self) -> Cluster {
        Cluster {
            wake_ns: 0,
            spin_ns: 0,
            node_places: 1,
            far_ns: self.message_ns,
            near_ns: self.message_ns,
            hop_ns: 0,
            gap_ns: 0,
            mb_per_s: 0,
            ..sim::Machine::default().cluster
        }
    }
}

/// A rank in virtual time.
struct Driven<'a, M> {
    costs: Costs,
    /// By instance, the times of iterations. No further instance is executed.
    times: &'a [Vec<u64>],
    has_begun: bool,
    /// The chunk that is to be executed.
    chunk: Option<Vec<Range<u64>>>,
    /// The iterations executed.
    executed: Vec<u64>,
    /// By instance, when the first chunk began, and the last one ended.
    began: Vec<u64>,
    ended: Vec<u64>,
    machine: PhantomData<M>,
}

impl<M: Scheduler> Driver for Driven<'_, M> {
    type Machine = M;
    type Calls = Random;

    /// Messages without iterations, and with some.
    const KINDS: usize = 2;

    fn calls(random: &mut Random) -> &mut CallsOf<Self> {
        M::calls(random)
    }

    fn work(&mut self, machine: &M, now: u64) -> Option<(u64, EventOf<Self>)> {
        if !self.has_begun {
            self.has_begun = true;
            return Some((0, Event::Begin));
        }
        let instance = machine.instance() as usize;
        let all = self.times.get(instance)?;
        let chunk: Vec<u64> = self.chunk.take()?.into_iter().flatten().collect();
        let times: Vec<u64> = chunk.iter().map(|at| all[*at as usize]).collect();
        self.executed.extend(chunk);
        let ns = self.costs.chunk_ns + times.iter().sum::<u64>();
        self.began[instance] = now.min(self.began[instance]);
        self.ended[instance] = now + ns;
        Some((ns, Event::Executed(M::times(&times))))
    }

    fn effect(&mut self, effect: Effect, _: u64) -> Option<EventOf<Self>> {
        if let Effect::Execute(parts) = effect {
            self.chunk = Some(parts);
        }
        None
    }

    fn weigh(&self, message: &MessageOf<Self>) -> Weight {
        let parts = M::moved(message).iter();
        let load = parts.map(|part| part.end - part.start).sum();
        Weight {
            kind: usize::from(load > 0),
            bytes: load,
            delay_ns: load * self.costs.moved_ns,
        }
    }
}

/// Runs the instances with these times. Returns for each the longest time that a rank took, which
/// is that of the instance if all ranks begin it together; and by rank, the iterations that it
/// executed, those of all instances.
///
/// # Panics
/// If there is no rank.
pub fn run<M: Scheduler>(
    machines: Vec<M>,
    times: &[Vec<u64>],
    costs: Costs,
) -> (Vec<u64>, Vec<Vec<u64>>) {
    let driven = |(machine, random)| Part {
        machine,
        calls: Random(random),
        driver: Driven {
            costs,
            times,
            has_begun: false,
            chunk: None,
            executed: Vec::new(),
            began: vec![u64::MAX; times.len()],
            ended: vec![0; times.len()],
            machine: PhantomData,
        },
    };
    let setup = Setup {
        cluster: costs.cluster(),
        ..Setup::default()
    };
    let outcome = setup.run(machines.into_iter().zip(0..).map(driven).collect());
    let ranks = outcome.parts.into_iter().map(|part| part.driver);
    let ranks: Vec<_> = ranks.collect();
    let span = |at: usize| {
        let took = ranks
            .iter()
            .map(|rank| rank.ended[at].saturating_sub(rank.began[at]));
        took.max().unwrap_or(0)
    };
    let spans = (0..times.len()).map(span).collect();
    (spans, ranks.into_iter().map(|rank| rank.executed).collect())
}
