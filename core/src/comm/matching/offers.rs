//! Offers of a rank, and its claims to those of others.

use crate::comm::message::{Body, Envelope};
use crate::id::Rank;
use alloc::collections::BTreeMap;

/// A send whose receiver has not claimed the body.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Offer<K> {
    pub(super) key: K,
    pub(super) to: Rank,
    pub(super) envelope: Envelope,
    pub(super) body: Body,
}

/// A send whose claimed body has not left yet.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Leaving<K> {
    key: K,
    to: Rank,
    envelope: Envelope,
}

/// A receive whose message was claimed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Claimed<K> {
    pub(super) key: K,
    pub(super) envelope: Envelope,
    /// Memory of the receive that the link does not use.
    pub(super) into: Option<Body>,
}

impl<K> Claimed<K> {
    /// Whether this may be the body. It is in the memory of the receive, which may be longer, or as
    /// long as the message.
    pub(super) fn accepts(&self, body: &Body) -> bool {
        let bytes = self.envelope.bytes;
        match self.into.is_none() && body.is_vector() {
            true => body.len() >= bytes,
            false => body.len() == bytes,
        }
    }
}

/// The offers of a rank, by number.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Offers<K> {
    waiting: BTreeMap<u64, Offer<K>>,
    leaving: BTreeMap<u64, Leaving<K>>,
    next: u64,
}

impl<K> Default for Offers<K> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            leaving: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<K: Copy> Offers<K> {
    /// Returns the number that wait for an answer.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the number of a new offer.
    pub(super) fn add(&mut self, offer: Offer<K>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.waiting.insert(number, offer);
        number
    }

    /// Takes an offer that `from` has answered; `None` if that rank has no such offer.
    pub(super) fn answered(&mut self, from: Rank, number: u64) -> Option<Offer<K>> {
        let is_its = self.waiting.get(&number)?.to == from;
        is_its.then(|| self.waiting.remove(&number)).flatten()
    }

    /// The link keeps the body of an offer until it has left.
    pub(super) fn leaves(&mut self, number: u64, key: K, to: Rank, envelope: Envelope) {
        let leaving = Leaving { key, to, envelope };
        self.leaving.insert(number, leaving);
    }

    /// Takes an offer whose body has left; `None` if its receiver has been lost.
    pub(super) fn left(&mut self, number: u64) -> Option<(K, Envelope)> {
        let leaving = self.leaving.remove(&number)?;
        Some((leaving.key, leaving.envelope))
    }

    /// Removes the offers to a rank that claims no more.
    pub(super) fn refuse(&mut self, rank: Rank, mut ended: impl FnMut(K)) {
        self.waiting.retain(|_, offer| {
            if offer.to == rank {
                ended(offer.key);
            }
            offer.to != rank
        });
    }

    /// Removes the offers to a lost rank.
    pub(super) fn lose(&mut self, rank: Rank, mut ended: impl FnMut(K)) {
        self.refuse(rank, &mut ended);
        self.leaving.retain(|_, leaving| {
            if leaving.to == rank {
                ended(leaving.key);
            }
            leaving.to != rank
        });
    }
}
