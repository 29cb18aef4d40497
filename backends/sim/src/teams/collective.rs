//! One call of a team, at any number of ranks.

use super::call::TeamOp;
use super::costs::TeamCosts;
use super::member::{Called, Caller, Op};
use crate::engine::random::Random;
use crate::protocol::{Outcome, Part};
use tautline_core::Rank;
use tautline_core::collective::{
    AllToAll, Branch, Collect, CollectForAll, Combine, CombineBefore, CombineForAll, Copies, Deal,
    Meet, Message, Operation, Pairs, Wave,
};

/// A team whose ranks make one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Teamed {
    /// Ranks and costs.
    pub costs: TeamCosts,
    /// The radix of the tree; `None`: that of the library.
    pub radix: Option<u32>,
    /// The bytes of a value.
    pub value_bytes: u64,
    /// The ranks make the call at times up to this one, evenly distributed.
    pub skew_ns: u64,
}

/// The cost of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallCost {
    /// The time from the last entry to the last return; 0 if all return before.
    pub ns: u64,
    /// The bound: [`TeamOp::latencies`] times the latency.
    pub bound_ns: u64,
    /// The messages of all ranks.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The messages that one rank sends, at most.
    pub most_sent: u64,
    /// The messages that one rank receives, at most.
    pub most_received: u64,
}

/// The ranks whose values are combined, the first and the last.
type Span = (u32, u32);

impl Teamed {
    /// Returns a call by default: values of 8 bytes, all ranks make it together.
    pub fn of(costs: TeamCosts) -> Self {
        Self {
            costs,
            radix: None,
            value_bytes: 8,
            skew_ns: 0,
        }
    }

    /// Returns the radix of the tree.
    ///
    /// # Panics
    /// If there is no rank.
    pub fn radix(&self) -> u32 {
        // A tree of few ranks has fewer children than its radix, and the same shape.
        let shipped = || Branch::of(Rank(0), self.costs.ranks).children().len() as u32;
        self.radix.unwrap_or_else(shipped).max(1)
    }

    /// Runs the call at all ranks. The result of each rank is compared with the right one, and
    /// values are combined in the order of ranks. Of an all-gather the number of values alone: at
    /// 100 000 ranks they would take 80 GB.
    ///
    /// # Panics
    /// If there is no rank, if there are more than [`TeamOp::most_ranks`], or if a rank gets a
    /// wrong result: a defect of the machine.
    pub fn run(&self, call: TeamOp) -> CallCost {
        let ranks = self.costs.ranks;
        let most = call.most_ranks();
        assert!(ranks <= most, "{ranks} ranks, {call} has at most {most}");
        let own = |rank| Some((rank, rank));
        let all = (0, ranks - 1);
        let cost = match call {
            TeamOp::Barrier => self.wave(|| Meet, |_| Some(()), |_| 0, |_, ()| true),
            TeamOp::Broadcast => self.wave(
                Copies::default,
                |rank| (rank == 0).then_some(7),
                |_| 1,
                |_, got| *got == 7,
            ),
            TeamOp::Reduce => self.wave(
                || Combine::by(join),
                own,
                |_| 1,
                |rank, got| *got == (rank == 0).then_some(all),
            ),
            TeamOp::AllReduce => {
                self.wave(|| CombineForAll::by(join), own, |_| 1, |_, got| *got == all)
            }
            TeamOp::Gather => self.gather(),
            TeamOp::AllGather => self.wave(
                CollectForAll::default,
                |_| Some(()),
                |message| carried(message, Vec::len, Vec::len),
                |_, got| got.len() == ranks as usize,
            ),
            TeamOp::Scatter => self.wave(
                Deal::default,
                |rank| (rank == 0).then(|| (0..ranks).collect::<Vec<_>>()),
                |message| carried(message, Vec::len, Vec::len),
                |rank, got| *got == rank,
            ),
            TeamOp::Scan => self.wave(
                || CombineBefore::by(join),
                own,
                |_| 1,
                |rank, got| *got == rank.checked_sub(1).map(|last| (0, last)),
            ),
            TeamOp::AllReducePairs => {
                let machine = |rank| Pairs::new(rank, ranks, join as fn(Span, Span) -> Span);
                self.call(machine, own, |_| 1, |_, got| *got == all)
            }
            TeamOp::AllToAll => self.all_to_all(),
        };
        let latencies = u64::from(call.latencies(ranks, self.radix()));
        CallCost {
            bound_ns: latencies * self.costs.latency_ns(),
            ..cost
        }
    }

    fn gather(&self) -> CallCost {
        let ranks = self.costs.ranks;
        self.wave(
            Collect::default,
            Some,
            |message| carried(message, Vec::len, Vec::len),
            |rank, got| match got {
                Some(got) => rank == 0 && got.iter().copied().eq(0..ranks),
                None => rank > 0,
            },
        )
    }

    fn all_to_all(&self) -> CallCost {
        let ranks = self.costs.ranks;
        self.call(
            |rank| AllToAll::new(rank, ranks),
            |rank| Some((0..ranks).map(|to| (rank, to)).collect()),
            |_| 1,
            |rank, got: &Vec<(u32, u32)>| {
                let expected = (0..ranks).map(|from| (from, rank));
                got.iter().copied().eq(expected)
            },
        )
    }

    fn wave<O: Operation>(
        &self,
        operation: impl Fn() -> O,
        own: impl Fn(u32) -> Option<O::Own>,
        values: fn(&Message<O::Up, O::Down>) -> u64,
        is_right: impl Fn(u32, &O::Output) -> bool,
    ) -> CallCost {
        let (ranks, radix) = (self.costs.ranks, self.radix());
        let machine = |rank| Wave::new(Branch::new(rank, ranks, radix), operation());
        self.call(machine, own, values, is_right)
    }

    fn call<M: Op>(
        &self,
        machine: impl Fn(Rank) -> M,
        own: impl Fn(u32) -> Option<M::Event>,
        values: fn(&M::Message) -> u64,
        is_right: impl Fn(u32, &M::Effect) -> bool,
    ) -> CallCost {
        let (costs, sizes) = (&self.costs, (values, self.value_bytes));
        let part = |rank: Rank| {
            let drawn = Random::new(costs.seed, u64::from(rank.0)).below(self.skew_ns + 1);
            let called = Called::new(rank, costs.ranks, machine(rank), own(rank.0), sizes);
            Part::new(called, Caller::<M>::new(drawn, costs))
        };
        let outcome = costs.run((0..costs.ranks).map(Rank).map(part).collect());
        measured(outcome, is_right)
    }
}

fn measured<M: Op>(
    outcome: Outcome<Caller<M>>,
    is_right: impl Fn(u32, &M::Effect) -> bool,
) -> CallCost {
    let (mut entered, mut returned) = (0, 0);
    let (mut most_sent, mut most_received) = (0, 0);
    for (rank, part) in (0..).zip(&outcome.parts) {
        let caller = &part.driver;
        let (at, result) = caller.returned.as_ref().expect("each rank returns");
        assert!(is_right(rank, result), "rank {rank} gets a wrong result");
        entered = entered.max(caller.enters_ns);
        returned = returned.max(*at);
        most_sent = most_sent.max(caller.sent.get());
        most_received = most_received.max(caller.received.get());
    }
    CallCost {
        ns: returned.saturating_sub(entered),
        bound_ns: 0,
        messages: outcome.traffic[0].count,
        bytes: outcome.traffic[0].bytes,
        most_sent,
        most_received,
    }
}

/// Combines values of consecutive ranks.
fn join(a: Span, b: Span) -> Span {
    assert_eq!(a.1 + 1, b.0, "values are combined in the order of ranks");
    (a.0, b.1)
}

/// Returns the number of values of a message.
fn carried<U, D>(message: &Message<U, D>, up: fn(&U) -> usize, down: fn(&D) -> usize) -> u64 {
    (match message {
        Message::Up(values) => up(values),
        Message::Down(values) => down(values),
    }) as u64
}
