//! One of several concurrent loops: its positions that may be taken, and its measured times.

use crate::loops::plan::MOST;
use crate::taper::{Estimate, Instance, Overhead, Policy, Q16, Summary};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

/// A loop of a dispatcher.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) len: usize,
    policy: Policy,
    /// The positions that may be taken once all gates are open.
    ready: VecDeque<Range<usize>>,
    /// Positions in `ready`.
    ready_len: usize,
    taken: usize,
    done: usize,
    is_ended: bool,
    /// Loops whose end this one awaits.
    pub(super) gates: usize,
    /// The condition of each position; empty if no position waits.
    pending: Vec<u32>,
    /// Loops that await the end of this one.
    pub(super) opens: Vec<usize>,
    /// Own positions, each with a position of a later loop that waits for it; sorted.
    pub(super) releases: Vec<(usize, usize, usize)>,
    pub(super) releases_at_end: Vec<(usize, usize)>,
    /// Positions of a block; 0 until one was timed.
    pub(super) block: usize,
    /// Positions of the next chunk while there is no block.
    tried: usize,
    /// Chunks that are being run.
    running: usize,
    pub(super) chunks: usize,
    times: Summary,
    /// The number of timed blocks at which the workers are divided again.
    due: u64,
    pub(super) estimate: Estimate,
    pub(super) lag: Q16,
}

impl Node {
    pub(super) fn new(len: usize, policy: Policy) -> Self {
        // Only TAPER uses the times; others have blocks of one position.
        let is_timed = matches!(policy, Policy::Taper(_));
        Self {
            len,
            policy,
            ready: VecDeque::new(),
            ready_len: 0,
            taken: 0,
            done: 0,
            is_ended: false,
            gates: 0,
            pending: Vec::new(),
            opens: Vec::new(),
            releases: Vec::new(),
            releases_at_end: Vec::new(),
            block: usize::from(!is_timed),
            tried: 1,
            running: 0,
            chunks: 0,
            times: Summary::NONE,
            due: 0,
            estimate: Estimate::START,
            lag: Q16::ZERO,
        }
    }

    /// Counts one more thing that a position waits for.
    pub(super) fn hold(&mut self, position: usize) {
        let len = self.len;
        assert!(position < len, "position {position} of a loop of {len}");
        self.pending.resize(len, 0);
        self.pending[position] += 1;
    }

    /// Makes the positions ready that wait for nothing.
    pub(super) fn start(&mut self) {
        self.releases.sort_unstable();
        if self.pending.is_empty() {
            self.make_ready(0..self.len);
        }
        for position in 0..self.pending.len() {
            if self.pending[position] == 0 {
                self.make_ready(position..position + 1);
            }
        }
    }

    fn make_ready(&mut self, positions: Range<usize>) {
        self.ready_len += positions.len();
        match self.ready.back_mut() {
            Some(last) if last.end == positions.start => last.end = positions.end,
            _ if positions.start == positions.end => {}
            _ => self.ready.push_back(positions),
        }
    }

    /// Counts one thing less that a position waits for. Returns whether it is ready now.
    pub(super) fn release(&mut self, position: usize) -> bool {
        self.pending[position] -= 1;
        let is_ready = self.pending[position] == 0;
        if is_ready {
            self.make_ready(position..position + 1);
        }
        is_ready
    }

    /// Returns the indices in `releases` of what waits for one of `positions`.
    pub(super) fn released_by(&self, positions: &Range<usize>) -> Range<usize> {
        let below = |end: usize| self.releases.partition_point(|release| release.0 < end);
        below(positions.start)..below(positions.end)
    }

    /// Returns whether something can be taken.
    pub(super) fn is_open(&self) -> bool {
        self.available() > 0
    }

    /// Returns the number of positions that can be taken now.
    pub(super) fn available(&self) -> usize {
        match self.gates {
            0 => self.ready_len,
            _ => 0,
        }
    }

    /// Returns whether the loop has begun and has work that was not taken.
    pub(super) fn is_running(&self) -> bool {
        self.gates == 0 && self.taken < self.len
    }

    pub(super) fn unclaimed(&self) -> usize {
        self.len - self.taken
    }

    /// Returns the number of blocks of this number of positions.
    pub(super) fn blocks(&self, positions: usize) -> u64 {
        positions.div_ceil(self.block.max(1)) as u64
    }

    /// Returns whether the mean and variation were measured.
    pub(super) fn is_known(&self) -> bool {
        self.estimate.mean_ns > Q16::ZERO
    }

    /// Returns the number of blocks that were timed or are running.
    pub(super) fn samples(&self) -> usize {
        self.times.count() as usize + self.running
    }

    /// Takes the next chunk, for a division among `p` of the `workers`, and returns what is timed
    /// together of it. Something must be available.
    pub(super) fn take(
        &mut self,
        p: u32,
        workers: u32,
        overhead: Overhead,
    ) -> (Range<usize>, usize) {
        let size = self.size(p, workers, overhead);
        let front = self.ready.front_mut().expect("something is available");
        let size = size.clamp(1, front.len());
        let positions = front.start..front.start + size;
        front.start += size;
        if front.start == front.end {
            self.ready.pop_front();
        }
        self.ready_len -= size;
        self.taken += size;
        self.running += 1;
        self.chunks += 1;
        let block = if self.block > 0 { self.block } else { size };
        (positions, block)
    }

    fn size(&self, p: u32, workers: u32, overhead: Overhead) -> usize {
        let left = self.unclaimed();
        let fits = |chunk: u64| usize::try_from(chunk).unwrap_or(usize::MAX);
        if !matches!(self.policy, Policy::Taper(_)) {
            let iterations = |count: usize| (count as u64).min(MOST);
            let cx = Instance::new(iterations(self.len), p);
            let chunk = self.policy.chunk(iterations(left), self.estimate, &cx);
            return fits(chunk);
        }
        // As in single loops, no more than factoring's, in case that the costs fall; on all
        // workers, since idle ones help.
        let most = left.div_ceil(2 * workers as usize);
        if self.block == 0 {
            return self.tried.min(most);
        }
        let cx = Instance::new(self.blocks(self.len), p).with_overhead(overhead, &self.estimate);
        let blocks = (left / self.block).max(1) as u64;
        let chunk = self.policy.chunk(blocks, self.estimate, &cx);
        fits(chunk)
            .saturating_mul(self.block)
            .min(most.max(self.block))
    }

    /// Records that `positions` positions were run, and the times of their blocks of `block`, which
    /// are to last `block_ns` at least.
    pub(super) fn complete(
        &mut self,
        positions: usize,
        block: usize,
        times: &Summary,
        block_ns: u64,
    ) {
        self.done += positions;
        self.running -= 1;
        if self.block == 0 && times.count() > 0 {
            match times.mean_ns() >= Some(Q16::whole(block_ns)) {
                true => self.block = block,
                false => self.tried = self.tried.max(block.saturating_mul(2)),
            }
        }
        if self.block == block {
            self.times.merge(times);
            self.estimate = self.times.estimate();
        }
    }

    /// Returns whether twice as many blocks were timed as when this was true last.
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.is_known() && self.times.count() >= self.due;
        if is_due {
            self.due = 2 * self.times.count();
        }
        is_due
    }

    /// Returns whether the loop has ended now: true once.
    pub(super) fn end_if_done(&mut self) -> bool {
        let ends = !self.is_ended && self.gates == 0 && self.done == self.len;
        self.is_ended |= ends;
        ends
    }
}
