//! MPI's matching of messages and receives; and the machine that is made of it.
//!
//! # Algorithm
//! Two lists: the receives and probes that wait, in the order of posting, and the messages that no
//! receive has taken, in the order of arrival. A receive takes the first message that its pattern
//! accepts, a message the first receive that accepts it. So two messages from one rank that the
//! same receives accept are taken in the order of their arrival, and two receives that accept the
//! same messages take them in the order of posting.
//!
//! A probe sees a message that is there, or that arrives before an earlier receive takes it.
//!
//! A step takes time in proportion to the length of one list.

mod claims;
mod close;
mod messenger;
mod offers;
mod packet;
mod short;
mod unreceived;

pub use messenger::{Limits, Messenger};
pub use packet::{Bodies, News, Packet, Unexpected};
pub use unreceived::Unreceived;

use super::message::{CommId, Envelope, Pattern};
use crate::id::Rank;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::mem;

/// A message: its envelope, and its body or the place of that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Incoming<B> {
    /// Its envelope.
    pub envelope: Envelope,
    /// The body.
    pub body: B,
}

/// The end of a receive or a probe.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum End<B> {
    /// The receive takes this message.
    Received(Incoming<B>),
    /// The receive has matched this message, which is longer than its limit.
    Truncated(Incoming<B>, usize),
    /// The probe has found a message.
    Probed(Envelope),
    /// Withdrawn.
    Cancelled,
    /// Only a message of this rank, which is lost, could have ended it.
    Lost(Rank),
    /// Its communicator was freed.
    Freed(CommId),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Posted<K> {
    key: K,
    pattern: Pattern,
    /// The greatest length of the message; `None` for a probe.
    limit: Option<usize>,
}

/// The messages and receives of one rank. Receives and probes are named by keys of the caller; `B`
/// is the body of a message, or where it is.
///
/// Each method reports the receives and probes that it ends to `ended`.
///
/// ```
/// use tautline_core::Rank;
/// use tautline_core::comm::{CommId, End, Envelope, Incoming, Matching, Pattern, Tag};
///
/// let mut matching = Matching::new();
/// let mut ended = Vec::new();
/// let pattern = Pattern::any(CommId(0));
/// matching.receive("first", pattern, 100, &mut |key, end| ended.push((key, end)));
/// let envelope = Envelope { comm: CommId(0), source: Rank(1), tag: Tag(7), bytes: 5 };
/// let message = Incoming { envelope, body: "hello" };
/// matching.arrive(message.clone(), &mut |key, end| ended.push((key, end)));
/// assert_eq!(ended, [("first", End::Received(message))]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Matching<K, B> {
    posted: VecDeque<Posted<K>>,
    unexpected: VecDeque<Incoming<B>>,
    lost: BTreeSet<Rank>,
    freed: BTreeSet<CommId>,
    /// Whether nothing is received any more.
    is_closed: bool,
}

impl<K, B> core::fmt::Debug for Matching<K, B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (posted, unexpected) = (self.posted.len(), self.unexpected.len());
        write!(f, "{posted} posted, {unexpected} unexpected")
    }
}

impl<K, B> Default for Matching<K, B> {
    fn default() -> Self {
        Self {
            posted: VecDeque::new(),
            unexpected: VecDeque::new(),
            lost: BTreeSet::new(),
            freed: BTreeSet::new(),
            is_closed: false,
        }
    }
}

impl<K: Copy + Eq, B> Matching<K, B> {
    /// Creates the matching of a rank to which nothing was sent.
    pub fn new() -> Self {
        Self::default()
    }

    /// Posts a receive of at most `limit` bytes.
    pub fn receive(
        &mut self,
        key: K,
        pattern: Pattern,
        limit: usize,
        ended: &mut impl FnMut(K, End<B>),
    ) {
        let accepted = |m: &Incoming<B>| pattern.accepts(&m.envelope);
        let at = self.unexpected.iter().position(accepted);
        match at.and_then(|at| self.unexpected.remove(at)) {
            Some(message) => ended(key, End::of(message, limit)),
            None => self.post(key, pattern, Some(limit), ended),
        }
    }

    /// Takes the first message that has arrived and that the pattern accepts, if it `is_ready`.
    pub fn take(
        &mut self,
        pattern: Pattern,
        is_ready: impl FnOnce(&Incoming<B>) -> bool,
    ) -> Option<Incoming<B>> {
        let accepted = |m: &Incoming<B>| pattern.accepts(&m.envelope);
        let at = self.unexpected.iter().position(accepted)?;
        is_ready(&self.unexpected[at]).then(|| self.unexpected.remove(at))?
    }

    /// Posts a probe.
    pub fn probe(&mut self, key: K, pattern: Pattern, ended: &mut impl FnMut(K, End<B>)) {
        let envelopes = self.unexpected.iter().map(|m| m.envelope);
        match envelopes.into_iter().find(|e| pattern.accepts(e)) {
            Some(envelope) => ended(key, End::Probed(envelope)),
            None => self.post(key, pattern, None, ended),
        }
    }

    fn post(
        &mut self,
        key: K,
        pattern: Pattern,
        limit: Option<usize>,
        ended: &mut impl FnMut(K, End<B>),
    ) {
        let lost = pattern.source.filter(|source| self.lost.contains(source));
        match lost {
            _ if self.refuses(pattern.comm) => ended(key, End::Freed(pattern.comm)),
            Some(rank) => ended(key, End::Lost(rank)),
            None => self.posted.push_back(Posted {
                key,
                pattern,
                limit,
            }),
        }
    }

    /// Takes a message that has arrived. Returns it if its communicator was freed.
    pub fn arrive(
        &mut self,
        message: Incoming<B>,
        ended: &mut impl FnMut(K, End<B>),
    ) -> Option<Incoming<B>> {
        let envelope = message.envelope;
        if self.refuses(envelope.comm) {
            return Some(message);
        }
        let mut at = 0;
        while let Some(posted) = self.posted.get(at) {
            if !posted.pattern.accepts(&envelope) {
                at += 1;
                continue;
            }
            let (key, limit) = (posted.key, posted.limit);
            self.posted.remove(at);
            match limit {
                None => ended(key, End::Probed(envelope)),
                Some(limit) => {
                    ended(key, End::of(message, limit));
                    return None;
                }
            }
        }
        self.unexpected.push_back(message);
        None
    }

    /// Withdraws a receive or a probe. Returns whether it was posted and has matched nothing.
    pub fn cancel(&mut self, key: K, ended: &mut impl FnMut(K, End<B>)) -> bool {
        let at = self.posted.iter().position(|posted| posted.key == key);
        let posted = at.and_then(|at| self.posted.remove(at));
        posted.is_some_and(|posted| {
            ended(posted.key, End::Cancelled);
            true
        })
    }

    /// Ends the receives and probes that only `rank`, which is lost, could have ended, now and in
    /// future. Its messages that have arrived can still be received, unless their bodies are not
    /// here.
    pub fn lose(
        &mut self,
        rank: Rank,
        is_here: impl Fn(&B) -> bool,
        ended: &mut impl FnMut(K, End<B>),
    ) {
        self.lost.insert(rank);
        self.unexpected
            .retain(|m| m.envelope.source != rank || is_here(&m.body));
        self.end_where(
            |pattern| pattern.source == Some(rank),
            || End::Lost(rank),
            ended,
        );
    }

    /// Ends the receives and probes of a communicator, now and in future. Returns its messages. Its
    /// number is kept, and may not be used for another one.
    pub fn free(&mut self, comm: CommId, ended: &mut impl FnMut(K, End<B>)) -> Vec<Incoming<B>> {
        self.freed.insert(comm);
        self.end_where(|pattern| pattern.comm == comm, || End::Freed(comm), ended);
        let (dropped, kept) = mem::take(&mut self.unexpected)
            .into_iter()
            .partition(|m| m.envelope.comm == comm);
        self.unexpected = kept;
        dropped.into()
    }

    /// Ends all receives and probes, now and in future, as if every communicator were freed.
    /// Returns all messages.
    pub fn close(&mut self, ended: &mut impl FnMut(K, End<B>)) -> Vec<Incoming<B>> {
        self.is_closed = true;
        for Posted { key, pattern, .. } in self.posted.drain(..) {
            ended(key, End::Freed(pattern.comm));
        }
        mem::take(&mut self.unexpected).into()
    }

    /// Whether a communicator was freed.
    pub fn is_freed(&self, comm: CommId) -> bool {
        self.freed.contains(&comm)
    }

    fn refuses(&self, comm: CommId) -> bool {
        self.is_closed || self.is_freed(comm)
    }

    fn end_where(
        &mut self,
        is_over: impl Fn(&Pattern) -> bool,
        end: impl Fn() -> End<B>,
        ended: &mut impl FnMut(K, End<B>),
    ) {
        self.posted.retain(|posted| {
            let is_over = is_over(&posted.pattern);
            if is_over {
                ended(posted.key, end());
            }
            !is_over
        });
    }
}

impl<B> End<B> {
    /// Returns the end of a receive of at most `limit` bytes that takes `message`.
    fn of(message: Incoming<B>, limit: usize) -> Self {
        if message.envelope.bytes > limit {
            Self::Truncated(message, limit)
        } else {
            Self::Received(message)
        }
    }
}
