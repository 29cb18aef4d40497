//! The end of a channel, without the type of its messages.

use super::terms::Terms;
use super::{Error, Fault, Name, Unencodable};
use crate::id::{PlaceId, Rank};
use alloc::vec::Vec;

/// An encoded message, without its body.
pub(super) struct Packed {
    pub(super) from: PlaceId,
    pub(super) to: PlaceId,
    /// Whether a further one waits for the same rank.
    pub(super) has_next: bool,
}

/// The end of a channel as the exchange uses it, without the type of its messages.
pub(super) trait AnyEnd: Send + Sync {
    fn name(&self) -> Name;
    fn terms(&self) -> &Terms;
    /// Returns the first rank from `start` on for which messages wait.
    fn waits_for(&self, start: u32) -> Option<Rank>;
    /// Takes the next message for `rank` and appends its encoding to `into`.
    fn pack_next(&self, rank: Rank, into: &mut Vec<u8>) -> Option<Result<Packed, Unencodable>>;
    /// As [`pack_next`](Self::pack_next), if the encoding has at most `room` bytes; else the
    /// message stays where it is.
    fn pack_more(&self, rank: Rank, into: &mut Vec<u8>, room: usize) -> Option<Packed>;
    /// Drops the messages for `rank`, which has left.
    fn forget(&self, rank: Rank);
    fn take(&self, from: PlaceId, to: PlaceId, body: &[u8]) -> Result<(), Fault>;
    /// Calls the receiver's method of the same name.
    fn nudge(&self) -> Result<(), Fault>;
    /// Calls the receiver's method of the same name.
    fn awaits_ends(&self) -> bool;
    /// Calls the receiver's method of the same name.
    fn left(&self, rank: Rank) -> Result<(), Fault>;
    /// Notifies the receiver that all channels have ended.
    fn fail(&self, error: &Error);
    /// Notifies the receiver of a loss; returns whether the channel tolerates it.
    fn lost(&self, error: &Error) -> bool;
    /// Whether the channel is closed and all messages have left.
    fn is_over(&self) -> bool;
}
