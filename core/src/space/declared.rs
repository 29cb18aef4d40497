//! The reads of a key that a program declares.

/// The declared reads of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Declared {
    /// Those of this rank.
    pub here: u32,
    /// Those of all ranks.
    pub total: u32,
}
