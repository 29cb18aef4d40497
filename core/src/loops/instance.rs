//! One execution of a loop.

use super::body::Body;
use crate::port::{Clock, Host};
use crate::sync::{AtomicBool, AtomicUsize, Lock, Ordering};
use crate::taper::{Claim, Estimate, Policy, Q16, Summary, Taper};
use crate::{taper, task::Cx};
use core::mem;
use core::ops::Range;

/// The least duration of a block in nanoseconds: a hundred readings of a clock, 25 ns each on a present processor.
const BLOCK_NS: u64 = 2_500;

/// The number of blocks that are timed: their deviation is then known to a tenth.
const SAMPLES: u64 = 64;

/// α = 1.3 (Lucco 1995, 003:736).
const POLICY: Policy = Policy::Taper(Taper::published(Q16::ratio(13, 10)));

/// A loop that runs, as all its workers share it.
pub(super) struct Instance<'l, B> {
    body: &'l B,
    claim: Claim,
    range: usize,
    parts: usize,
    /// Iterations of a block; 0 until the first was timed.
    block: AtomicUsize,
    /// The durations of blocks.
    blocks: Lock<Summary>,
    /// Whether the rest is left out.
    is_stopped: AtomicBool,
}

impl<'l, B> Instance<'l, B> {
    pub(super) fn new(range: Range<usize>, parts: usize, body: &'l B) -> Self {
        Self {
            body,
            range: range.len(),
            claim: Claim::new(range),
            parts,
            block: AtomicUsize::new(0),
            blocks: Lock::new(Summary::default()),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Runs `parts` parts of the loop, all but one of which other workers may steal. Returns what they have accumulated.
    pub(super) fn run<'s, 'e, P: Host>(&self, cx: &mut Cx<'s, 'e, P>, parts: usize) -> B::Part
    where
        B: Body<'s, 'e, P>,
    {
        match parts {
            1 => self.part(cx),
            _ => {
                let stolen = parts / 2;
                let (kept, stolen) =
                    cx.join(|cx| self.run(cx, parts - stolen), |cx| self.run(cx, stolen));
                self.body.combine(kept, stolen)
            }
        }
    }

    /// Takes chunks until none is left.
    fn part<'s, 'e, P: Host>(&self, cx: &mut Cx<'s, 'e, P>) -> B::Part
    where
        B: Body<'s, 'e, P>,
    {
        let stop = Stop(&self.is_stopped);
        let mut part = self.body.begin();
        let (mut estimate, mut count) = (Estimate::START, 0);
        while let Some(chunk) = self.take(estimate) {
            let mut timing = (count < SAMPLES).then(|| Timing::begin(cx.pool().port()));
            if !self.chunk(chunk, cx, &mut part, timing.as_mut()) {
                break;
            }
            if let Some(timing) = timing {
                let mut blocks = self.blocks.lock(cx.pool().port());
                blocks.merge(&timing.blocks);
                (estimate, count) = (blocks.estimate(), blocks.count());
            }
        }
        mem::forget(stop);
        part
    }

    /// Runs a chunk, block by block. Returns false if the rest is left out.
    fn chunk<'s, 'e, P: Host>(
        &self,
        chunk: Range<usize>,
        cx: &mut Cx<'s, 'e, P>,
        part: &mut B::Part,
        mut timing: Option<&mut Timing>,
    ) -> bool
    where
        B: Body<'s, 'e, P>,
    {
        let mut known = self.block();
        let mut block = known.max(1);
        let mut at = chunk.start;
        while at < chunk.end {
            // ORDERING: Relaxed: a hint; the join of the parts publishes what they have done.
            if self.is_stopped.load(Ordering::Relaxed) || cx.cancelled().is_some() {
                return false;
            }
            let to = chunk.end.min(at.saturating_add(block));
            if self.body.run(cx, part, at..to).is_break() {
                // ORDERING: Relaxed: a hint; the join of the parts publishes what they have done.
                self.is_stopped.store(true, Ordering::Relaxed);
                return false;
            }
            let is_whole = to - at == block;
            at = to;
            let Some(timing) = timing.as_deref_mut().filter(|_| is_whole) else {
                continue;
            };
            let took = timing.lap(cx.pool().port());
            if known > 0 {
                timing.blocks.record(took);
            } else if took < BLOCK_NS {
                block = block.saturating_mul(2);
            } else {
                known = self.agree(block);
                block = known;
            }
        }
        true
    }

    /// Takes the next chunk: TAPER's number of blocks, but no more than factoring's of iterations, since the first chunk must
    /// not last longer than all others together if the costs fall.
    fn take(&self, estimate: Estimate) -> Option<Range<usize>> {
        let block = self.block().max(1);
        // The policies take 2^63 at most; more are as many to them.
        let blocks = |iterations: usize| (iterations.div_ceil(block) as u64).min(1 << 63);
        let tasks = taper::Instance::new(blocks(self.range), self.parts as u32);
        self.claim.take_with(|left| {
            let most = left.div_ceil(2 * self.parts as u64);
            let chunk = POLICY.chunk(blocks(left as usize), estimate, &tasks);
            chunk
                .saturating_mul(block as u64)
                .min(most.max(block as u64))
        })
    }

    /// Returns the iterations of a block, 0 if that is not known.
    fn block(&self) -> usize {
        // ORDERING: Relaxed: the number publishes nothing else.
        self.block.load(Ordering::Relaxed)
    }

    /// Proposes the size of a block; the first proposal counts, and is returned.
    fn agree(&self, block: usize) -> usize {
        // ORDERING: Relaxed, twice: the number publishes nothing else.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        match self.block.compare_exchange(0, block, success, failure) {
            Ok(_) => block,
            Err(agreed) => agreed,
        }
    }
}

/// The durations of the blocks of a chunk.
struct Timing {
    began: u64,
    blocks: Summary,
}

impl Timing {
    fn begin(clock: &impl Clock) -> Self {
        Self {
            began: clock.now(),
            blocks: Summary::default(),
        }
    }

    /// Returns the ticks since the last call, or the begin.
    fn lap(&mut self, clock: &impl Clock) -> u64 {
        let now = clock.now();
        let took = now.saturating_sub(self.began);
        self.began = now;
        took
    }
}

/// Leaves out the rest of a loop if a part of it panics.
struct Stop<'l>(&'l AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        // ORDERING: Relaxed: a hint; the join of the parts propagates the panic.
        self.0.store(true, Ordering::Relaxed);
    }
}
