//! Phases of a rank in a loop.
#![forbid(unsafe_code)]

/// The phase of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    New,
    Busy,
    Waiting,
    Ended,
}

impl Phase {
    /// Begins the loop.
    ///
    /// # Panics
    /// If it has begun before.
    pub(super) fn begin(&mut self) {
        assert_eq!(*self, Self::New, "a rank begins a loop once");
        *self = Self::Waiting;
    }

    /// Ends the chunk.
    ///
    /// # Panics
    /// If no chunk is being executed.
    pub(super) fn free(&mut self) {
        assert_eq!(*self, Self::Busy, "a chunk must have begun");
        *self = Self::Waiting;
    }
}
