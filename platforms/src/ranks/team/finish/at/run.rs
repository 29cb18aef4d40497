//! Running handlers that other ranks have started.

use super::arguments::{malformed, refuse};
use super::{At, Failed, Region};
use crate::execution::runtime::Cx;
use crate::ranks::team::finish::record::{Arrival, Kind, next_framed};
use crate::ranks::team::finish::site::{Pending, Within};
use crate::ranks::team::finish::traced::{Incoming, Run};
use std::iter;
use std::sync::Arc;
use tautline_core::Rank;

/// An activity that has arrived and not begun.
pub(in crate::ranks::team::finish) struct Arrived<'s> {
    pub(in crate::ranks::team::finish) from: Rank,
    pub(in crate::ranks::team::finish) arrival: Arrival,
    pub(in crate::ranks::team::finish) pending: Pending<'s>,
    /// `None` without a trace.
    pub(in crate::ranks::team::finish) incoming: Option<Incoming>,
}

impl<'s> Arrived<'s> {
    /// Runs the handler of an activity, or, of a batch, its calls or their tasks.
    pub(in crate::ranks::team::finish) fn run<'c>(
        self,
        cx: &mut Cx<'c, '_>,
        region: Region<'s>,
        within: Within,
    ) where
        's: 'c,
    {
        let Self {
            from,
            arrival,
            pending,
            incoming,
        } = self;
        let mut at = At::of_arrival(region, from, within, arrival.handler);
        at.in_short = at.entry(arrival.handler).is_short();
        let args = &arrival.args.0[..];
        match arrival.kind {
            Kind::Spawn => {
                drop(pending);
                let _run = at.traced(incoming);
                at.run_one(cx, args, false);
            }
            Kind::Call(call) => {
                drop(pending);
                let _run = at.traced(incoming);
                let result = at.run_one(cx, args, true);
                region.site().reply(from, call, result);
            }
            Kind::Batch => at.run_batch(cx, args, pending, incoming),
        }
    }
}

impl<'s> At<'s> {
    /// Begins a run of the handler in the trace, if there is one.
    pub(super) fn traced(self, incoming: Option<Incoming>) -> Option<Run<'s>> {
        let traced = self.region.team.site.as_ref()?.traced()?;
        let position = self.handler.expect("a handler runs");
        Some(traced.handler(position, self.entry(position).site(), incoming))
    }

    /// Runs the handler for each call of a batch: a short one in a single run of the trace.
    fn run_batch<'c>(
        self,
        cx: &mut Cx<'c, '_>,
        mut batch: &[u8],
        pending: Pending<'s>,
        mut incoming: Option<Incoming>,
    ) where
        's: 'c,
    {
        let position = self.handler.expect("a handler runs");
        let entry = self.entry(position);
        if self.in_short {
            let mut run = self.traced(incoming.take());
            if let Some(run) = &mut run {
                let mut rest = batch;
                run.calls(iter::from_fn(|| next_framed(&mut rest)).count() as u64);
            }
            // The bytes are released at its end.
            return entry.run_batch(cx, self, batch);
        }
        // Until the last of its tasks has begun.
        let pending = Arc::new(pending);
        while !batch.is_empty() && cx.cancelled().is_none() {
            let args = next_framed(&mut batch);
            let args = args.unwrap_or_else(|| malformed(entry.site(), self.from));
            let (args, pending) = (args.to_vec(), Arc::clone(&pending));
            let incoming = incoming.take();
            cx.spawn(move |cx| {
                drop(pending);
                let _run = self.traced(incoming);
                self.run_one(cx, &args, false);
            });
        }
    }

    /// Runs the handler once. Returns its result, encoded, if it answers.
    fn run_one<'c>(self, cx: &mut Cx<'c, '_>, args: &[u8], answers: bool) -> Vec<u8>
    where
        's: 'c,
    {
        let position = self.handler.expect("a handler runs");
        let entry = self.entry(position);
        let (site, from) = (entry.site(), self.from);
        match entry.run(cx, self, args, answers) {
            Ok(result) => result,
            Err(Failed::Arguments(malformed)) => refuse(site, from, malformed),
            Err(Failed::Result(why)) => panic!("the result of the handler at {site}: {why}"),
        }
    }
}
