//! Services of all ranks, over a channel.

use super::{Calls, Carrier, Handler, Kind, Operation, Service};
use crate::id::{PlaceId, Rank};
use crate::machine::{Machine, Peer, Tolerance};
use crate::port::Link;
use crate::wire::{Channel, Error, Exchange, Fault, Portable, Receiver, unpack};
use alloc::sync::Arc;
use core::panic::Location;

/// Carries messages over a channel on which each rank is a peer.
#[derive(Debug)]
pub struct Ranks<M: Portable + 'static> {
    here: PlaceId,
    channel: Channel<M>,
}

/// A machine whose messages cross ranks, and which any thread may step. Implemented for all of
/// them.
pub trait WireMachine:
    Machine<Message: Portable + 'static, Event: Send, Effect: Send, Calls: Send, Refusal: Send>
    + Send
    + 'static
{
}

impl<M> WireMachine for M where
    M: Machine<Message: Portable + 'static, Event: Send, Effect: Send, Calls: Send, Refusal: Send>
        + Send
        + 'static
{
}

impl<M: WireMachine> Carrier<M> for Ranks<M::Message> {
    fn send(&mut self, to: M::Peer, message: M::Message) {
        self.channel.send(self.here, PlaceId(to.number()), message);
    }
}

/// A handler that learns of the end of the channel.
pub trait WireHandler<M: Machine, C>: Handler<M, C> {
    /// Processes that the channels of this rank have ended with `error`, after which the service is
    /// [stopped](Service::stop). May be called several times, and while another thread carries out
    /// an effect.
    fn failed(&self, error: &Error, service: &Service<M, C, Self>);
}

impl<M, H> Service<M, Ranks<M::Message>, H>
where
    M: WireMachine,
    H: WireHandler<M, Ranks<M::Message>> + 'static,
{
    /// [Connects](Self::connect) this rank's part in a protocol with those of the other ranks, by
    /// the next channel of `exchange`: every rank makes this call, at `site`. The service lives
    /// until it is [stopped](Self::stop).
    pub fn open<L: Link>(
        self: &Arc<Self>,
        exchange: &Exchange<L>,
        site: &Location<'_>,
        kind: &'static str,
    ) {
        let channel = exchange.open_at(site, kind, 1, Inlet(Arc::clone(self)));
        let here = PlaceId(exchange.here().0);
        self.connect(Ranks { here, channel });
    }
}

impl<M: WireMachine<Peer = Rank>> Carrier<M> for Operation<M::Message> {
    fn send(&mut self, to: Rank, message: M::Message) {
        Operation::send(self, to, &message);
    }
}

impl<M, H> Service<M, Operation<M::Message>, H>
where
    M: WireMachine<Peer = Rank>,
    H: WireHandler<M, Operation<M::Message>> + 'static,
{
    /// [Connects](Self::connect) this rank's part in a protocol with those of the other ranks of a
    /// group, as the next operation of `calls`, which every rank of the group begins at `site`. The
    /// service lives until it is [stopped](Self::stop).
    pub fn begin(
        self: &Arc<Self>,
        calls: &Calls,
        site: &'static Location<'static>,
        kind: impl Into<Kind>,
    ) {
        let inlet = Arc::new(Inlet(Arc::clone(self)));
        self.connect(calls.begin(site, kind, inlet));
    }
}

/// A service, as the exchange uses it.
struct Inlet<S>(Arc<S>);

impl<M, C, H> Receiver for Inlet<Service<M, C, H>>
where
    M: WireMachine,
    C: Carrier<M>,
    H: WireHandler<M, C>,
{
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Fault> {
        self.0.receive(M::Peer::numbered(from.0), unpack(body)?);
        Ok(())
    }

    fn fail(&self, error: &Error) {
        self.0.handler().failed(error, &self.0);
        // Else the service and its channel would own each other for ever.
        drop(self.0.stop());
    }

    fn lost(&self, error: &Error) -> bool {
        let lost = M::Peer::numbered(error.peer.0);
        self.0.lost(lost) == Tolerance::Tolerated
    }
}
