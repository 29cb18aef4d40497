//! Reasons for the early end of a computation.

/// The reason why a computation was stopped before all work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A bag found the result.
    Found,
    /// A bag abandoned the search.
    GivenUp,
    /// The deadline passed.
    Deadline,
    /// The user or another part of the program interrupted the computation.
    Interrupted,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 4] = [
        Self::Found,
        Self::GivenUp,
        Self::Deadline,
        Self::Interrupted,
    ];

    /// Returns the name used in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::GivenUp => "given up",
            Self::Deadline => "deadline",
            Self::Interrupted => "interrupted",
        }
    }
}
