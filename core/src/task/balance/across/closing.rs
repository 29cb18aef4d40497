//! From the end of the workers to the result, which all ranks get: a state machine without I/O.
//!
//! # Algorithm
//! The ranks find out when no message between places is under way ([`Quiesce`]), so that no loot is lost: what arrives meanwhile is added to the
//! bags. Then each rank merges its bags into one, which travel up the tree of ranks, merged on the way; the whole travels down, encoded once.

use super::message::{InClosing, Part};
use crate::collective::{Branch, Counts, Operation, Outbox, Quiesce, Stray, Verdict, Wave};
use crate::glb::Bag;
use crate::id::Rank;
use crate::wire::{Bulk, Portable, pack};
use alloc::vec;
use alloc::vec::Vec;

/// One rank.
#[derive(Clone, Debug)]
pub struct Closing<B: Bag + Portable> {
    quiesce: Quiesce,
    result: Wave<Merge<B>>,
    /// The result of this rank, until it has begun its way up.
    own: Option<Part<B>>,
}

/// What the driver of the machine is to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// To wait for a message.
    Wait,
    /// To begin another round, with the present counts.
    Count,
    /// To decode the result.
    End(Bulk<u8>),
}

impl<B: Bag + Portable> Closing<B> {
    /// Creates the machine of the rank at `branch`, whose workers have ended with `own`.
    pub fn new(branch: &Branch, own: Part<B>) -> Self {
        Self {
            quiesce: Quiesce::new(branch.clone()),
            result: Wave::new(branch.clone(), Merge(core::marker::PhantomData)),
            own: Some(own),
        }
    }

    /// Adds loot that has arrived since.
    pub fn add(&mut self, bag: B) {
        if let Some(own) = &mut self.own {
            own.add(bag);
        }
    }

    /// Begins a round.
    ///
    /// # Panics
    /// If the last one has not ended.
    pub fn count(&mut self, counts: Counts, out: &mut impl Outbox<InClosing<B>>) -> Next {
        let verdict = self.quiesce.begin(counts, &mut |to, message| {
            out.send(to, InClosing::Count(message));
        });
        self.after(verdict, out)
    }

    /// Processes a message of another rank.
    ///
    /// # Errors
    /// If the machine expects no such message from that rank.
    pub fn on(
        &mut self,
        from: Rank,
        message: InClosing<B>,
        out: &mut impl Outbox<InClosing<B>>,
    ) -> Result<Next, Stray> {
        match message {
            InClosing::Count(message) => {
                let verdict = self.quiesce.on(from, message, &mut |to, message| {
                    out.send(to, InClosing::Count(message));
                })?;
                Ok(self.after(verdict, out))
            }
            InClosing::Result(message) => {
                let ended = self.result.on(from, message, &mut |to, message| {
                    out.send(to, InClosing::Result(message));
                })?;
                Ok(ended.map_or(Next::Wait, Next::End))
            }
        }
    }

    fn after(&mut self, verdict: Verdict, out: &mut impl Outbox<InClosing<B>>) -> Next {
        match verdict {
            Verdict::Open => Next::Wait,
            Verdict::Busy => Next::Count,
            Verdict::Quiet => {
                let own = self.own.take().expect("the ranks are quiet once");
                let ended = self.result.begin(own, &mut |to, message| {
                    out.send(to, InClosing::Result(message));
                });
                ended.map_or(Next::Wait, Next::End)
            }
        }
    }
}

/// The results of all ranks, in their order, as one.
#[derive(Clone, Debug)]
struct Merge<B>(core::marker::PhantomData<fn() -> B>);

impl<B: Bag + Portable> Operation for Merge<B> {
    type Own = Part<B>;
    type Up = Part<B>;
    type Down = Bulk<u8>;
    type Output = Bulk<u8>;

    fn combine(&mut self, mut own: Part<B>, children: Vec<Part<B>>) -> Part<B> {
        for child in children {
            own.append(child);
        }
        own
    }

    fn turn(&mut self, all: Part<B>) -> Bulk<u8> {
        let mut bytes = Vec::new();
        // Without an encoding there are no bytes, which cannot be decoded.
        let _ = pack(&all, &mut bytes);
        Bulk(bytes)
    }

    fn spread(
        &mut self,
        all: Bulk<u8>,
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(Bulk<u8>, Vec<Bulk<u8>>)> {
        let copies = vec![all.clone(); sizes.len()];
        Some((all, copies))
    }
}
