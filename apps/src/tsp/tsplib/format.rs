//! The weights of a matrix that are in a file, and their order.

/// The weights of a matrix that are written, row by row. The matrix is symmetric: its columns are
/// its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Full,
    Upper,
    Lower,
    UpperDiagonal,
    LowerDiagonal,
}

impl Format {
    pub(super) const NAMES: [(&'static str, Self); 9] = [
        ("FULL_MATRIX", Self::Full),
        ("UPPER_ROW", Self::Upper),
        ("LOWER_ROW", Self::Lower),
        ("UPPER_DIAG_ROW", Self::UpperDiagonal),
        ("LOWER_DIAG_ROW", Self::LowerDiagonal),
        ("UPPER_COL", Self::Lower),
        ("LOWER_COL", Self::Upper),
        ("UPPER_DIAG_COL", Self::LowerDiagonal),
        ("LOWER_DIAG_COL", Self::UpperDiagonal),
    ];

    pub(super) fn columns(self, row: usize, cities: usize) -> std::ops::Range<usize> {
        match self {
            Self::Full => 0..cities,
            Self::Upper => row + 1..cities,
            Self::Lower => 0..row,
            Self::UpperDiagonal => row..cities,
            Self::LowerDiagonal => 0..row + 1,
        }
    }
}
