//! Loops balanced by the methods of comparison: ranks that begin and finish chunks at any time, and
//! pick any victim.

use super::begun::{Begun, Forecast, len};
use crate::explore::{At, Checked, Flaw, Part, PartOf, Parts, View};
use std::cell::Cell;
use std::ops::Range;
use tautline_core::Rank;
use tautline_core::defer::{Effect, Event};
use tautline_core::machine::Pick;
use tautline_exhibits::defer::{Baseline, Call, Rule, Tuning};

/// A loop over ranks.
#[derive(Debug)]
pub struct Compared {
    ranks: u32,
    iterations: u64,
    rule: Rule,
    tuning: Tuning,
    forecast: Forecast,
    fault: Option<ComparedFault>,
    /// Messages that moved iterations.
    transfers: Cell<u64>,
}

/// An error that the checks must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedFault {
    /// The donor keeps the iterations that it sends.
    KeepWhatIsSent,
    /// The receiver drops the iterations that arrive.
    DropWhatArrives,
    /// A rank does not report the number of iterations that have begun.
    ReportNothing,
    /// A rank takes the first order of its parent, or the first answer, for the end.
    EndWithFirst,
}

/// The state of a rank's driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Die {
    has_begun: bool,
    is_busy: bool,
    /// The next number that the rank picks.
    next: u32,
}

impl Pick for Die {
    fn pick(&mut self, n: u32) -> u32 {
        assert!(self.next < n, "a number below {n}");
        std::mem::take(&mut self.next)
    }
}

/// An act of a rank.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Begins the loop.
    Begin,
    /// Finishes its chunk.
    Finish,
    /// Changes the next number that it picks.
    Roll,
}

fn one(part: Range<u64>) -> Vec<Range<u64>> {
    std::iter::once(part).collect()
}

/// Returns the iterations that a message moves.
fn parts(call: &Call) -> &[Range<u64>] {
    match call {
        Call::Data(parts) | Call::Answer(parts) => parts,
        _ => &[],
    }
}

impl Compared {
    /// Creates a loop; `times` are those of the cached variant, or none.
    ///
    /// # Panics
    /// If there are more than 31 iterations, or there are times, but not one for each.
    pub fn new(ranks: u32, iterations: u64, rule: Rule, tuning: Tuning, times: &[u64]) -> Self {
        assert!(iterations < 32, "iterations are bits of a word");
        assert!(times.is_empty() || times.len() as u64 == iterations);
        Self {
            ranks,
            iterations,
            rule,
            tuning,
            forecast: Forecast::new(times),
            fault: None,
            transfers: Cell::default(),
        }
    }

    /// Makes an error on purpose.
    pub fn with_fault(mut self, fault: ComparedFault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Returns the number of messages that have moved iterations so far.
    pub fn transfers(&self) -> u64 {
        self.transfers.get()
    }
}

impl Checked for Compared {
    type Machine = Baseline<Forecast>;
    type Driver = Die;
    type Act = Act;
    type Ghost = Begun;

    fn peers(&self) -> u32 {
        self.ranks
    }

    fn start(&self, here: Rank) -> PartOf<Self> {
        let (size, forecast) = ((self.iterations, self.ranks), self.forecast.clone());
        Part {
            machine: Baseline::predicted(here, size, self.rule, self.tuning, forecast),
            driver: Die::default(),
        }
    }

    fn acts(&self, _: Rank, Part { machine, driver }: &PartOf<Self>, _: &Begun) -> Vec<Act> {
        let begin = (!driver.has_begun).then_some(Act::Begin);
        let finish = driver.is_busy.then_some(Act::Finish);
        let picks = self.rule == Rule::Halving && !machine.has_ended();
        let roll = (picks && driver.next + 2 < self.ranks).then_some(Act::Roll);
        begin.into_iter().chain(finish).chain(roll).collect()
    }

    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<Event<()>> {
        match act {
            Act::Begin => {
                at.driver.has_begun = true;
                Some(Event::Begin)
            }
            Act::Finish => {
                at.driver.is_busy = false;
                Some(Event::Executed(()))
            }
            Act::Roll => {
                at.driver.next += 1;
                None
            }
        }
    }

    fn calls(driver: &mut Die) -> &mut (dyn Pick + 'static) {
        driver
    }

    fn effect(
        &self,
        at: &mut At<'_, Self>,
        _: &Baseline<Forecast>,
        effect: Effect,
    ) -> Option<Event<()>> {
        let found = match effect {
            Effect::Execute(chunk) => {
                at.driver.is_busy = true;
                at.ghost.begin(&chunk)
            }
            Effect::End => at.ghost.end(at.here),
        };
        found.into_iter().for_each(|flaw| at.find(flaw));
        None
    }

    fn send(&self, at: &mut At<'_, Self>, _: Rank, call: Call) -> Option<Call> {
        let parts = parts(&call);
        let transfers = self.transfers.get() + u64::from(!parts.is_empty());
        self.transfers.set(transfers);
        let mut found = at.ghost.send(parts);
        if self.fault == Some(ComparedFault::KeepWhatIsSent) {
            found = found.or(at.ghost.begin(parts));
        }
        found.into_iter().for_each(|flaw| at.find(flaw));
        let is_report = matches!(call, Call::Sum(_));
        let is_lost = self.fault == Some(ComparedFault::ReportNothing) && is_report;
        (!is_lost).then_some(call)
    }

    fn receive(&self, _: &mut At<'_, Self>, from: Rank, call: Call) -> Option<(Rank, Call)> {
        let call = match (self.fault, call) {
            (Some(ComparedFault::DropWhatArrives), Call::Data(_)) => return None,
            (Some(ComparedFault::DropWhatArrives), Call::Answer(_)) => Call::Answer(Vec::new()),
            (Some(ComparedFault::EndWithFirst), Call::Give(..) | Call::Answer(_)) => Call::End,
            (_, call) => call,
        };
        Some((from, call))
    }

    fn malformed(&self, _: &Baseline<Forecast>) -> Vec<Call> {
        if self.fault.is_some() {
            return Vec::new();
        }
        let (p, n) = (self.ranks, self.iterations);
        let ranks = || (0..=p).chain([u32::MAX]).map(Rank);
        let all = || one(0..n);
        let mut calls = vec![
            Call::Request,
            Call::End,
            Call::Answer(Vec::new()),
            Call::Answer(all()),
            Call::Data(Vec::new()),
            Call::Data(all()),
            Call::Data(vec![n..n + 1, 0..n]),
            Call::Data(vec![
                1..1,
                Range {
                    start: u64::MAX,
                    end: 0,
                },
            ]),
        ];
        for number in [0, n, n + 1, u64::MAX] {
            calls.extend([Call::Begun(number), Call::Ahead(number), Call::Sum(number)]);
            calls.extend(ranks().map(|rank| Call::Left(rank, u64::MAX, number)));
            calls.extend(ranks().map(|rank| Call::Give(rank, number)));
        }
        calls
    }

    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let calls = view
            .parcels
            .iter()
            .filter_map(|parcel| parcel.message.as_ref());
        let moving = calls.map(|call| len(parts(call))).sum();
        view.ghost.ghost.judge(self.iterations, moving)
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        view.ghost.ghost.is_final(self.iterations, self.ranks)
    }
}
