//! What a rank has offered: the sends whose bodies it keeps.

use crate::comm::message::Body;
use crate::comm::message::Envelope;
use crate::comm::slot::Ticket;
use crate::id::Rank;
use alloc::collections::BTreeMap;

/// A send whose receiver has not claimed the body.
pub(super) struct Offer {
    pub(super) ticket: Ticket,
    pub(super) to: Rank,
    pub(super) envelope: Envelope,
    pub(super) body: Body,
}

/// A send whose claimed body the mail has not sent yet.
struct Leaving {
    ticket: Ticket,
    to: Rank,
    envelope: Envelope,
}

/// The offers of a rank, by number.
#[derive(Default)]
pub(super) struct Offers {
    waiting: BTreeMap<u64, Offer>,
    leaving: BTreeMap<u64, Leaving>,
    next: u64,
}

impl Offers {
    /// Returns how many wait for an answer.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the number of a new offer.
    pub(super) fn add(&mut self, offer: Offer) -> u64 {
        let number = self.next;
        self.next += 1;
        self.waiting.insert(number, offer);
        number
    }

    /// Takes an offer that `from` has answered; `None` if that rank has no such offer.
    pub(super) fn answered(&mut self, from: Rank, number: u64) -> Option<Offer> {
        let is_its = self.waiting.get(&number)?.to == from;
        is_its.then(|| self.waiting.remove(&number)).flatten()
    }

    /// The mail keeps the body of an offer until it has left.
    pub(super) fn leaves(&mut self, number: u64, ticket: Ticket, to: Rank, envelope: Envelope) {
        let leaving = Leaving {
            ticket,
            to,
            envelope,
        };
        self.leaving.insert(number, leaving);
    }

    /// Takes an offer whose body has left; `None` if its receiver was lost meanwhile.
    pub(super) fn left(&mut self, number: u64) -> Option<(Ticket, Envelope)> {
        let leaving = self.leaving.remove(&number)?;
        Some((leaving.ticket, leaving.envelope))
    }

    /// Removes the offers to a rank that claims no more.
    pub(super) fn refuse(&mut self, rank: Rank, mut ended: impl FnMut(Ticket)) {
        self.waiting.retain(|_, offer| {
            if offer.to == rank {
                ended(offer.ticket);
            }
            offer.to != rank
        });
    }

    /// Removes the offers to a lost rank.
    pub(super) fn lose(&mut self, rank: Rank, mut ended: impl FnMut(Ticket)) {
        self.refuse(rank, &mut ended);
        self.leaving.retain(|_, leaving| {
            if leaving.to == rank {
                ended(leaving.ticket);
            }
            leaving.to != rank
        });
    }
}
