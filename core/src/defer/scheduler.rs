//! One interface for all machines that balance a loop over ranks.

use super::{Deferred, Effect, Epochs, Event, Message, Notice, Predict};
use crate::id::Rank;
use crate::machine::{Machine, Pick, no_calls};
use crate::taper::Summary;
use alloc::vec::Vec;
use core::ops::Range;
use core::slice;

/// A machine that schedules a loop over ranks, by any method, so that a driver is written once.
pub trait Scheduler: Machine<Peer = Rank, Event = Event<Self::Times>, Effect = Effect> {
    /// The times that the machine records of an executed chunk.
    type Times;

    /// Returns that for a chunk whose iterations took `times`, in order.
    fn times(times: &[u64]) -> Self::Times;

    /// Returns the calls of the machine, whose choices `pick` makes.
    fn calls<'a>(pick: &'a mut (dyn Pick + 'static)) -> &'a mut Self::Calls;

    /// Returns the instance of the loop that the next chunk belongs to; 0 if the loop is executed
    /// once.
    fn instance(&self) -> u64 {
        0
    }

    /// Returns the iterations that a message moves to its receiver.
    fn moved(message: &Self::Message) -> &[Range<u64>];
}

impl<W: Predict> Scheduler for Epochs<W> {
    type Times = Summary;

    fn times(times: &[u64]) -> Summary {
        let mut summary = Summary::NONE;
        times.iter().for_each(|time| summary.record(*time));
        summary
    }

    fn calls<'a>(_: &'a mut (dyn Pick + 'static)) -> &'a mut () {
        no_calls()
    }

    fn moved(message: &Message) -> &[Range<u64>] {
        match message {
            Message::Data(parts) => parts,
            _ => &[],
        }
    }
}

impl Scheduler for Deferred {
    type Times = Vec<u64>;

    fn times(times: &[u64]) -> Vec<u64> {
        times.to_vec()
    }

    fn calls<'a>(_: &'a mut (dyn Pick + 'static)) -> &'a mut () {
        no_calls()
    }

    fn instance(&self) -> u64 {
        self.instance()
    }

    fn moved(notice: &Notice) -> &[Range<u64>] {
        match notice {
            Notice::Data(_, part) => slice::from_ref(part),
            _ => &[],
        }
    }
}
