//! The bounds of the rows.

/// The limit of our figure.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    /// At most that of plain MPI and this.
    Plus(f64),
    /// At least this share of that of plain MPI.
    Least(f64),
    /// Below that of plain MPI.
    Below,
    /// At most this.
    Most(f64),
    None,
}

impl Bound {
    /// The figure that is judged: a difference, a ratio, or ours.
    pub(crate) fn judged(self, plain: f64, ours: f64) -> f64 {
        match self {
            Self::Plus(_) => ours - plain,
            Self::Least(_) | Self::Below | Self::None => ours / plain,
            Self::Most(_) => ours,
        }
    }

    /// Whether that figure is within the bound; `None` for rows without a bound.
    pub(crate) fn holds(self, judged: f64) -> Option<bool> {
        match self {
            Self::Plus(most) | Self::Most(most) => Some(judged <= most),
            Self::Least(least) => Some(judged >= least),
            Self::Below => Some(judged < 1.0),
            Self::None => None,
        }
    }

    /// The bound as the table has it.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Plus(most) => format!("MPI + {most}"),
            Self::Least(1.0) => "above MPI".into(),
            Self::Least(least) => format!("{least} of MPI"),
            Self::Below => "below MPI".into(),
            Self::Most(most) => format!("{most}"),
            Self::None => "none".into(),
        }
    }
}

/// Rows with plain MPI beside ours, as the programs name them, and the bounds with one thread a
/// rank and with several.
pub(crate) const PAIRS: [(&str, Bound, Bound); 10] = [
    ("round trip of 8 bytes, us", Bound::Plus(0.1), Bound::Below),
    ("barrier, us", Bound::Plus(0.1), Bound::None),
    ("all-reduce of 8 bytes, us", Bound::Plus(0.1), Bound::None),
    ("1 MiB one way, GB/s", Bound::Least(0.95), Bound::None),
    ("8 bytes one way, million/s", Bound::None, Bound::Least(1.0)),
    ("barrier of the library, us", Bound::Plus(0.1), Bound::None),
    (
        "all-reduce of the library, us",
        Bound::Plus(0.1),
        Bound::None,
    ),
    (
        "the same with a dedicated thread",
        Bound::Most(1.1),
        Bound::None,
    ),
    (
        "work and messages at once, by the longer of both",
        Bound::Most(1.1),
        Bound::None,
    ),
    (
        "processor time of a rank in a barrier, of a core",
        Bound::Most(0.01),
        Bound::None,
    ),
];

/// The bound of a row.
pub(crate) fn bound(name: &str, threads: usize) -> Bound {
    let found = PAIRS.iter().find(|pair| pair.0 == name);
    found.map_or(
        Bound::None,
        |(_, one, several)| if threads == 1 { *one } else { *several },
    )
}

/// The share of the sequential program on all processors that ours has to reach.
pub(crate) const EFFICIENCY: f64 = 0.95;
/// No search is faster than sequential programs on its processors: beyond this share, these ran at
/// another clock, or other programs disturbed them.
pub(crate) const NOISE: f64 = 1.02;
/// The multiple of the rate of a published MPI program that ours has to reach.
pub(crate) const PUBLISHED: f64 = 4.0;
