//! Loot between places.

use crate::id::PlaceId;

/// Loot between two places of a balanced computation, as a worker observes it that sends or
/// receives it.
///
/// At most one answer and one other loot are on their way from one place to another at a time, so
/// whichever is received was the last of its kind to be sent (see [`lifeline`](crate::lifeline)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Passage {
    /// The place that gives it.
    pub from: PlaceId,
    /// The place that gets it.
    pub to: PlaceId,
    /// Whether it answers a request at once. Otherwise it goes to a thief that was recorded
    /// earlier.
    pub is_answer: bool,
    /// Whether the worker sends it. Otherwise it has received it.
    pub is_sent: bool,
}
