//! Why something ended early.

/// Why a computation ended before all work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A bag found what was looked for.
    Found,
    /// A bag saw no sense in going on.
    GivenUp,
    /// The time was up.
    Deadline,
    /// Somebody outside had enough.
    Interrupted,
}

impl Reason {
    /// All there are.
    pub const ALL: [Self; 4] = [
        Self::Found,
        Self::GivenUp,
        Self::Deadline,
        Self::Interrupted,
    ];

    /// The reason in tables and data.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::GivenUp => "given up",
            Self::Deadline => "deadline",
            Self::Interrupted => "interrupted",
        }
    }
}
