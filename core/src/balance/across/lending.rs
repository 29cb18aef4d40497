//! Requests of other ranks while all workers of this one are in long tasks.
//!
//! # Algorithm
//! Workers serve requests between two grains. A request that was there when a thread
//! [nudged](crate::wire::Exchange::nudge) the channels, and is still there at its next call, with
//! nothing processed in between, is served by that thread: with what the workers have set aside for
//! other places, or with nothing. A worker that is alone at its place sets nothing aside, since it
//! divides its own bag later and better; no thread but its own touches that.
//!
//! The loot is not observed: observers belong to workers.

use super::message::RankMessage;
use super::ranks::Ranks;
use crate::glb::{Bag, Lender, Message, Refusal};
use crate::id::PlaceId;
use crate::port::Spin;
use crate::wire::{Portable, Sender};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The parts of the places of this rank that serve other ranks.
pub(super) struct Lending<B: Bag + Portable + 'static> {
    ranks: Ranks,
    /// By place of this rank.
    lenders: Vec<Arc<Lender<B>>>,
    sender: Sender<RankMessage<B>>,
    /// The number of messages processed at the last poll, if a message waited then.
    waited: Option<usize>,
}

impl<B: Bag + Portable + 'static> Lending<B> {
    pub(super) fn new(
        ranks: Ranks,
        lenders: impl IntoIterator<Item = Arc<Lender<B>>>,
        sender: Sender<RankMessage<B>>,
    ) -> Self {
        Self {
            ranks,
            lenders: lenders.into_iter().collect(),
            sender,
            waited: None,
        }
    }

    /// Whether messages of other places wait at a place of this rank; a hint.
    pub(super) fn has_mail(&self) -> bool {
        self.lenders.iter().any(|lender| lender.has_mail())
    }

    /// Whether a message has waited since the last poll, given the number processed if one waits
    /// now.
    pub(super) fn is_overdue(&mut self, waits: Option<usize>) -> bool {
        let waited = core::mem::replace(&mut self.waited, waits);
        waits.is_some() && waited == waits
    }

    /// Serves a request to the place `to` of this rank. `count` is called for the answer.
    ///
    /// # Errors
    /// If no correct place sends it.
    pub(super) fn serve(
        &self,
        from: PlaceId,
        to: PlaceId,
        lifeline: bool,
        count: impl Fn(),
    ) -> Result<(), Refusal> {
        let lender = &self.lenders[(to.0 - self.ranks.first(self.ranks.here).0) as usize];
        lender.serve(from, lifeline, &Spin, |thief, answer| {
            count();
            self.sender.send(to, thief, RankMessage::Places(answer));
        })
    }

    /// Serves the requests of other ranks that were delivered to a place of this one.
    pub(super) fn serve_delivered(&self, count: impl Fn()) {
        let here = self.ranks.here;
        let elsewhere = |place| self.ranks.of(place) != here;
        for (to, lender) in (self.ranks.first(here).0..).map(PlaceId).zip(&self.lenders) {
            while let Some((from, message)) = lender.pop_request(elsewhere, &Spin) {
                let Message::Request { lifeline } = message else {
                    continue;
                };
                if self.serve(from, to, lifeline, &count).is_err() {
                    // A worker refuses it.
                    lender.put_back(from, message, &Spin);
                    break;
                }
            }
        }
    }
}
