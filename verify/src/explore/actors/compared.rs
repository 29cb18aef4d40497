//! Loops balanced by the methods of comparison: ranks that begin and finish chunks at any time, and pick any victim.

use super::begun::{Begun, Forecast, len};
use crate::explore::{Actors, Flaw, Out, View};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Range;
use tautline_core::defer::{Actions, Baseline, Call, Pick, Refused, Rule, Tuning};
use tautline_core::{PlaceId, Rank};

/// A loop over ranks.
#[derive(Debug)]
pub struct Compared {
    ranks: u32,
    iterations: u64,
    rule: Rule,
    tuning: Tuning,
    forecast: Forecast,
    slip: Option<ComparedSlip>,
    /// Messages that moved iterations.
    transfers: Cell<u64>,
    /// Sites that have refused every garbled message.
    probed: RefCell<HashSet<Site>>,
}

/// An error that the checks must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedSlip {
    /// The donor keeps the iterations that it sends.
    KeepWhatIsSent,
    /// The receiver drops the iterations that arrive.
    DropWhatArrives,
    /// A rank does not report how many iterations have begun.
    ReportNothing,
    /// A rank takes the first order of its parent, or the first answer, for the end.
    EndWithFirst,
}

/// One rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    machine: Baseline<Forecast>,
    has_begun: bool,
    is_busy: bool,
    /// The next number that the rank picks.
    die: u32,
}

/// What a rank does.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Begins the loop.
    Begin,
    /// Finishes its chunk.
    Free,
    /// Changes the next number that it picks.
    Roll,
}

/// The driver of a rank.
struct Driver<'a> {
    here: PlaceId,
    system: &'a Compared,
    is_busy: &'a mut bool,
    die: &'a mut u32,
    out: &'a mut Out<Compared>,
}

impl Actions<Call> for Driver<'_> {
    fn send(&mut self, to: Rank, call: Call) {
        let (system, parts) = (self.system, parts(&call));
        system
            .transfers
            .set(system.transfers.get() + u64::from(!parts.is_empty()));
        self.out.ghost.send(parts);
        match (system.slip, &call) {
            (Some(ComparedSlip::KeepWhatIsSent), _) => self.out.ghost.begin(parts),
            (Some(ComparedSlip::ReportNothing), Call::Sum(_)) => return,
            _ => {}
        }
        self.out.sent.push((PlaceId(to.0), call));
    }

    fn run(&mut self, chunk: Vec<Range<u64>>) {
        self.out.ghost.begin(&chunk);
        *self.is_busy = true;
    }

    fn end(&mut self) {
        self.out.ghost.end(self.here);
    }
}

impl Pick for Driver<'_> {
    fn pick(&mut self, n: u32) -> u32 {
        assert!(*self.die < n, "a number below {n}");
        std::mem::take(self.die)
    }
}

/// Records whether a machine requires anything.
#[derive(Default)]
struct Witness(bool);

impl Actions<Call> for Witness {
    fn send(&mut self, _: Rank, _: Call) {
        self.0 = true;
    }

    fn run(&mut self, _: Vec<Range<u64>>) {
        self.0 = true;
    }

    fn end(&mut self) {
        self.0 = true;
    }
}

impl Pick for Witness {
    fn pick(&mut self, _: u32) -> u32 {
        0
    }
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
            slip: None,
            transfers: Cell::default(),
            probed: RefCell::default(),
        }
    }

    /// Makes an error on purpose.
    pub fn with_slip(mut self, slip: ComparedSlip) -> Self {
        self.slip = Some(slip);
        self
    }

    /// Returns how many messages have moved iterations so far.
    pub fn transfers(&self) -> u64 {
        self.transfers.get()
    }

    /// Lets the machine of a rank process something.
    fn step(
        &self,
        here: PlaceId,
        site: &mut Site,
        out: &mut Out<Self>,
        step: impl FnOnce(&mut Baseline<Forecast>, &mut Driver<'_>) -> Result<(), Refused>,
    ) {
        let mut driver = Driver {
            here,
            system: self,
            is_busy: &mut site.is_busy,
            die: &mut site.die,
            out,
        };
        if step(&mut site.machine, &mut driver).is_err() {
            out.ghost.find(Flaw::Refused);
        }
        if self.slip.is_none() && !self.probed.borrow().contains(site) {
            self.probe(&site.machine);
            self.probed.borrow_mut().insert(site.clone());
        }
    }

    /// Gives garbled messages to a machine: none panics, and those that are refused change nothing.
    fn probe(&self, machine: &Baseline<Forecast>) {
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
        for (from, call) in ranks().flat_map(|from| calls.iter().map(move |call| (from, call))) {
            let (mut after, mut witness) = (machine.clone(), Witness::default());
            if after.on(from, call.clone(), &mut witness).is_err() {
                let is_same = after == *machine && !witness.0;
                assert!(
                    is_same,
                    "{call:?} from {from} was refused, and changed {machine:?}"
                );
            }
        }
    }
}

impl Actors for Compared {
    type Site = Site;
    type Message = Call;
    type Act = Act;
    type Ghost = Begun;

    fn places(&self) -> u32 {
        self.ranks
    }

    fn start(&self, here: PlaceId, _: &mut Out<Self>) -> Site {
        let (size, forecast) = ((self.iterations, self.ranks), self.forecast.clone());
        Site {
            machine: Baseline::predicted(Rank(here.0), size, self.rule, self.tuning, forecast),
            has_begun: false,
            is_busy: false,
            die: 0,
        }
    }

    fn acts(&self, _: PlaceId, site: &Site, _: &Begun) -> Vec<Act> {
        let begin = (!site.has_begun).then_some(Act::Begin);
        let free = site.is_busy.then_some(Act::Free);
        let picks = self.rule == Rule::Halving && !site.machine.has_ended();
        let roll = (picks && site.die + 2 < self.ranks).then_some(Act::Roll);
        begin.into_iter().chain(free).chain(roll).collect()
    }

    fn act(&self, here: PlaceId, site: &mut Site, act: Act, out: &mut Out<Self>) {
        match act {
            Act::Begin => site.has_begun = true,
            Act::Free => site.is_busy = false,
            Act::Roll => {
                site.die += 1;
                return;
            }
        }
        self.step(here, site, out, |machine, driver| {
            match act {
                Act::Begin => machine.begin(driver),
                _ => machine.free(driver),
            }
            Ok(())
        });
    }

    fn deliver(
        &self,
        here: PlaceId,
        site: &mut Site,
        from: PlaceId,
        call: Call,
        out: &mut Out<Self>,
    ) {
        let call = match (self.slip, call) {
            (Some(ComparedSlip::DropWhatArrives), Call::Data(_)) => return,
            (Some(ComparedSlip::DropWhatArrives), Call::Answer(_)) => Call::Answer(Vec::new()),
            (Some(ComparedSlip::EndWithFirst), Call::Give(..) | Call::Answer(_)) => Call::End,
            (_, call) => call,
        };
        self.step(here, site, out, |machine, driver| {
            machine.on(Rank(from.0), call, driver)
        });
    }

    fn judge(&self, view: &View<Self>) -> Option<Flaw> {
        let calls = view
            .parcels
            .iter()
            .filter_map(|parcel| parcel.message.as_ref());
        let moving = calls.map(|call| len(parts(call))).sum();
        view.ghost.judge(self.iterations, moving)
    }

    fn is_final(&self, view: &View<Self>) -> bool {
        view.ghost.is_final(self.iterations, self.ranks)
    }
}
