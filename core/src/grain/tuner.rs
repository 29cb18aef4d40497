//! Computes the next grain of a place from its measurements.

use crate::grain::{GRAIN_MAX, Log, Rule, Tuning};

/// A place that had all its workers running for less than this share of the time is short of work
/// that could be shared (Finnerty 2022: 90 %).
const FULL_PERCENT: u64 = 90;

/// Feedings for each emptying from which on the grain is too small, in tenths (the published tuner:
/// 1.3).
const FED_PER_EMPTIED_TENTHS: u64 = 13;

/// Takings for each feeding below which the grain is too small (Finnerty 2022: 2).
const SPLIT_PER_FED: u64 = 2;

/// A poll that finds nothing may take at most 1/64 of the time.
const LOOK_SHARE: u128 = 64;

/// While workers of the place wait for work, polling may take a quarter of the time that they lose,
/// since they gain by it, but never more than 1/8.
const LOOK_SHARE_SHORT: u128 = 8;

/// The weight of the time that other places wait for an answer, relative to the time of idle
/// workers, of which polling may take a quarter: the sum of polling and waiting is least where both
/// are equal.
const WAITING_COUNTS: u64 = 4;

/// All service before the tasks of a turn, answering thieves included, may take at most 1/16: a
/// worker that polls too often gives away loot that is hardly worth a message.
const SERVICE_SHARE: u128 = 16;

/// The decay of the recorded utilization: 1/32 is forgotten at every verdict. A place that runs
/// short repeatedly does so for less time than a change of the grain takes.
const FORGOTTEN: u64 = 32;

/// A grain is reduced only if empty polls take less than 1/2 of their limit.
const SLACK: u128 = 2;

/// The same while no worker waits for work; a longer turn then only delays the answers to requests.
const SLACK_FULL: u128 = 16;

/// The conclusion from two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The grain is too small; this one would suffice.
    Small(usize),
    /// The grain is too large; this one would suffice.
    Large(usize),
}

impl Verdict {
    fn agrees(self, other: Option<Self>) -> bool {
        match self {
            Self::Small(_) => matches!(other, Some(Self::Small(_))),
            Self::Large(_) => matches!(other, Some(Self::Large(_))),
        }
    }
}

/// Judges the grain of one place. Twice the same verdict in a row changes it.
#[derive(Clone, Debug)]
pub struct Tuner {
    tuning: Tuning,
    grain: usize,
    before: Log,
    ticked: u64,
    /// Ticks until the next verdict.
    patience: u64,
    /// Ticks with and without work, the latest counting most.
    utilization: [u64; 2],
    last: Option<Verdict>,
}

impl Tuner {
    /// Creates a tuner without measurements before tick `now`.
    pub fn new(tuning: Tuning, now: u64) -> Self {
        Self {
            tuning,
            grain: tuning.initial.clamp(1, GRAIN_MAX),
            before: Log::default(),
            ticked: now,
            patience: tuning.first_interval(),
            utilization: [0; 2],
            last: None,
        }
    }

    /// Returns the current grain.
    pub fn grain(&self) -> usize {
        self.grain
    }

    /// Whether the next verdict is due.
    pub fn is_due(&self, now: u64) -> bool {
        now.saturating_sub(self.ticked) >= self.patience
    }

    /// Discards the readings before this one, since the place was without work since the last
    /// verdict and shares of the elapsed time are meaningless; timed turns remain valid. Returns
    /// true if no verdict is possible now.
    pub fn rested(&mut self, log: Log, now: u64) -> bool {
        let forget = self.tuning.rule != Rule::Direct;
        if forget {
            self.before = log;
            self.ticked = now;
            self.last = None;
        }
        forget
    }

    /// Judges the time since the last reading; returns the new grain if it changes.
    pub fn tick(&mut self, log: Log, now: u64) -> Option<usize> {
        let elapsed = now.saturating_sub(self.ticked);
        let since = log.since(&self.before);
        let idle = since
            .utilization
            .idle
            .saturating_add(WAITING_COUNTS.saturating_mul(waited(&since, elapsed)));
        for (known, new) in self
            .utilization
            .iter_mut()
            .zip([since.utilization.busy, idle])
        {
            *known = (*known - *known / FORGOTTEN).saturating_add(new);
        }
        let verdict = self.judge(&since, elapsed);
        self.before = log;
        self.ticked = now;
        self.patience = (2 * self.patience).min(self.tuning.last_interval());
        let Some(verdict) = verdict else {
            self.last = None;
            return None;
        };
        if !verdict.agrees(self.last) {
            self.last = Some(verdict);
            return None;
        }
        self.last = None;
        let grain = match verdict {
            Verdict::Small(grain) => grain.min(GRAIN_MAX),
            Verdict::Large(grain) => grain.max(1),
        };
        if self.tuning.frozen || grain == self.grain {
            return None;
        }
        self.grain = grain;
        Some(grain)
    }

    fn judge(&self, log: &Log, elapsed: u64) -> Option<Verdict> {
        let small = match self.tuning.rule {
            Rule::Direct => return self.judge_directly(log),
            Rule::MergeEmpty => log.fed * 10 > log.emptied * FED_PER_EMPTIED_TENTHS,
            Rule::SplitMerge => log.fed > 0 && log.split < SPLIT_PER_FED * log.fed,
        };
        let full = u128::from(log.utilization.full);
        let short = full * 100 < u128::from(elapsed) * u128::from(FULL_PERCENT);
        match (small, short) {
            (true, false) => Some(Verdict::Small(self.grain.saturating_mul(2))),
            (false, true) => Some(Verdict::Large(self.grain / 2)),
            _ => None,
        }
    }

    /// Judges by direct measurement. If empty polls take too much, the grain is corrected
    /// immediately, to half of their limit.
    fn judge_directly(&self, log: &Log) -> Option<Verdict> {
        let sample = &log.sample;
        let [turns, dry, tasks] = [sample.turns, sample.dry, sample.tasks].map(u128::from);
        let [looking, computing] = [sample.looking, sample.computing].map(u128::from);
        if tasks == 0 || computing == 0 {
            return None;
        }
        let [busy, idle] = self.utilization.map(u128::from);
        let part = 4 * (busy + idle) / idle.max(1);
        let part = part.clamp(LOOK_SHARE_SHORT, LOOK_SHARE);
        let short = part < LOOK_SHARE;
        // As if all timed turns had found nothing to do.
        let empty =
            u128::from(sample.quiet_looking) * turns / u128::from(sample.quiet_turns.max(1));
        // The number of tasks per turn at which an empty poll takes exactly its limit.
        let enough = part * empty * tasks / (turns * computing);
        // If workers wait, immediately; otherwise by halves, since nothing is lost by waiting.
        let large = match (short, usize::try_from(2 * enough)) {
            (true, Ok(enough)) => Verdict::Large(enough.clamp(self.grain / 8, self.grain / 2)),
            _ => Verdict::Large(self.grain / 2),
        };
        if 2 * dry > turns {
            // The turns end before the grain does: a larger one would change nothing. A smaller one
            // lets work be set aside sooner, if polling stays cheap in turns that do not
            // end early.
            let spare = self.grain as u128 > 2 * enough;
            return (short && spare && self.grain > 1).then_some(large);
        }
        if empty * part > computing {
            let enough = usize::try_from(2 * enough).unwrap_or(usize::MAX);
            return Some(Verdict::Small(enough.max(self.grain.saturating_add(1))));
        }
        if looking * SERVICE_SHARE > computing {
            return Some(Verdict::Small(self.grain.saturating_mul(2)));
        }
        let slack = if short { SLACK } else { SLACK_FULL };
        let seldom = empty * part * slack < computing && 2 * looking * SERVICE_SHARE < computing;
        (seldom && self.grain > 1).then_some(large)
    }
}

/// Returns the ticks that other places waited for their requests to be served: a request finds the
/// running workers anywhere in their turns, and the first that ends its own serves it.
fn waited(log: &Log, elapsed: u64) -> u64 {
    let sample = &log.sample;
    let [requests, busy, elapsed] = [log.requests, log.utilization.busy, elapsed].map(u128::from);
    let turns = u128::from(sample.turns);
    if requests == 0 || turns == 0 {
        return 0;
    }
    let turn = u128::from(sample.looking + sample.computing) / turns;
    u64::try_from(requests * turn * elapsed / (busy + elapsed).max(1)).unwrap_or(u64::MAX)
}
