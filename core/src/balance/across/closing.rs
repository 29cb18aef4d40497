//! From the end of the workers to the result, which all ranks get: a state machine without I/O.
//!
//! # Algorithm
//! The ranks detect quiescence: no message between places is in flight ([`Quiesce`]), so that no
//! loot is lost. Loot that arrives until then is added to the bags. Then each rank merges its bags
//! into one, which travel up the tree of ranks, merged on the way; the whole travels down, encoded
//! once.
//!
//! If a rank was lost and the program [tolerates](Machine::lost) that, each rank whose result is
//! not in flight sends it to rank 0 instead, which waits for the ranks that are left and sends the
//! whole to each of them. Results that were in flight through the lost rank are lost, too.

use super::message::{InClosing, Part};
use super::salvage::Salvage;
use crate::collective::{Branch, Counts, Operation, Quiesce, Stray, Verdict, Wave};
use crate::glb::Bag;
use crate::id::Rank;
use crate::machine::{Action, Machine, Step, Tolerance};
use crate::wire::{Bulk, Portable, pack};
use alloc::vec;
use alloc::vec::Vec;

/// One rank.
#[derive(Clone, Debug)]
pub struct Closing<B: Bag + Portable> {
    quiesce: Quiesce,
    result: Wave<Merge<B>>,
    branch: Branch,
    /// The result of this rank, until it has begun its way.
    own: Option<Part<B>>,
    /// At rank 0: those of the others, after a loss.
    salvage: Salvage<B>,
    /// Whether a rank was lost before the result of this one had begun its way.
    is_salvaging: bool,
    /// Whether this rank knows of a loss.
    is_lossy: bool,
    /// At rank 0: whether a rank takes no part in the wave that has begun.
    is_late: bool,
}

/// The next action of the machine's driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// To begin another round, with the present counts.
    Count,
    /// To decode the result.
    End(Bulk<u8>),
    /// To end with an error, of which the other ranks are to be informed: results were on their way
    /// when a rank was lost.
    Late,
}

impl<B: Bag + Portable> Closing<B> {
    /// Creates the machine of the rank at `branch`, whose workers have ended with `own`.
    pub fn new(branch: &Branch, own: Part<B>) -> Self {
        Self {
            quiesce: Quiesce::new(branch.clone()),
            result: Wave::new(branch.clone(), Merge(core::marker::PhantomData)),
            branch: branch.clone(),
            own: Some(own),
            salvage: Salvage::new(1 + branch.sizes().sum::<usize>()),
            is_salvaging: false,
            is_lossy: false,
            is_late: false,
        }
    }

    /// Whether the result is that of the ranks that are left after a loss.
    pub fn is_salvaged(&self) -> bool {
        self.is_salvaging
    }

    /// Adds loot that has arrived since.
    pub fn add(&mut self, bag: B) {
        if let Some(own) = &mut self.own {
            own.add(bag);
        }
    }

    fn is_home(&self) -> bool {
        self.branch.here() == Rank(0)
    }

    /// Lets the count of messages in flight take a step.
    fn quiesce<T>(
        &mut self,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut Quiesce, &mut Step<'_, Quiesce>) -> T,
    ) -> T {
        let mut verdict = None;
        let mut act = |action: Action<Quiesce>| match action {
            Action::Send(to, message) => step.send(to, InClosing::Count(message)),
            Action::Effect(found) => verdict = Some(found),
        };
        let taken = take(&mut self.quiesce, &mut Step::new(&mut (), &mut act));
        match verdict {
            None => {}
            Some(Verdict::Busy) => step.effect(Next::Count),
            Some(Verdict::Quiet) => {
                let own = self.own.take().expect("the ranks are quiet once");
                self.wave(step, |wave, step| wave.event(own, step));
            }
        }
        taken
    }

    /// Lets the results on their way take a step.
    fn wave<T>(
        &mut self,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut Wave<Merge<B>>, &mut Step<'_, Wave<Merge<B>>>) -> T,
    ) -> T {
        let mut act = |action: Action<Wave<Merge<B>>>| match action {
            Action::Send(to, message) => step.send(to, InClosing::Result(message)),
            Action::Effect(whole) => step.effect(Next::End(whole)),
        };
        take(&mut self.result, &mut Step::new(&mut (), &mut act))
    }

    /// Ends at rank 0, once the results of all ranks that are left are there.
    fn salvaged(&mut self, step: &mut Step<'_, Self>) {
        if self.is_late && self.is_lossy {
            return step.effect(Next::Late);
        }
        if !self.is_salvaging || !self.salvage.is_whole() {
            return;
        }
        let Some(own) = self.own.take() else {
            return;
        };
        let left: Vec<Rank> = self.salvage.left().collect();
        let whole = encoded(&self.salvage.whole(own));
        for rank in left {
            step.send(rank, InClosing::Whole(whole.clone()));
        }
        step.effect(Next::End(whole));
    }
}

/// The event begins a round, with the present counts.
impl<B: Bag + Portable> Machine for Closing<B> {
    type Peer = Rank;
    type Message = InClosing<B>;
    type Event = Counts;
    type Effect = Next;
    type Calls = ();
    type Refusal = Stray;

    /// # Panics
    /// If the last round has not ended.
    fn event(&mut self, counts: Counts, step: &mut Step<'_, Self>) {
        if !self.is_salvaging {
            self.quiesce(step, |quiesce, step| quiesce.event(counts, step));
        }
    }

    fn receive(
        &mut self,
        from: Rank,
        message: InClosing<B>,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Stray> {
        match message {
            InClosing::Kept(part) if self.is_home() => {
                // It takes no part in the wave: this rank begins none, or has begun one that cannot
                // end.
                self.is_late |= self.own.is_none() && !self.is_salvaging;
                self.is_salvaging |= self.own.is_some();
                self.salvage.put(from, part);
                self.salvaged(step);
                Ok(())
            }
            InClosing::Whole(whole) if self.is_salvaging && from == Rank(0) => {
                step.effect(Next::End(whole));
                Ok(())
            }
            InClosing::Kept(_) | InClosing::Whole(_) => Err(Stray),
            // Of the wave that was given up.
            InClosing::Count(_) | InClosing::Result(_) if self.is_salvaging => Ok(()),
            InClosing::Count(message) => {
                self.quiesce(step, |quiesce, step| quiesce.receive(from, message, step))
            }
            InClosing::Result(message) => {
                self.wave(step, |wave, step| wave.receive(from, message, step))
            }
        }
    }

    /// Tolerates the loss of a rank other than the first, which has the results of all.
    fn lost(&mut self, rank: Rank, step: &mut Step<'_, Self>) -> Tolerance {
        if rank == Rank(0) {
            return Tolerance::Fatal;
        }
        self.salvage.lose(rank);
        self.is_lossy = true;
        if self.own.is_none() && !self.is_salvaging {
            // Only those next to it can tell that no result was on its way through it.
            let is_parent = self.branch.parent() == Some(rank);
            self.is_late |= is_parent || self.branch.children().any(|child| child == rank);
        } else {
            self.is_salvaging = true;
        }
        if !self.is_home()
            && let Some(own) = self.own.take()
        {
            step.send(Rank(0), InClosing::Kept(own));
        }
        self.salvaged(step);
        Tolerance::Tolerated
    }
}

fn encoded<B: Portable>(whole: &Part<B>) -> Bulk<u8> {
    let mut bytes = Vec::new();
    // Without an encoding there are no bytes, which cannot be decoded.
    let _ = pack(whole, &mut bytes);
    Bulk(bytes)
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
        encoded(&all)
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
