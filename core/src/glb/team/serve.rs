//! Serving the requests of other processes on a thread that is no worker.

use super::{Envelope, Lender, ProtocolState};
use crate::glb::{Bag, Effect, Event, Message, Refusal};
use crate::id::PlaceId;
use crate::machine::{Action, Machine, drive};
use crate::port::Relax;

impl<B: Bag> Lender<B> {
    /// Takes a request of a place that is `elsewhere` and has not been served.
    pub(crate) fn pop_request(
        &self,
        elsewhere: impl Fn(PlaceId) -> bool,
        relax: &impl Relax,
    ) -> Option<Envelope<B>> {
        self.inbox.pop_newest(relax, |(from, message)| {
            matches!(message, Message::Request { .. }) && elsewhere(*from)
        })
    }

    /// Whether messages wait; a hint.
    pub(crate) fn has_mail(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Returns a request that was not served.
    pub(crate) fn put_back(&self, from: PlaceId, request: Message<B>, relax: &impl Relax) {
        self.inbox.push((from, request), relax);
    }

    /// Serves a request on a thread that is no worker; `send` sends the answer.
    ///
    /// # Errors
    /// If no correct place sends it; nothing has changed then.
    pub(crate) fn serve(
        &self,
        from: PlaceId,
        lifeline: bool,
        relax: &impl Relax,
        mut send: impl FnMut(PlaceId, Message<B>),
    ) -> Result<(), Refusal> {
        self.count_request();
        let mut state = self.protocol.lock(relax);
        let ProtocolState {
            protocol,
            tally,
            victims,
        } = &mut *state;
        let act = |action| match action {
            Action::Send(to, message) => {
                tally.on_send(&message);
                send(to, message);
                None
            }
            Action::Effect(Effect::Take(demand)) => {
                Some(Event::Taken(demand, self.inter.take(|_| None, relax)))
            }
            Action::Effect(Effect::Work(_) | Effect::Improve(_) | Effect::Done) => {
                unreachable!("a request has no other effect")
            }
        };
        let request = Message::Request { lifeline };
        let served = drive(protocol, victims, act, |protocol, step| {
            protocol.receive(from, request, step)
        });
        self.publish(protocol);
        served
    }
}
