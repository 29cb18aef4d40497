//! One execution of a loop.

use super::body::Body;
use super::plan::Plan;
use super::settings::{Report, Settings};
use crate::port::{Clock, Host};
use crate::sync::{AtomicBool, AtomicUsize, Lock, Ordering};
use crate::taper::{Claim, CostFunction, Estimate, Samples, Site, Summary, Trail};
use crate::task::Cx;
use core::mem;
use core::ops::Range;

/// The least duration of a block in nanoseconds: a hundred readings of a clock, 25 ns each on a present processor.
const BLOCK_NS: u64 = 2_500;

/// The number of blocks that are timed without a call site: their deviation is then known to a tenth.
const SAMPLES: u64 = 64;

/// The iterations for each worker from which on the times of a loop are kept: fewer are divided as well without.
const KEPT: usize = 4;

/// Executions that are all measured; of later ones, one in `INTERVAL` is.
const MEASURED: u32 = 3;
const INTERVAL: u32 = 8;

/// Runs `body` on the consecutive ranges of `0..len`, each index once. Returns what the parts have accumulated.
pub(super) fn engine<'s, 'e, P: Host, B>(
    cx: &mut Cx<'s, 'e, P>,
    len: usize,
    settings: &Settings,
    body: &B,
) -> B::Part
where
    B: Body<'s, 'e, P>,
{
    execute(cx, len, settings, body, |_, _| ()).0
}

/// As [`engine`]; also returns how the loop ran.
pub(super) fn explained<'s, 'e, P: Host, B>(
    cx: &mut Cx<'s, 'e, P>,
    len: usize,
    settings: &Settings,
    body: &B,
) -> (B::Part, Report)
where
    B: Body<'s, 'e, P>,
{
    execute(cx, len, settings, body, |outcome, cost| Report {
        name: settings.name,
        schedule: settings.schedule,
        chunks: outcome.progress.chunks,
        block: outcome.block,
        estimate: match cost {
            Some(cost) => cost.estimate(),
            None => outcome.progress.blocks.estimate(),
        },
        class: cost.and_then(CostFunction::class),
        is_cached: outcome.is_cached,
    })
}

/// Runs a loop, and keeps its times. Also returns what `report` makes of the outcome and of what is then known of the loop.
fn execute<'s, 'e, P: Host, B, R>(
    cx: &mut Cx<'s, 'e, P>,
    len: usize,
    settings: &Settings,
    body: &B,
    report: impl FnOnce(&Outcome, Option<&CostFunction>) -> R,
) -> (B::Part, R)
where
    B: Body<'s, 'e, P>,
{
    let parts = cx.pool().wanted().min(len).max(1);
    let is_kept = settings.schedule.is_cached() && parts > 1 && len / KEPT >= parts;
    let (around, id) = (cx.trail(), settings.id());
    let mut site = is_kept.then(|| cx.sites().get(around.key(id))).flatten();
    if let Some(site) = &mut site {
        site.cost.prepare(len as u64);
    }
    let trail = around.enter(id);
    let instance = Instance::new(len, parts, settings, site.as_deref(), trail, body);
    let part = instance.run(cx, parts);
    let outcome = instance.into_outcome();
    if let Some(site) = &mut site
        && outcome.is_measured
    {
        let Site { cost, samples, .. } = &mut **site;
        let mut samples = samples.lock(cx.pool().port());
        if samples.summary().count() > 0 {
            cost.learn(&samples, outcome.block as u64);
            *samples = Samples::default();
        }
    }
    let report = report(&outcome, site.as_deref().map(|site| &site.cost));
    (part, report)
}

/// A loop that runs, as all its workers share it.
struct Instance<'l, B> {
    body: &'l B,
    claim: Claim,
    plan: Plan<'l>,
    /// This loop and those around it.
    trail: Trail,
    /// Where the samples of this execution are kept.
    site: Option<&'l Site>,
    /// Iterations of a block, a power of two; 0 until the first was timed.
    block: AtomicUsize,
    progress: Lock<Progress>,
    /// Whether the rest is left out.
    is_stopped: AtomicBool,
}

/// What the parts have done so far.
#[derive(Default)]
struct Progress {
    /// The durations of blocks.
    blocks: Summary,
    chunks: usize,
}

/// How a loop ran, as far as one execution knows.
struct Outcome {
    progress: Progress,
    /// Iterations of a block, 0 if that is not known.
    block: usize,
    /// Whether earlier executions have determined the chunks.
    is_cached: bool,
    /// Whether times were kept.
    is_measured: bool,
}

impl<'l, B> Instance<'l, B> {
    fn new(
        len: usize,
        parts: usize,
        settings: &Settings,
        site: Option<&'l Site>,
        trail: Trail,
        body: &'l B,
    ) -> Self {
        let cost = site.map(|site| &site.cost);
        let plan = Plan::new(settings.schedule, len, parts, cost);
        let block = cost.map_or(0, |cost| cost.block() as usize);
        let is_measured =
            |site: &&Site| site.runs <= MEASURED || site.runs.is_multiple_of(INTERVAL);
        Self {
            body,
            claim: Claim::new(0..len),
            site: site.filter(is_measured),
            plan,
            trail,
            block: AtomicUsize::new(block),
            progress: Lock::new(Progress::default()),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Runs `parts` parts of the loop, all but one of which other workers may steal. Returns what they have accumulated.
    fn run<'s, 'e, P: Host>(&self, cx: &mut Cx<'s, 'e, P>, parts: usize) -> B::Part
    where
        B: Body<'s, 'e, P>,
    {
        match parts {
            1 => cx.in_loops(self.trail, |cx| self.part(cx)),
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
        let (mut estimate, mut count, mut chunks) = (Estimate::START, 0, 0);
        let mut tried = 1;
        while let Some(chunk) = self.take(estimate) {
            let is_timed = self.is_timed(count, chunks);
            chunks += 1;
            let mut timing = is_timed.then(|| Timing::begin(cx.pool().port()));
            if !self.chunk(chunk, cx, &mut part, &mut tried, timing.as_mut()) {
                break;
            }
            if let Some(timing) = timing {
                let mut progress = self.progress.lock(cx.pool().port());
                progress.blocks.merge(&timing.blocks);
                (estimate, count) = (progress.blocks.estimate(), progress.blocks.count());
            }
        }
        if chunks > 0 {
            self.progress.lock(cx.pool().port()).chunks += chunks;
        }
        mem::forget(stop);
        part
    }

    /// Runs a chunk, block by block, of `tried` iterations as long as no size is known. Returns false if the rest is left out.
    fn chunk<'s, 'e, P: Host>(
        &self,
        chunk: Range<usize>,
        cx: &mut Cx<'s, 'e, P>,
        part: &mut B::Part,
        tried: &mut usize,
        mut timing: Option<&mut Timing>,
    ) -> bool
    where
        B: Body<'s, 'e, P>,
    {
        let mut known = self.block();
        let mut block = if known > 0 { known } else { *tried };
        let mut at = chunk.start;
        while at < chunk.end {
            // ORDERING: Relaxed: a hint; the join of the parts publishes what they have done.
            if self.is_stopped.load(Ordering::Relaxed) || cx.cancelled().is_some() {
                return false;
            }
            let (from, to) = (at, chunk.end.min(at.saturating_add(block)));
            if self.body.run(cx, part, from..to).is_break() {
                // ORDERING: Relaxed: a hint; the join of the parts publishes what they have done.
                self.is_stopped.store(true, Ordering::Relaxed);
                return false;
            }
            let is_whole = to - from == block;
            at = to;
            let Some(timing) = timing.as_deref_mut().filter(|_| is_whole) else {
                continue;
            };
            let took = timing.lap(cx.pool().port());
            if known > 0 {
                timing.blocks.record(took);
                self.keep(from, took);
            } else if took < BLOCK_NS {
                block = block.saturating_mul(2);
                *tried = block;
            } else {
                known = self.agree(block);
                block = known;
            }
        }
        true
    }

    /// Takes the next chunk.
    #[inline]
    fn take(&self, estimate: Estimate) -> Option<Range<usize>> {
        let block = self.block().max(1);
        self.claim
            .take_with(|left| self.plan.chunk(left, block, estimate))
    }

    /// Returns whether the next chunk of a part is timed, if `count` blocks were timed by all parts and the part has run
    /// `chunks`.
    fn is_timed(&self, count: u64, chunks: usize) -> bool {
        let is_sought = self.plan.is_auto || chunks < SAMPLES as usize;
        self.site.is_some() || (!self.plan.is_cached() && count < SAMPLES && is_sought)
    }

    /// Keeps the time of a block for the next execution, unless another part keeps one right now.
    fn keep(&self, from: usize, took: u64) {
        if let Some(site) = self.site
            && let Some(mut samples) = site.samples.try_lock()
        {
            site.cost.record(&mut samples, from as u64, took);
        }
    }

    /// Returns how the loop ran.
    fn into_outcome(self) -> Outcome {
        Outcome {
            block: self.block(),
            is_cached: self.plan.is_cached(),
            is_measured: self.site.is_some(),
            progress: self.progress.into_inner(),
        }
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
