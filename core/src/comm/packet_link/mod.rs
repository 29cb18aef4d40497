//! Transport of packets, in addition to the parcels of a link.

#[allow(unsafe_code, reason = "an unsafe function; nothing unsafe is done")]
mod native;

#[cfg(feature = "wire")]
pub use native::Number;
pub use native::{Collective, Element, Matched, Operator};

use super::matching::{News, Packet};
use super::message::Body;
use super::operation::Complete;
use crate::id::Rank;
use alloc::sync::Arc;

/// A path for the packets of communicators that a link has in addition to its parcels: bodies are
/// moved and not copied.
///
/// Each communicator has a number of its own, the same at all ranks. From one rank to another
/// packets arrive in the order in which they were sent, and none is lost or doubled while both
/// live; what a rank has sent arrives before its loss is [reported](crate::port::Link::poll). Any
/// thread may call any method; none blocks.
pub trait PacketLink: Send + Sync {
    /// Lets `recipient` take what arrives for a number, by whichever thread polls the link; first
    /// what has arrived before.
    fn open(&self, number: u32, recipient: Arc<dyn Recipient>);

    /// Ends that. Later packets are dropped.
    fn close(&self, number: u32);

    /// Sends a packet to any rank, this one included.
    fn send(&self, number: u32, to: Rank, packet: Packet);

    /// Sends the body of an offer, made of a vector. Returns it unless it is needed until it has
    /// left, which is [reported](News::Sent) then.
    fn send_body(&self, number: u32, to: Rank, offer: u64, body: Body) -> Option<Body>;

    /// Takes memory for a body of `bytes` bytes, as [`Bodies::provide`](super::Bodies::provide), by
    /// its sender and the number of its offer.
    fn provide(&self, number: u32, offer: (Rank, u64), memory: Body, bytes: usize) -> Option<Body>;

    /// Prepares collective operations that the library carries out, for a number. All ranks call
    /// it, in the same order for several numbers, before [`collective`](Self::collective).
    fn open_collectives(&self, number: u32);

    /// Starts a collective operation from the memory `own` into `into`, whose lengths are those
    /// that the operation needs; [`Broadcast`](Collective::Broadcast) uses `into` alone, which has
    /// the vector at rank 0. `done` is called with `into`, with the loss of any rank, or with
    /// [`Error::Closed`](super::Error::Closed).
    fn collective(
        &self,
        matched: Matched,
        number: u32,
        collective: Collective,
        own: Body,
        into: Body,
        done: Arc<dyn Complete>,
    );
}

/// The consumer of a communicator's packets.
pub trait Recipient: Send + Sync {
    /// Takes a packet, or learns of a body that has left. Called under locks of the link: must
    /// return soon, not call the link, and not panic.
    fn take(&self, news: News);
}
