//! One execution of a loop.

use super::body::Body;
use super::plan::{BLOCK_NS, GRAIN_NS, Plan};
use super::settings::{Report, Settings};
use crate::port::{Clock, Host};
use crate::sync::{AtomicBool, AtomicUsize, Lock, Ordering};
use crate::taper::{Claim, Estimate, Site, Summary, Trail, scale};
use crate::task::Cx;
use core::mem;
use core::ops::Range;

/// The number of blocks that are timed without a call site: their deviation is then known to a tenth.
const SAMPLES: u64 = 64;

/// The iterations for each worker from which on the times of a loop are kept: fewer are divided as well without.
const KEPT: usize = 4;

/// Executions that are all measured; of later ones, one in `INTERVAL` is, or all until they predict anything.
const MEASURED: u32 = 3;
const INTERVAL: u32 = 8;

/// Runs `body` on the consecutive ranges of `0..len`, each index once. Returns what the parts have accumulated, and how the loop
/// ran.
pub(super) fn engine<'s, 'e, P: Host, B>(
    cx: &mut Cx<'s, 'e, P>,
    len: usize,
    settings: &Settings,
    body: &B,
) -> (B::Part, Report)
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
    let mut report = instance.report(settings);
    if let Some(site) = &mut site {
        let samples = mem::take(&mut *site.samples.lock(cx.pool().port()));
        if samples.summary().count() > 0 {
            site.cost.learn(&samples, report.block as u64);
        }
        report.estimate = site.cost.estimate();
        report.class = site.cost.class();
    }
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
        let is_measured = |site: &&Site| {
            !site.cost.is_known() || site.runs <= MEASURED || site.runs.is_multiple_of(INTERVAL)
        };
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
        let (mut pace, mut chunks) = (Pace::START, 0);
        let mut timing = None;
        while let Some(chunk) = self.take(&pace) {
            if self.is_timed(pace.count, chunks) {
                timing.get_or_insert_with(|| Timing::begin(cx.pool().port()));
            } else {
                timing = None;
            }
            chunks += 1;
            if !self.chunk(chunk, cx, &mut part, &mut pace, timing.as_mut()) {
                break;
            }
            if let Some(timing) = &mut timing {
                let mut progress = self.progress.lock(cx.pool().port());
                progress.blocks.merge(&mem::take(&mut timing.blocks));
                pace.estimate = progress.blocks.estimate();
                pace.count = progress.blocks.count();
            }
        }
        if chunks > 0 {
            self.progress.lock(cx.pool().port()).chunks += chunks;
        }
        mem::forget(stop);
        part
    }

    /// Runs a chunk, block by block, of `pace.tried` iterations as long as no size is known. Returns false if the rest is left
    /// out.
    fn chunk<'s, 'e, P: Host>(
        &self,
        chunk: Range<usize>,
        cx: &mut Cx<'s, 'e, P>,
        part: &mut B::Part,
        pace: &mut Pace,
        mut timing: Option<&mut Timing>,
    ) -> bool
    where
        B: Body<'s, 'e, P>,
    {
        let mut known = self.block();
        let mut block = if known > 0 { known } else { pace.tried };
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
            at = to;
            let Some(timing) = timing.as_deref_mut() else {
                continue;
            };
            let (took, count) = (timing.lap(cx.pool().port()), to - from);
            if known == 0 {
                if count == block && took >= BLOCK_NS {
                    known = self.agree(block);
                    block = known;
                } else if count == block {
                    block = block.saturating_mul(2);
                    pace.tried = block;
                }
                continue;
            }
            pace.grain = scale(count as u64, GRAIN_NS, took.max(1)) as usize;
            // The rest of a chunk is no sample. A chunk below the size of a block is one, as if the block had continued so.
            if count == block || from == chunk.start {
                let took = scale(took, block as u64, count as u64);
                timing.blocks.record(took);
                self.keep(from, took);
            }
        }
        true
    }

    /// Takes the next chunk.
    #[inline]
    fn take(&self, pace: &Pace) -> Option<Range<usize>> {
        let block = self.block();
        let grain = match block {
            0 => pace.tried,
            _ => pace.grain.clamp(1, block),
        };
        self.claim
            .take_with(|left| self.plan.chunk(left, block, grain as u64, pace.estimate))
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

    /// Returns how the loop ran, as far as this execution knows.
    fn report(self, settings: &Settings) -> Report {
        let is_cached = self.plan.is_cached();
        let block = self.block();
        let progress = self.progress.into_inner();
        Report {
            name: settings.name,
            schedule: settings.schedule,
            chunks: progress.chunks,
            block,
            estimate: progress.blocks.estimate(),
            class: None,
            is_cached,
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

/// What a part knows of the durations of iterations.
struct Pace {
    /// The mean and variation of blocks, and how many were timed.
    estimate: Estimate,
    count: u64,
    /// Iterations of the next block, as long as no size is known.
    tried: usize,
    /// Iterations that last [`GRAIN_NS`], by the last ones that this part has timed.
    grain: usize,
}

impl Pace {
    const START: Self = Self {
        estimate: Estimate::START,
        count: 0,
        tried: 1,
        grain: 1,
    };
}

/// The durations of blocks, from one reading of the clock to the next.
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
