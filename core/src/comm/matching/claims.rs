//! Messages whose body stays with their sender until it is claimed.

use super::messenger::Messenger;
use super::offers::Offer;
use super::packet::{Packet, Unexpected};
use crate::comm::message::{Body, Envelope};
use crate::comm::operation::Effect;
use crate::comm::outcome::{done, received};
use crate::id::Rank;
use crate::machine::Step;

impl<K: Copy + Eq> Messenger<K> {
    /// Offers a message.
    pub(super) fn offer(
        &mut self,
        key: K,
        to: Rank,
        envelope: Envelope,
        body: Body,
        step: &mut Step<'_, Self>,
    ) {
        let Envelope {
            comm, tag, bytes, ..
        } = envelope;
        let offer = self.offers.add(Offer {
            key,
            to,
            envelope,
            body,
        });
        let bytes = bytes as u64;
        step.send(
            to,
            Packet::Offer {
                comm,
                tag,
                bytes,
                offer,
            },
        );
    }

    /// The receiver of an offer has answered.
    pub(super) fn answered(
        &mut self,
        from: Rank,
        number: u64,
        is_wanted: bool,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Unexpected> {
        let offer = self.offers.answered(from, number).ok_or(Unexpected)?;
        let Offer {
            key,
            envelope,
            body,
            ..
        } = offer;
        let is_vector = body.is_vector();
        let back = match is_wanted {
            false if is_vector => body,
            false => Body::default(),
            true => match send_body(from, number, body, step) {
                Some(body) => body,
                None => {
                    self.offers.leaves(number, key, from, envelope);
                    return Ok(());
                }
            },
        };
        step.effect(Effect::Ended(key, Ok(done(&envelope, back))));
        Ok(())
    }

    /// The body that this rank has claimed has come.
    pub(super) fn fetched(
        &mut self,
        from: Rank,
        offer: u64,
        body: Body,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Unexpected> {
        let claimed = self.claimed.get(&(from, offer));
        if !claimed.is_some_and(|claimed| claimed.accepts(&body)) {
            // The receive ends with the loss of the sender.
            return Err(Unexpected);
        }
        let claimed = self.claimed.remove(&(from, offer));
        let claimed = claimed.expect("found above");
        let outcome = received(&claimed.envelope, body, claimed.into);
        step.effect(Effect::Ended(claimed.key, outcome));
        Ok(())
    }

    /// Answers an offer.
    pub(super) fn claim(from: Rank, offer: u64, is_wanted: bool, step: &mut Step<'_, Self>) {
        step.send(from, Packet::Claim { offer, is_wanted });
    }
}

/// Sends a body that was claimed. Returns it if it is a vector, unless the link keeps it until it
/// has left.
fn send_body<K: Copy + Eq>(
    to: Rank,
    offer: u64,
    body: Body,
    step: &mut Step<'_, Messenger<K>>,
) -> Option<Body> {
    let (body, back) = match body.is_vector() {
        false => (body, Body::default()),
        true => match step.calls().send(to, offer, body) {
            Ok(back) => return back,
            Err(body) => (body.to_vec().into(), body),
        },
    };
    step.send(to, Packet::Body { offer, body });
    Some(back)
}
