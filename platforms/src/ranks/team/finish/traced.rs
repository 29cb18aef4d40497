//! The trace of a finish: runs of its body and handlers, and messages that start handlers or have
//! results.
//!
//! A message is named by both ranks alike, without a byte in it: an activity by its number among
//! those from the one rank to the other, which a link delivers in order; a result by its call.

use super::record::Record;
use crate::execution::runtime::Cx;
use crate::observe::story::{Crossing, Placed, Ran};
use crate::observe::watch::Tracer;
use crate::ranks::engine::ProgressEngine;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};
use tautline_core::Rank;
use tautline_core::service::Operation;

/// The trace of a finish at one rank.
pub(super) struct Traced {
    tracer: Tracer,
    here: Rank,
    /// The place of the finish in the program.
    site: &'static Location<'static>,
    /// A number of the finish, the same at all ranks.
    finish: u64,
    /// The activities so far to and from each rank.
    counts: Mutex<Vec<[u64; 2]>>,
}

/// An activity that has arrived, by its number.
#[derive(Clone, Copy)]
pub(super) struct Incoming(u64);

impl Traced {
    /// Returns the trace of a finish at rank `here` of its team, if the runtime of `cx` has one.
    pub(super) fn begin(
        cx: &Cx<'_, '_>,
        engine: &ProgressEngine,
        site: &'static Location<'static>,
        operation: &Operation<Record>,
    ) -> Option<Self> {
        let tracer = cx.pool().extension::<Tracer>()?.clone();
        let (behind, clock_error) = engine.behind.get().copied().unzip();
        let placed = Placed {
            rank: engine.exchange.here().0,
            ranks: engine.exchange.ranks(),
            clock_error,
        };
        tracer.place(placed, behind.unwrap_or(0));
        let group = operation.calls().group();
        // Its name, which is the same at all ranks.
        let name = format!("{operation:?}");
        Some(Self {
            tracer,
            here: group.here(),
            site,
            finish: name
                .bytes()
                .fold(0, |hash, byte| mixed(hash ^ u64::from(byte))),
            counts: Mutex::new(vec![[0; 2]; group.ranks() as usize]),
        })
    }

    /// Records an activity that is sent; in the order of sends.
    pub(super) fn sent(&self, to: Rank, handler: u32) {
        let number = self.count(to, 0);
        let id = self.id(self.here, to, [number, 0]);
        self.crossed(Some(handler), id, true);
    }

    /// Counts an activity that has arrived; in the order of arrivals.
    pub(super) fn arrived(&self, from: Rank) -> Incoming {
        let number = self.count(from, 1);
        Incoming(self.id(from, self.here, [number, 0]))
    }

    /// Records that the result of a call is sent.
    pub(super) fn answers(&self, to: Rank, call: u64) {
        let id = self.id(self.here, to, [call, 1]);
        self.crossed(None, id, true);
    }

    /// Records that the result of a call has come.
    pub(super) fn answered(&self, from: Rank, call: u64) {
        let id = self.id(from, self.here, [call, 1]);
        self.crossed(None, id, false);
    }

    /// Begins to run the body.
    pub(super) fn body(&self) -> Run<'_> {
        self.run(None, self.site)
    }

    /// Begins to run the handler that is made at `site`; the first of the calls of an activity, if
    /// there is one.
    pub(super) fn handler(
        &self,
        position: u32,
        site: &'static Location<'static>,
        incoming: Option<Incoming>,
    ) -> Run<'_> {
        let run = self.run(Some(position), site);
        if let Some(Incoming(id)) = incoming {
            let crossing = Crossing {
                handler: Some(position),
                id,
                is_sent: false,
                at: run.ran.from,
            };
            self.tracer.crossed(crossing);
        }
        run
    }

    fn run(&self, handler: Option<u32>, site: &'static Location<'static>) -> Run<'_> {
        let from = self.tracer.now();
        let ran = Ran {
            handler,
            site,
            calls: 1,
            from,
            to: from,
        };
        Run { traced: self, ran }
    }

    fn crossed(&self, handler: Option<u32>, id: u64, is_sent: bool) {
        let at = self.tracer.now();
        self.tracer.crossed(Crossing {
            handler,
            id,
            is_sent,
            at,
        });
    }

    fn count(&self, rank: Rank, direction: usize) -> u64 {
        // It is consistent between any two statements that change it.
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = &mut counts[rank.index()][direction];
        *count += 1;
        *count
    }

    /// Returns a number that other messages hardly have.
    fn id(&self, from: Rank, to: Rank, numbers: [u64; 2]) -> u64 {
        let parts = [u64::from(from.0), u64::from(to.0), numbers[1], numbers[0]];
        parts
            .into_iter()
            .fold(self.finish, |hash, part| mixed(hash ^ part))
    }
}

/// A run of a body or handler in the calling thread, until it is dropped.
pub(super) struct Run<'t> {
    traced: &'t Traced,
    ran: Ran,
}

impl Run<'_> {
    /// Sets the number of calls.
    pub(super) fn calls(&mut self, calls: u64) {
        self.ran.calls = calls;
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let to = self.traced.tracer.now();
        self.traced.tracer.ran(Ran { to, ..self.ran });
    }
}

/// Returns another number for each one, by the step of SplitMix64 (Steele 2014).
fn mixed(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
