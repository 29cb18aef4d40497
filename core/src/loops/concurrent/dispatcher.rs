//! Choice of the next chunk of a worker, among concurrent loops: a state machine without I/O.
//!
//! # Algorithm
//! Lucco 1995, 003:760-868; spec 2.13. Workers *join*, take chunks one after the other, and *leave*
//! as soon as there is nothing to take. What a completed chunk makes available is announced as a
//! number of workers that are to join.
//!
//! - *Fill*: the loop of which the largest lag is expected goes first ([`Estimate::lag`]), since
//!   its last chunks leave workers idle that the others can then use. A loop whose times are
//!   unknown has a few chunks in front of all others.
//! - *Partition*: a worker takes chunks of the loop that its number belongs to, by the
//!   [`Allocator`]. When that has nothing to take, it helps the others, as in fill.
//!
//! A loop is divided by its policy as if it ran alone on its workers: all of them in fill, its
//! share in partition. The shares are computed again when a loop begins or ends, and each time that
//! twice as many blocks of one were timed. The unit of TAPER is a block of iterations, as in single
//! loops: chunks are doubled until one lasts for the duration of a block.
//!
//! The positions of a loop become available when the loops have ended that it comes after, and the
//! single positions of earlier loops that a position depends on.

use super::node::Node;
use crate::taper::{Allocator, Demand, Estimate, Overhead, Policy, Q16, SAMPLES_MIN, Summary};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;

/// The assumption about loops while the times of one are unknown: each then gets as many workers.
const ALIKE: Demand = Demand {
    tasks: 1 << 20,
    estimate: Estimate {
        mean_ns: Q16::whole(1),
        cv: Q16::ZERO,
    },
    overhead: Overhead {
        chunk_ns: 0,
        band: 0,
    },
};

/// The policy by which concurrent loops share the workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// All workers serve the most irregular loop, and fill their idle times with the others. Best
    /// where each worker reaches all data at about the same cost.
    #[default]
    Fill,
    /// Each loop has workers of its own, as many as it needs to end together with the others, and
    /// idle ones help. For machines on which a worker is near some data only.
    Partition,
}

/// Consecutive positions of a loop, given to one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatched {
    /// The number of the loop.
    pub of: usize,
    /// The positions.
    pub positions: Range<usize>,
    /// The number of positions that are timed together.
    pub block: usize,
}

/// Divides the work of several loops among workers.
///
/// ```
/// # use tautline_core::loops::{Dispatcher, Sharing};
/// # use tautline_core::taper::{Overhead, Policy, Summary};
/// let mut loops = Dispatcher::new(Sharing::Fill, 2, Overhead::default(), 1000);
/// let first = loops.add(4, Policy::Guided);
/// let second = loops.add(2, Policy::Guided);
/// loops.depend((second, 1), (first, 3));
/// assert_eq!(loops.start(), 2);
/// let chunks = [0, 1].map(|worker| loops.take(worker).unwrap());
/// assert_eq!(chunks.clone().map(|chunk| chunk.positions), [0..2, 2..3]);
/// for chunk in &chunks {
///     assert_eq!(loops.complete(chunk, &Summary::NONE), 0);
/// }
/// // The other position of the second loop waits.
/// let last = [0, 1].map(|worker| loops.take(worker).unwrap());
/// let taken = last.clone().map(|chunk| (chunk.of, chunk.positions));
/// assert_eq!(taken, [(first, 3..4), (second, 0..1)]);
/// loops.complete(&last[1], &Summary::NONE);
/// assert_eq!(loops.take(1), None);
/// assert_eq!(loops.complete(&last[0], &Summary::NONE), 1);
/// let chunk = loops.take(0).unwrap();
/// loops.complete(&chunk, &Summary::NONE);
/// assert!(loops.is_over());
/// ```
#[derive(Clone, Debug)]
pub struct Dispatcher {
    sharing: Sharing,
    workers: u32,
    overhead: Overhead,
    /// The least duration of a block in nanoseconds.
    block_ns: u64,
    loops: Vec<Node>,
    /// The order in which idle workers try the loops.
    order: Vec<usize>,
    /// In partition, by loop: its workers.
    shares: Vec<u32>,
    /// Workers that have joined or were announced, and have not left.
    joined: u32,
    /// Loops that have not ended.
    live: usize,
    is_stopped: bool,
    /// Positions that have become available since workers were announced.
    fresh: usize,
}

impl Dispatcher {
    /// Creates a dispatcher for `workers` workers, without loops. A chunk costs `overhead`; blocks
    /// that are timed last `block_ns` at least.
    ///
    /// # Panics
    /// If there are no workers.
    pub fn new(sharing: Sharing, workers: u32, overhead: Overhead, block_ns: u64) -> Self {
        assert!(workers > 0, "0 workers: loops need at least 1");
        Self {
            sharing,
            workers,
            overhead,
            block_ns,
            loops: Vec::new(),
            order: Vec::new(),
            shares: Vec::new(),
            joined: 0,
            live: 0,
            is_stopped: false,
            fresh: 0,
        }
    }

    /// Adds a loop of `len` positions, before the start. Returns its number, from 0.
    pub fn add(&mut self, len: usize, policy: Policy) -> usize {
        let number = self.loops.len();
        self.loops.push(Node::new(len, policy));
        self.order.push(number);
        self.live += 1;
        number
    }

    /// Makes the loop `later` begin after the end of `earlier`.
    ///
    /// # Panics
    /// If a number is not that of a loop, or `later` is not above `earlier`.
    pub fn order(&mut self, later: usize, earlier: usize) {
        self.check(later, earlier);
        self.loops[later].gates += 1;
        self.loops[earlier].opens.push(later);
    }

    /// Makes a position of a loop wait for a position of an earlier one.
    ///
    /// # Panics
    /// If the loop is not below the one that waits, or there is no such position.
    pub fn depend(&mut self, (later, position): (usize, usize), (earlier, on): (usize, usize)) {
        self.check(later, earlier);
        let len = self.loops[earlier].len;
        assert!(on < len, "position {on} of a loop of {len}");
        self.loops[later].hold(position);
        self.loops[earlier].releases.push((on, later, position));
    }

    /// Makes a position of a loop wait for the end of an earlier one.
    ///
    /// # Panics
    /// If the loop is not below the one that waits, or there is no such position.
    pub fn depend_on_end(&mut self, (later, position): (usize, usize), earlier: usize) {
        self.check(later, earlier);
        self.loops[later].hold(position);
        self.loops[earlier].releases_at_end.push((later, position));
    }

    fn check(&self, later: usize, earlier: usize) {
        let count = self.loops.len();
        assert!(
            earlier < later && later < count,
            "loop {later} after loop {earlier}, of {count} loops: a loop comes after earlier ones"
        );
    }

    /// Makes the first positions available. Called once, after all loops were added. Returns how
    /// many workers are to join.
    pub fn start(&mut self) -> u32 {
        for at in 0..self.loops.len() {
            self.loops[at].start();
        }
        for at in 0..self.loops.len() {
            self.fresh += self.loops[at].available();
            self.end_if_done(at);
        }
        self.allocate();
        self.announce()
    }

    /// Returns the next chunk of worker `worker`, which has joined; `None` if there is nothing to
    /// take at present: the worker has then left.
    pub fn take(&mut self, worker: u32) -> Option<Dispatched> {
        let of = self.choose(worker % self.workers);
        let Some(of) = of.filter(|_| !self.is_stopped) else {
            self.joined -= 1;
            return None;
        };
        let p = self.processors(of);
        let node = &mut self.loops[of];
        let (positions, block) = node.take(p, self.workers, self.overhead);
        Some(Dispatched {
            of,
            positions,
            block,
        })
    }

    /// Records that a chunk was run, and the times of its blocks. Returns the number of further
    /// workers that are to join.
    pub fn complete(&mut self, chunk: &Dispatched, times: &Summary) -> u32 {
        let of = chunk.of;
        let positions = chunk.positions.len();
        self.loops[of].complete(positions, chunk.block, times, self.block_ns);
        self.rank(of);
        if self.loops[of].is_due() {
            self.allocate();
        }
        let released = self.loops[of].released_by(&chunk.positions);
        for index in released {
            let (_, later, position) = self.loops[of].releases[index];
            self.release(later, position);
        }
        self.end_if_done(of);
        self.announce()
    }

    /// Leaves out all positions that were not taken yet.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Returns whether all positions of all loops were run.
    pub fn is_over(&self) -> bool {
        self.live == 0
    }

    /// Returns the number of chunks of a loop, the positions of a block, and the times of its
    /// blocks so far.
    pub fn measured(&self, of: usize) -> (usize, usize, Estimate) {
        let node = &self.loops[of];
        (node.chunks, node.block, node.estimate)
    }

    /// Returns the number of workers of each loop in partition; in fill, an empty list.
    pub fn shares(&self) -> &[u32] {
        &self.shares
    }

    /// Returns the loop that a worker serves next.
    fn choose(&self, worker: u32) -> Option<usize> {
        let mut next = worker;
        let home = self.shares.iter().position(|share| {
            let is_home = next < *share;
            next = next.saturating_sub(*share);
            is_home
        });
        let home = home.filter(|home| self.loops[*home].is_open());
        home.or_else(|| {
            let mut open = self.order.iter().filter(|at| self.loops[**at].is_open());
            let first = open.next()?;
            // A loop whose times are unknown is first until enough of it is running.
            let is_unknown = |at: &&usize| !self.loops[**at].is_known();
            let is_sought = |at: &&usize| self.loops[**at].samples() < SAMPLES_MIN as usize;
            let seek = || self.order.iter().filter(|at| self.loops[**at].is_open());
            let sought = seek().filter(is_unknown).find(is_sought);
            let known = || seek().find(|at| !is_unknown(at));
            Some(*sought.or_else(known).unwrap_or(first))
        })
    }

    /// Returns the number of processors among which a loop is divided.
    fn processors(&self, of: usize) -> u32 {
        match self.shares.get(of) {
            Some(share) => (*share).max(1),
            None => self.workers,
        }
    }

    /// Puts a loop into its place in the order, after its times have changed.
    fn rank(&mut self, of: usize) {
        let (workers, overhead) = (self.workers, self.overhead);
        let node = &mut self.loops[of];
        if node.is_known() {
            let chunk = overhead.min_chunk(node.blocks(node.len), workers, &node.estimate);
            node.lag = node.estimate.lag(chunk, workers);
        }
        let loops = &self.loops;
        let key = |at: usize| (Reverse(loops[at].lag), at);
        self.order.retain(|at| *at != of);
        let at = self.order.partition_point(|at| key(*at) < key(of));
        self.order.insert(at, of);
    }

    /// Divides the workers again: loops have begun or ended, or twice as many blocks of one were
    /// timed.
    fn allocate(&mut self) {
        if self.sharing == Sharing::Fill {
            return;
        }
        self.shares.clear();
        self.shares.resize(self.loops.len(), 0);
        let mut running: Vec<usize> = (0..self.loops.len())
            .filter(|at| self.loops[*at].is_running())
            .collect();
        running.truncate(self.workers as usize);
        let is_known = running.iter().all(|at| self.loops[*at].is_known());
        let demands: Vec<Demand> = running
            .iter()
            .map(|at| {
                let node = &self.loops[*at];
                match is_known {
                    true => Demand {
                        tasks: node.blocks(node.unclaimed()),
                        estimate: node.estimate,
                        overhead: self.overhead,
                    },
                    false => ALIKE,
                }
            })
            .collect();
        let mut shares = alloc::vec![0; running.len()];
        Allocator::default().divide_among(self.workers, &demands, &mut shares);
        for (at, share) in running.into_iter().zip(shares) {
            self.shares[at] = share;
        }
    }

    fn release(&mut self, later: usize, position: usize) {
        let node = &mut self.loops[later];
        if node.release(position) && node.gates == 0 {
            self.fresh += 1;
        }
    }

    /// Ends a loop if all of its positions have been run, and all loops that this lets end.
    fn end_if_done(&mut self, of: usize) {
        let mut to_check = alloc::vec![of];
        while let Some(at) = to_check.pop() {
            if !self.loops[at].end_if_done() {
                continue;
            }
            self.live -= 1;
            for (later, position) in core::mem::take(&mut self.loops[at].releases_at_end) {
                self.release(later, position);
            }
            for later in core::mem::take(&mut self.loops[at].opens) {
                let node = &mut self.loops[later];
                node.gates -= 1;
                if node.gates == 0 {
                    self.fresh += node.available();
                    to_check.push(later);
                }
            }
            self.allocate();
        }
    }

    /// Returns the number of workers that are to join for newly available positions.
    fn announce(&mut self) -> u32 {
        let fresh = u32::try_from(core::mem::take(&mut self.fresh)).unwrap_or(u32::MAX);
        let more = fresh.min(self.workers - self.joined);
        self.joined += more;
        more
    }
}
