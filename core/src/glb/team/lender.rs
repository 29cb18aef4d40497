//! The part of a place that serves other places.
//!
//! Separate from the workers' part, and owned jointly, so that a thread that is no worker can serve
//! requests while all workers are in long tasks: with what they have set aside, never from a bag of
//! theirs.
//!
//! # Words
//! `inbox` and `inter` have their own. `thieves`, `stealing` and `announced` are hints, written
//! under the protocol's lock and read without it. `requests` is a statistic.

use super::{Envelope, ProtocolState, Victims};
use crate::deque::Inbox;
use crate::glb::{Bag, Protocol, Tally};
use crate::lifeline::{Phase, Reserve};
use crate::sync::{AtomicBool, AtomicUsize, CachePadded, Lock, Ordering};

/// The part of a place that other places reach: its messages, its work for other places, its
/// protocol.
pub(crate) struct Lender<B: Bag> {
    pub(in crate::glb) inter: Reserve<B>,
    pub(in crate::glb) inbox: Inbox<Envelope<B>>,
    pub(super) protocol: CachePadded<Lock<ProtocolState<B>>>,
    pub(super) thieves: AtomicBool,
    pub(super) stealing: AtomicBool,
    pub(super) announced: AtomicUsize,
    /// Requests from other places so far.
    requests: AtomicUsize,
}

impl<B: Bag> Lender<B> {
    pub(super) fn new(protocol: Protocol<B>, victims: Victims) -> Self {
        let thieves = protocol.place().thieves().len() > 0;
        Self {
            inter: Reserve::new(),
            inbox: Inbox::new(),
            protocol: CachePadded::new(Lock::new(ProtocolState {
                protocol,
                tally: Tally::default(),
                victims,
            })),
            thieves: AtomicBool::new(thieves),
            stealing: AtomicBool::new(false),
            announced: AtomicUsize::new(usize::MAX),
            requests: AtomicUsize::new(0),
        }
    }

    /// Returns the requests from other places so far.
    pub(super) fn requests(&self) -> u64 {
        // ORDERING: Relaxed: a statistic.
        self.requests.load(Ordering::Relaxed) as u64
    }

    pub(super) fn count_request(&self) {
        // ORDERING: Relaxed: a statistic.
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes the hints that are read without the protocol's lock, which the caller holds.
    pub(super) fn publish(&self, protocol: &Protocol<B>) {
        let place = protocol.place();
        let is_stealing = matches!(place.phase(), Phase::Stealing { .. });
        set(&self.thieves, place.thieves().len() > 0);
        set(&self.stealing, is_stealing);
        // For bounds that fit into a word; others are compared with the protocol's.
        let announced = usize::try_from(protocol.announced()).unwrap_or(usize::MAX);
        // ORDERING: Relaxed both ways, a hint written under the protocol's lock (see set).
        if self.announced.load(Ordering::Relaxed) != announced {
            // ORDERING: Relaxed, as for the load.
            self.announced.store(announced, Ordering::Relaxed);
        }
    }
}

/// Writes a hint, under the protocol's lock, if it changes: every worker reads that line in every
/// turn.
fn set(hint: &AtomicBool, value: bool) {
    // ORDERING: Relaxed both ways: callers that act on the hint acquire the lock.
    if hint.load(Ordering::Relaxed) != value {
        // ORDERING: Relaxed, as for the load.
        hint.store(value, Ordering::Relaxed);
    }
}
