//! Bounds of the memory that channels take.

/// Bounds of the memory that the channels of a process take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the body of a message.
    pub body: usize,
    /// Bytes for a rank that the link has accepted but not sent, beyond which messages stay in
    /// their outbox.
    pub window: usize,
    /// Bytes of parcels, which have a header of 16 bytes, for a rank that has not opened their
    /// channel; and of messages of a group, which count 48 bytes and their body, for a rank that
    /// has not begun their operation.
    pub early: usize,
    /// Messages for one rank in the outbox of a channel, for
    /// [`Channel::try_send`](super::Channel::try_send).
    pub waiting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 1 << 28,
            window: 1 << 20,
            early: 1 << 16,
            waiting: 1024,
        }
    }
}
