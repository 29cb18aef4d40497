//! Collective operations that a link carries out: each ends once, with what its table promises,
//! when all ranks have started it.

use crate::harness::Harness;
use crate::threads::Threads;
use std::sync::{Arc, Mutex, PoisonError};
use tautline_core::Rank;
use tautline_core::comm::{
    Body, Collective, Element, Error, Matched, Operator, Outcome, PacketLink,
};
use tautline_core::port::Link;

/// Two numbers of operations.
const NUMBERS: [u32; 2] = [3, 1000];
const NUMBER: u32 = NUMBERS[0];
const RANKS: usize = 3;
/// Elements of a vector, each a byte.
const ELEMENTS: usize = 5;
/// Operations of each number that are in flight at once.
const IN_FLIGHT: u8 = 20;
/// Polls without an end after which an operation does not end.
const PATIENCE: usize = 10_000;
const OPERATORS: [Operator; 10] = [
    Operator::Max,
    Operator::Min,
    Operator::Sum,
    Operator::Product,
    Operator::And,
    Operator::Or,
    Operator::Xor,
    Operator::BitAnd,
    Operator::BitOr,
    Operator::BitXor,
];

/// The ranks, and the promise that they start the same operations.
struct Ranks<L, P: ?Sized> {
    all: Vec<(L, Arc<P>)>,
    matched: Matched,
}

/// An operation that one rank has started.
struct Started {
    rank: usize,
    /// The address of the memory for its result.
    into: usize,
    ends: Arc<Mutex<Vec<Outcome>>>,
}

/// A rank's memory for an operation, and its result if it has one.
struct Memory {
    own: Vec<u8>,
    into: Vec<u8>,
    result: Option<Vec<u8>>,
}

/// Each operation ends once, with the result that the documentation of [`Collective`] states, in
/// the memory for it, and not before all ranks have started it where it depends on all; also while
/// others of its number and of another one are in flight. It ends with an error after its number is
/// closed, and after a rank is lost that has not started it. `connect` makes the links of a number
/// of ranks, with their packets; the links are used by the calling thread. The suite keeps what
/// `matched` promises, but for the ranks that are lost.
///
/// # Panics
/// If they do not conform.
pub fn combines<L, P>(connect: impl Fn(u32) -> Vec<(L, Arc<P>)>, matched: Matched)
where
    L: Link,
    P: PacketLink + ?Sized,
{
    let connect = || {
        let all = connect(RANKS as u32);
        let ranks = Ranks { all, matched };
        for number in NUMBERS {
            let open = |(_, packets): &(L, Arc<P>)| packets.open_collectives(number);
            ranks.all.iter().for_each(open);
        }
        ranks
    };
    Threads.report("combines: each operation");
    each_operation(&mut connect());
    Threads.report("combines: operations of two numbers in flight");
    in_flight(&mut connect());
    Threads.report("combines: a number that is closed");
    closed(&mut connect());
    Threads.report("combines: a rank that is lost");
    lost(connect());
}

impl<L: Link, P: PacketLink + ?Sized> Ranks<L, P> {
    fn start(&self, rank: usize, number: u32, collective: Collective, memory: Memory) -> Started {
        let ends = Arc::<Mutex<Vec<Outcome>>>::default();
        let (own, into) = (Body::from(memory.own), Body::from(memory.into));
        let address = into.as_ptr().addr();
        let done = {
            let ends = Arc::clone(&ends);
            move |outcome| {
                let mut ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
                ends.push(outcome);
            }
        };
        let packets = &self.all[rank].1;
        packets.collective(self.matched, number, collective, own, into, Arc::new(done));
        Started {
            rank,
            into: address,
            ends,
        }
    }

    fn poll(&mut self) {
        for (link, _) in &mut self.all {
            // A loss is reported once, and known to the suite.
            _ = link.poll(&mut |from, _| panic!("a parcel of {from}"));
        }
    }

    /// Polls until all have ended, and a while longer.
    fn settle(&mut self, all: &[Started]) {
        let mut polls = 0;
        while !all.iter().all(|one| one.count() > 0) && polls < PATIENCE {
            polls += 1;
            self.poll();
        }
        (0..64).for_each(|_| self.poll());
    }
}

impl Started {
    fn ends(&self) -> Vec<Outcome> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.clone()
    }

    fn count(&self) -> usize {
        self.ends().len()
    }

    /// Checks the only end of an operation.
    fn check(&self, what: &str, result: Option<&Vec<u8>>) {
        let rank = Rank(self.rank as u32);
        assert_eq!(self.count(), 1, "ends of {what} at {rank}");
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(done) = &ends[0] else {
            panic!("{what} ended at {rank} with {:?}", ends[0]);
        };
        let Some(result) = result else { return };
        assert!(done.body == *result, "the result of {what} at {rank}");
        // An address of this process, if the rank is.
        let is_there = self.rank > 0 || result.is_empty() || done.body.as_ptr().addr() == self.into;
        assert!(is_there, "the result of {what} in other memory");
    }

    fn check_error(&self, what: &str, is_expected: impl Fn(&Error) -> bool) {
        let ends = self.ends();
        let is_right = matches!(&ends[..], [Err(error)] if is_expected(error));
        assert!(is_right, "{what} ended with {ends:?}");
    }
}

/// The own vector of a rank, with zeros.
fn vector(rank: usize, length: usize) -> Vec<u8> {
    let element = |at: usize| (rank * 7 + at * 5 + 3) as u8 % 11 * 3 % 8;
    (0..length).map(element).collect()
}

fn apply(operator: Operator, a: u8, b: u8) -> u8 {
    match operator {
        Operator::Max => a.max(b),
        Operator::Min => a.min(b),
        Operator::Sum => a.wrapping_add(b),
        Operator::Product => a.wrapping_mul(b),
        Operator::And => u8::from(a != 0 && b != 0),
        Operator::Or => u8::from(a != 0 || b != 0),
        Operator::Xor => u8::from((a != 0) != (b != 0)),
        Operator::BitAnd => a & b,
        Operator::BitOr => a | b,
        Operator::BitXor => a ^ b,
    }
}

/// Returns the combination of the vectors of the ranks up to `last`.
fn combined(operator: Operator, last: usize) -> Vec<u8> {
    let vectors = (0..=last).map(|rank| vector(rank, ELEMENTS));
    let both = |a: Vec<u8>, b: Vec<u8>| {
        let pairs = a.into_iter().zip(b);
        pairs.map(|(a, b)| apply(operator, a, b)).collect()
    };
    vectors.reduce(both).expect("a rank")
}

fn memory(collective: Collective, rank: usize) -> Memory {
    let (one, all) = (ELEMENTS, ELEMENTS * RANKS);
    let gathered = || (0..RANKS).flat_map(|rank| vector(rank, one)).collect();
    let part = |of: usize| vector(of, all)[rank * one..][..one].to_vec();
    let at_root = |length| if rank == 0 { length } else { 0 };
    let (own, into, result) = match collective {
        Collective::Barrier => (0, 0, Some(Vec::new())),
        Collective::Broadcast => (0, one, Some(vector(0, one))),
        Collective::Scatter => (at_root(all), one, Some(part(0))),
        Collective::Gather => (one, at_root(all), (rank == 0).then(gathered)),
        Collective::AllGather => (one, all, Some(gathered())),
        Collective::AllToAll => (all, all, Some((0..RANKS).flat_map(part).collect())),
        Collective::Reduce(_, operator) => {
            let result = (rank == 0).then(|| combined(operator, RANKS - 1));
            (one, at_root(one), result)
        }
        Collective::AllReduce(_, operator) => (one, one, Some(combined(operator, RANKS - 1))),
        Collective::Scan(_, operator) => (one, one, Some(combined(operator, rank))),
    };
    let is_source = collective == Collective::Broadcast && rank == 0;
    Memory {
        own: vector(rank, own),
        into: if is_source {
            vector(0, into)
        } else {
            vec![0; into]
        },
        result,
    }
}

fn each_operation<L: Link, P: PacketLink + ?Sized>(ranks: &mut Ranks<L, P>) {
    let reduces = OPERATORS.into_iter().flat_map(|operator| {
        let element = Element::U8;
        [
            Collective::Reduce(element, operator),
            Collective::AllReduce(element, operator),
            Collective::Scan(element, operator),
        ]
    });
    let others = [
        Collective::Barrier,
        Collective::Broadcast,
        Collective::Scatter,
        Collective::Gather,
        Collective::AllGather,
        Collective::AllToAll,
    ];
    for (turn, collective) in others.into_iter().chain(reduces).enumerate() {
        let what = format!("{collective:?}");
        let order = (0..RANKS).map(|at| (turn + at) % RANKS);
        let mut all: Vec<Started> = Vec::new();
        for rank in order {
            (0..20).for_each(|_| ranks.poll());
            let depends_on_all = matches!(
                collective,
                Collective::Barrier
                    | Collective::AllGather
                    | Collective::AllToAll
                    | Collective::AllReduce(..)
            );
            let ended: usize = all.iter().map(Started::count).sum();
            assert!(!depends_on_all || ended == 0, "{what} ended early");
            let memory = memory(collective, rank);
            all.push(ranks.start(rank, NUMBER, collective, memory));
        }
        ranks.settle(&all);
        for one in &all {
            one.check(&what, memory(collective, one.rank).result.as_ref());
        }
    }
}

/// Sums whose results differ; the ranks start them in orders that differ between the numbers.
fn in_flight<L: Link, P: PacketLink + ?Sized>(ranks: &mut Ranks<L, P>) {
    let collective = Collective::AllReduce(Element::U8, Operator::Sum);
    let mut all = Vec::new();
    for rank in 0..RANKS {
        let mut start = |at: u8, number: usize| {
            let value = at + 50 * number as u8;
            let memory = Memory {
                own: vec![value; ELEMENTS],
                into: vec![0; ELEMENTS],
                result: None,
            };
            let sum = value.wrapping_mul(RANKS as u8);
            let started = ranks.start(rank, NUMBERS[number], collective, memory);
            all.push((started, vec![sum; ELEMENTS]));
        };
        match rank % 2 {
            0 => (0..IN_FLIGHT).for_each(|at| [0, 1].into_iter().for_each(|n| start(at, n))),
            _ => [1, 0]
                .into_iter()
                .for_each(|n| (0..IN_FLIGHT).for_each(|at| start(at, n))),
        }
    }
    let (started, sums): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    ranks.settle(&started);
    for (one, sum) in started.iter().zip(&sums) {
        one.check("one of several sums", Some(sum));
    }
}

fn closed<L: Link, P: PacketLink + ?Sized>(ranks: &mut Ranks<L, P>) {
    let start = |ranks: &Ranks<L, P>| {
        let collective = Collective::AllGather;
        ranks.start(0, NUMBER, collective, memory(collective, 0))
    };
    // Not with an operation in flight, in which the other ranks would take no part.
    ranks.all[0].1.close(NUMBER);
    let late = [start(ranks)];
    ranks.settle(&late);
    late[0].check_error("an operation of a closed number", |error| {
        *error == Error::Closed
    });
}

fn lost<L: Link, P: PacketLink + ?Sized>(mut ranks: Ranks<L, P>) {
    let collective = Collective::AllGather;
    let start =
        |ranks: &Ranks<L, P>, rank| ranks.start(rank, NUMBER, collective, memory(collective, rank));
    let mut all = vec![start(&ranks, 0), start(&ranks, 1)];
    (0..100).for_each(|_| ranks.poll());
    drop(ranks.all.pop());
    ranks.settle(&all);
    let late = [start(&ranks, 0), start(&ranks, 1)];
    ranks.settle(&late);
    all.extend(late);
    for one in &all {
        let is_loss = |error: &Error| matches!(error, Error::Lost { rank: Rank(2), .. });
        one.check_error("an operation that a lost rank has not started", is_loss);
    }
}
