//! Serving the requests of other processes on a thread that is no worker.

use super::{Envelope, Lender, ProtocolState};
use crate::glb::{Actions, Bag, Message, Refusal, Tally};
use crate::id::PlaceId;
use crate::lifeline::Reserve;
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
        send: impl FnMut(PlaceId, Message<B>),
    ) -> Result<(), Refusal> {
        self.count_request();
        let mut state = self.protocol.lock(relax);
        let ProtocolState {
            protocol, tally, ..
        } = &mut *state;
        let mut out = Lending {
            inter: &self.inter,
            tally,
            relax,
            send,
        };
        let served = protocol.on(from, Message::Request { lifeline }, &mut out);
        self.publish(protocol);
        served
    }
}

/// The actions of the protocol while it serves a request without a worker.
struct Lending<'a, B, R, S> {
    inter: &'a Reserve<B>,
    tally: &'a mut Tally,
    relax: &'a R,
    send: S,
}

impl<B: Bag, R: Relax, S: FnMut(PlaceId, Message<B>)> Actions<B> for Lending<'_, B, R, S> {
    fn send(&mut self, to: PlaceId, message: Message<B>) {
        self.tally.on_send(&message);
        (self.send)(to, message);
    }

    fn steal(&mut self) -> Option<B> {
        self.inter.take(|_| None, self.relax)
    }

    fn work(&mut self, _: B) {
        unreachable!("a request brings no loot")
    }

    fn ration(&mut self, _: usize) -> Option<B> {
        unreachable!("a request is no surplus")
    }

    fn pick(&mut self, _: usize) -> usize {
        unreachable!("a request starts no search")
    }

    fn improve(&mut self, _: u128) {
        unreachable!("a request has no bound")
    }

    fn done(&mut self) {
        unreachable!("a request ends nothing")
    }
}
