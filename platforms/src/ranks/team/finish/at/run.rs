//! Running handlers that other ranks have started.

use super::{At, Failed};
use crate::execution::runtime::Cx;
use crate::ranks::team::finish::record::{Arrival, Kind, next_framed};

impl<'s> At<'s> {
    /// Runs an activity that has arrived.
    pub(in crate::ranks::team::finish) fn run<'c>(self, cx: &mut Cx<'c, '_>, arrival: &Arrival)
    where
        's: 'c,
    {
        let entry = self.entry(arrival.handler);
        let at = Self {
            in_short: entry.is_short(),
            ..self
        };
        let args = &arrival.args.0[..];
        match arrival.kind {
            Kind::Spawn => _ = at.run_one(cx, args, false),
            Kind::Call(call) => {
                let result = at.run_one(cx, args, true);
                self.region.site().reply(self.from, call, result);
            }
            Kind::Batch => {
                let mut batch = args;
                while !batch.is_empty() && cx.cancelled().is_none() {
                    let Some(args) = next_framed(&mut batch) else {
                        let (from, site) = (self.from, entry.site());
                        panic!("the handler at {site}: {from} has sent a malformed batch");
                    };
                    if entry.is_short() {
                        at.run_one(cx, args, false);
                    } else {
                        let args = args.to_vec();
                        cx.spawn(move |cx| _ = at.run_one(cx, &args, false));
                    }
                }
            }
        }
    }

    fn run_one<'c>(self, cx: &mut Cx<'c, '_>, args: &[u8], answers: bool) -> Vec<u8>
    where
        's: 'c,
    {
        let position = self.handler.expect("a handler runs");
        let entry = self.entry(position);
        let (site, from) = (entry.site(), self.from);
        match entry.run(cx, self, args, answers) {
            Ok(result) => result,
            Err(Failed::Arguments(malformed)) => {
                panic!("the handler at {site}: the arguments from {from} have {malformed}")
            }
            Err(Failed::Result(why)) => panic!("the result of the handler at {site}: {why}"),
        }
    }
}
