//! One execution of a loop.

use super::body::{Body, LeaveOut};
use super::plan::{BLOCK_NS, Plan, grain, regrown};
use super::progress::{Advance, Ran};
use super::settings::{Report, Settings};
use super::timing::Timing;
use crate::port::{Clock, Host, Relax};
use crate::sync::{AtomicBool, AtomicUsize, CachePadded, Lock, Ordering};
use crate::taper::{Claim, CostFunction, Estimate, SAMPLES_MIN, Samples, Site, Summary, Trail};
use crate::task::Cx;
use core::mem;
use core::ops::{ControlFlow, Range};

/// The number of blocks that are timed without a call site: their deviation is then known to a
/// tenth.
const SAMPLES: u64 = 64;

/// The blocks of an execution that are timed, on average, if there are more: 16 for each section of
/// the cost function.
const SAMPLES_MOST: usize = 512;

/// The most blocks that run without a poll of whether the loop was stopped: those of about a tenth
/// of a millisecond.
const PAUSE_MOST: usize = 64;

/// The iterations for each worker from which on the times of a loop are kept: fewer are divided as
/// well without.
const KEPT: usize = 4;

/// Executions that are all measured; of later ones, one in `INTERVAL` is.
const MEASURED: u32 = 3;
const INTERVAL: u32 = 8;

/// Runs `body` on the consecutive ranges of `0..len`, each index once, and keeps their times.
/// Returns the accumulation of the parts. If a cancellation has cut the loop short, unwinds to
/// the finish: a partial result never appears complete.
pub(super) fn engine<'s, 'e, P: Host, B>(
    cx: &mut Cx<'s, 'e, P>,
    len: usize,
    settings: &Settings<'_>,
    body: &B,
) -> B::Part
where
    B: Body<'s, 'e, P>,
{
    let parts = cx.pool().wanted().min(len).max(1);
    let is_kept = settings.schedule.is_cached() && parts > 1 && len / KEPT >= parts;
    let (around, id) = (Trail::from_bits(cx.mark()), settings.id());
    let mut site = is_kept
        .then(|| cx.pool_of_scope().sites().get(around.key(id)))
        .flatten();
    if let Some(site) = &mut site {
        site.prepare(len as u64);
    }
    let tried = site.as_deref().map_or(1, |site| site.tried.max(1) as usize);
    // What took less than a block is not shared: that would take longer.
    let parts = if tried < len { parts } else { 1 };
    let advance = settings
        .listener
        .map(|listener| Advance::new(listener, len, cx.pool().port()));
    let course = Course {
        trail: around.enter(id),
        tried: tried.min(len),
        is_explained: settings.report.is_some(),
        advance: advance.as_ref(),
        ..Course::new(len, parts, settings, site.as_deref())
    };
    let instance = Instance { body, course };
    let part = instance.run(cx, parts);
    let outcome = instance.course.into_outcome();
    outcome.keep(settings, site.as_deref_mut(), cx.pool().port());
    if outcome.is_cut {
        drop(part);
        cx.unwind_to_finish();
    }
    if let Some(advance) = &advance {
        advance.report();
    }
    part
}

/// A loop that runs.
struct Instance<'l, B> {
    body: &'l B,
    course: Course<'l>,
}

/// The state that the workers of a loop share, without its body. Apart from it, so that programs do
/// not compile this for each loop.
struct Course<'l> {
    claim: Claim,
    plan: Plan<'l>,
    len: usize,
    /// This loop and those around it.
    trail: Trail,
    /// Whether times are wanted that the plan does not need.
    is_explained: bool,
    /// Its progress, if that is reported.
    advance: Option<&'l Advance<'l>>,
    /// Iterations with which each part begins to search for the size of a block; all if they are
    /// known to take less than one.
    tried: usize,
    /// The samples of this execution.
    site: Option<&'l Site>,
    /// Iterations of a block, a power of two; 0 until the first was timed.
    block: AtomicUsize,
    /// In a line of its own: the other fields are read with each block.
    progress: CachePadded<Lock<Progress>>,
    /// Whether the rest is left out.
    is_stopped: AtomicBool,
    /// Whether a part was cut short by a cancellation.
    is_cut: AtomicBool,
}

/// The totals of the parts so far.
#[derive(Default)]
struct Progress {
    /// The durations of blocks.
    blocks: Summary,
    chunks: usize,
    /// The largest number of iterations that may take less time than a block.
    tried: usize,
}

/// The report of one execution of a loop.
struct Outcome {
    progress: Progress,
    /// Iterations of a block, 0 if that is not known.
    block: usize,
    /// Whether earlier executions have determined the chunks.
    is_cached: bool,
    /// Whether times were kept.
    is_measured: bool,
    /// Whether the loop was cut short by a cancellation.
    is_cut: bool,
}

impl Outcome {
    /// Keeps the times for the next execution, and reports them.
    fn keep(&self, settings: &Settings<'_>, mut site: Option<&mut Site>, relax: &impl Relax) {
        if let Some(site) = &mut site {
            site.tried = match self.block {
                0 => self.progress.tried as u64,
                block => block as u64,
            };
        }
        if let Some(Site { cost, samples, .. }) = &mut site
            && self.is_measured
        {
            let mut samples = samples.lock(relax);
            if samples.summary().count() > 0 {
                cost.learn(&samples, self.block as u64);
                *samples = Samples::default();
            }
        }
        if let Some(report) = settings.report {
            report.set(Some(self.report(settings, site.as_deref())));
        }
    }

    fn report(&self, settings: &Settings<'_>, site: Option<&Site>) -> Report {
        let cost = site.map(|site| &site.cost);
        Report {
            name: settings.name,
            schedule: settings.schedule,
            chunks: self.progress.chunks,
            block: self.block,
            estimate: Report::measured(match cost {
                Some(cost) => cost.estimate(),
                None => self.progress.blocks.estimate(),
            }),
            class: cost.and_then(CostFunction::class),
            is_cached: self.is_cached,
        }
    }
}

impl<B> Instance<'_, B> {
    /// Runs `parts` parts of the loop, all but one of which other workers may steal. Returns what
    /// they have accumulated.
    fn run<'s, 'e, P: Host>(&self, cx: &mut Cx<'s, 'e, P>, parts: usize) -> B::Part
    where
        B: Body<'s, 'e, P>,
    {
        match parts {
            1 => cx.marked(self.course.trail.to_bits(), |cx| self.part(cx)),
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
        let stop = Stop(&self.course.is_stopped);
        let mut local = self.body.begin();
        let (mut estimate, mut count, mut chunks) = (Estimate::START, 0, 0);
        let mut own = Summary::default();
        let mut pace = Pace {
            tried: self.course.tried,
            is_long: false,
            pause: 0,
            from: 0,
            grain: usize::MAX,
            ran: Ran::default(),
        };
        while let Some(chunk) = self.course.take(estimate, &pace) {
            let mut timing = self.course.is_timed(count, chunks).then(Timing::default);
            chunks += 1;
            if !self.chunk(chunk, cx, &mut local, &mut pace, timing.as_mut()) {
                break;
            }
            own.merge(&timing.unwrap_or_default().blocks);
            // A few more blocks change little of what many have shown, and the lock is that of all
            // workers.
            if own.count() > count / SAMPLES {
                let mut progress = self.course.progress.lock(cx.pool().port());
                progress.blocks.merge(&mem::take(&mut own));
                count = progress.blocks.count();
                if self.course.plan.needs_estimate() {
                    estimate = progress.blocks.estimate();
                }
            }
        }
        if let Some(advance) = self.course.advance {
            advance.add(&mut pace.ran);
        }
        if chunks > 0 {
            let mut progress = self.course.progress.lock(cx.pool().port());
            progress.blocks.merge(&own);
            progress.chunks += chunks;
            progress.tried = progress.tried.max(pace.tried);
        }
        let part = self.body.end(local);
        mem::forget(stop);
        part
    }

    /// Runs a chunk, block by block. While no size is known, blocks have `pace.tried` iterations if
    /// they are timed, else each has as many as ran before it. Returns false if the part ends.
    fn chunk<'s, 'e, P: Host>(
        &self,
        chunk: Range<usize>,
        cx: &mut Cx<'s, 'e, P>,
        local: &mut B::Local,
        pace: &mut Pace,
        mut timing: Option<&mut Timing>,
    ) -> bool
    where
        B: Body<'s, 'e, P>,
    {
        let mut known = self.course.block();
        let mut block = if known > 0 { known } else { pace.tried };
        let mut at = chunk.start;
        pace.from = at;
        while at < chunk.end {
            // ORDERING: Relaxed: a hint; the join of the parts publishes what they have done.
            if self.course.is_stopped.load(Ordering::Relaxed) {
                return false;
            }
            if cx.is_cut() {
                // ORDERING: Relaxed: read after the join of the parts.
                self.course.is_cut.store(true, Ordering::Relaxed);
                return false;
            }
            let blocks = match timing.as_deref_mut() {
                Some(_) if known > 0 && pace.pause > 0 => pace.pause,
                Some(timing) => {
                    timing.start(cx.pool().port());
                    1
                }
                None => 1,
            };
            let (from, most) = (at, block.saturating_mul(blocks));
            at = chunk.end.min(at.saturating_add(most));
            if let ControlFlow::Break(others) = self.body.run(cx, local, from..at) {
                if others == LeaveOut::All {
                    // ORDERING: Relaxed: a hint; the join of the parts publishes their results.
                    self.course.is_stopped.store(true, Ordering::Relaxed);
                }
                return false;
            }
            if let Some(advance) = self.course.advance {
                advance.ran(at - from, &mut pace.ran, cx.pool().port());
            }
            match timing.as_deref_mut() {
                Some(timing) => {
                    known = self
                        .course
                        .time(from..at, known, pace, timing, cx.pool().port());
                    block = if known > 0 { known } else { pace.tried };
                }
                // So a poll costs little, and what runs after a stop takes no longer than what ran
                // before it.
                None if known == 0 => block = block.saturating_mul(2),
                None => {}
            }
        }
        true
    }
}

impl<'l> Course<'l> {
    fn new(len: usize, parts: usize, settings: &Settings<'_>, site: Option<&'l Site>) -> Self {
        let cost = site.map(|site| &site.cost);
        let plan = Plan::new(settings.schedule, len, parts, cost);
        let is_measured =
            |site: &&Site| site.runs <= MEASURED || site.runs.is_multiple_of(INTERVAL);
        let measured = site.filter(is_measured);
        let block = match (cost, measured) {
            (None, _) => 0,
            (Some(cost), None) => cost.block() as usize,
            (Some(cost), Some(_)) => regrown(cost, len),
        };
        Self {
            claim: Claim::new(0..len),
            site: measured,
            plan,
            len,
            trail: Trail::NONE,
            is_explained: false,
            advance: None,
            tried: 1,
            block: AtomicUsize::new(block),
            progress: CachePadded::new(Lock::new(Progress::default())),
            is_stopped: AtomicBool::new(false),
            is_cut: AtomicBool::new(false),
        }
    }

    /// Takes the time of what has just run, if it was a whole block that is timed, or a chunk of
    /// less than a block. Returns the iterations of a block, 0 while they are not known.
    fn time(
        &self,
        ran: Range<usize>,
        known: usize,
        pace: &mut Pace,
        timing: &mut Timing,
        clock: &impl Clock,
    ) -> usize {
        let block = if known > 0 { known } else { pace.tried };
        if !timing.is_running() {
            pace.pause -= ran.len().div_ceil(block);
            return known;
        }
        if ran.len() < block && (known == 0 || ran.start > pace.from) {
            // The end of the chunk.
            return known;
        }
        let took = timing.lap(clock);
        match known {
            0 if took < BLOCK_NS => {
                pace.tried = block.saturating_mul(2);
                pace.is_long = false;
                return 0;
            }
            0 => {
                // The first iterations may take less than others, or than in earlier executions.
                let size = (block >> (took / BLOCK_NS).ilog2()).max(1);
                pace.tried = 1 << size.ilog2();
                if pace.is_long {
                    return self.agree(pace.tried);
                }
                // The cause was a page fault or a preemption, perhaps: another block decides.
                pace.is_long = true;
                return 0;
            }
            _ => {}
        }
        // A chunk of less than a block counts as a block that would have continued so.
        let took = took.saturating_mul(block as u64) / ran.len() as u64;
        pace.grain = grain(block, took);
        timing.blocks.record(took);
        self.keep(ran.start, took);
        // Blocks that turn out to be short are timed as seldom as others.
        let spared = (BLOCK_NS / took.max(1)).saturating_sub(1) as usize;
        pace.pause = self.pause(ran.end, block).max(spared);
        if pace.pause > 0 {
            timing.stop();
        }
        known
    }

    /// Returns the number of blocks from `at` on that are not timed, so that about [`SAMPLES_MOST`]
    /// of the loop are.
    fn pause(&self, at: usize, block: usize) -> usize {
        // Random, so that no pattern of the costs is missed: Fibonacci hashing (Knuth 1973, 6.4).
        let most = 2 * (self.len / block / SAMPLES_MOST);
        let random = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((random * most.min(PAUSE_MOST) as u64) >> 32) as usize
    }

    /// Takes the next chunk; one with a block of the size that is to be tried, while none is known.
    #[inline]
    fn take(&self, estimate: Estimate, pace: &Pace) -> Option<Range<usize>> {
        let block = match self.block() {
            0 => pace.tried,
            known => known,
        };
        let least = pace.grain.min(block) as u64;
        self.claim
            .take_with(|left| self.plan.chunk(left, block, least, estimate))
    }

    /// Returns whether the next chunk of a part is timed, if `count` blocks were timed by all parts
    /// and the part has run `chunks`.
    #[inline]
    fn is_timed(&self, count: u64, chunks: usize) -> bool {
        if self.site.is_some() {
            return true;
        }
        // So few iterations end before their times are known.
        let is_long = self.len >= SAMPLES_MIN as usize && self.len > self.tried;
        let is_needed = self.plan.needs_estimate() && is_long;
        let is_sought = self.plan.is_auto || chunks < SAMPLES as usize;
        (is_needed || self.is_explained) && count < SAMPLES && is_sought && !self.plan.is_cached()
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
            // ORDERING: Relaxed: the parts have ended.
            is_cut: self.is_cut.load(Ordering::Relaxed),
            progress: self.progress.into_inner().into_inner(),
        }
    }

    /// Returns the iterations of a block, 0 if that is not known.
    #[inline]
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

/// The timing of blocks by a part.
struct Pace {
    /// Iterations of a block while no size is known.
    tried: usize,
    /// Whether the last block that was tried took at least the duration of a block.
    is_long: bool,
    /// Blocks that run before one is timed.
    pause: usize,
    /// The first iteration of the chunk.
    from: usize,
    /// The least chunk, by the last block that was timed; more than a block counts as a block.
    grain: usize,
    /// The counts that are not yet reported.
    ran: Ran,
}

/// Leaves out the rest of a loop if a part of it panics.
struct Stop<'l>(&'l AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        // ORDERING: Relaxed: a hint; the join of the parts propagates the panic.
        self.0.store(true, Ordering::Relaxed);
    }
}
