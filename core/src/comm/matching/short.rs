//! Messages whose body goes with them: they need no task.

use super::Incoming;
use super::messenger::{COPIED, Messenger, Place, cost};
use super::packet::Packet;
use crate::comm::error::Error;
use crate::comm::message::{Body, CommId, Envelope, Pattern, Tag};
use crate::comm::operation::Outcome;
use crate::comm::outcome::{done, received, unreceived};
use crate::id::Rank;
use crate::machine::Step;

impl<K: Copy + Eq> Messenger<K> {
    /// Sends a message with its body, if the receiver has room for it.
    ///
    /// # Errors
    /// The body, if it has none.
    pub(super) fn send_short(
        &mut self,
        envelope: Envelope,
        to: Rank,
        body: Body,
        step: &mut Step<'_, Self>,
    ) -> Result<Outcome, Body> {
        let Envelope {
            comm, tag, bytes, ..
        } = envelope;
        if self.matching.is_freed(comm) {
            return Ok(Err(Error::Freed { comm }));
        }
        let peer = &mut self.peers[to.index()];
        if peer.lost.is_some() {
            return Ok(Err(self.loss(to)));
        }
        if peer.short.is_closed() {
            return Ok(Err(unreceived(to)));
        }
        let sent = peer.sent.saturating_add(cost(bytes));
        let is_copied = !body.is_vector() || bytes <= COPIED;
        if !is_copied || sent > self.limits.eager {
            return Err(body);
        }
        peer.sent = sent;
        peer.short.count_sent(tag);
        let (body, back) = match body.is_vector() {
            true => (body.to_vec().into(), body),
            false => (body, Body::default()),
        };
        step.send(to, Packet::Message { comm, tag, body });
        Ok(Ok(done(&envelope, back)))
    }

    pub(super) fn envelope(&self, comm: CommId, tag: Tag, body: &Body) -> Envelope {
        Envelope {
            comm,
            source: self.here,
            tag,
            bytes: body.len(),
        }
    }

    /// Takes a message of at most `limit` bytes that has arrived with its body.
    pub(super) fn take_short(
        &mut self,
        pattern: Pattern,
        limit: usize,
        step: &mut Step<'_, Self>,
    ) -> Option<Outcome> {
        let is_whole = |message: &Incoming<Place>| {
            matches!(message.body, Place::Here(_)) && message.envelope.bytes <= limit
        };
        let Incoming { envelope, body } = self.matching.take(pattern, is_whole)?;
        let Place::Here(body) = body else {
            unreachable!("as required above");
        };
        self.return_room(&envelope, step);
        Some(received(&envelope, body, None))
    }
}
