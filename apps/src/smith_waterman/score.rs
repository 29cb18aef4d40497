//! Scores of alignments, and the best one of a tile.

use serde::{Deserialize, Serialize};

/// The contributions of letters to the score of an alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores {
    /// Two equal letters.
    pub matched: i32,
    /// Two different ones, at most 0.
    pub mismatched: i32,
    /// A letter of one sequence alone, at most 0.
    pub gap: i32,
}

impl Default for Scores {
    fn default() -> Self {
        Self {
            matched: 2,
            mismatched: -1,
            gap: -1,
        }
    }
}

/// The best alignment of all that end in some part of the table. Of several with the same score it
/// is the one that ends first in the first sequence, and of these the one that ends first in the
/// second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Best {
    /// Its score; 0 without two equal letters.
    pub score: i32,
    /// The number of its last letter in the first sequence, from 1.
    pub row: u64,
    /// The number of its last letter in the second one.
    pub column: u64,
}

impl Best {
    /// Returns the better one. It does not depend on their order.
    pub fn or(self, other: Self) -> Self {
        let key = |best: &Self| (-best.score, best.row, best.column);
        match key(&other) < key(&self) {
            true => other,
            false => self,
        }
    }

    /// Returns the same alignment in a table in which its part begins after that many rows and
    /// columns.
    pub(super) fn moved(self, rows: usize, columns: usize) -> Self {
        match self.score {
            // No letter is aligned.
            0 => self,
            score => Self {
                score,
                row: self.row + rows as u64,
                column: self.column + columns as u64,
            },
        }
    }
}

/// Scores the tile of the letters `a` by `b`. `row` has the scores above it and then those of its
/// last row; `left` the score in its upper left corner, above which is nothing of it, and those to
/// its left. Returns the same of its right neighbour, and its best alignment, numbered within the
/// tile.
pub(super) fn tile(
    a: &[u8],
    b: &[u8],
    scores: Scores,
    row: &mut [i32],
    left: &[i32],
) -> (Vec<i32>, Best) {
    let mut right = Vec::with_capacity(left.len());
    right.push(row.last().copied().unwrap_or(0));
    let mut best = Best::default();
    for (number, (x, edge)) in (1..).zip(a.iter().zip(left.windows(2))) {
        let (mut diagonal, mut before, mut most) = (edge[0], edge[1], 0);
        for (y, score) in b.iter().zip(row.iter_mut()) {
            let pair = match x == y {
                true => scores.matched,
                false => scores.mismatched,
            };
            // Of what the next column waits for, only the last two operations follow from this one.
            let other = (diagonal + pair).max(*score + scores.gap).max(0);
            diagonal = *score;
            before = other.max(before + scores.gap);
            *score = before;
            most = most.max(before);
        }
        right.push(before);
        if most > best.score {
            let column = row.iter().position(|score| *score == most);
            best = Best {
                score: most,
                row: number,
                column: column.map_or(0, |column| column as u64 + 1),
            };
        }
    }
    (right, best)
}

/// Returns the best alignment of `a` and `b`, computed on the calling thread with the memory of a
/// row.
pub fn sequential(a: &[u8], b: &[u8], scores: Scores) -> Best {
    let mut row = vec![0; b.len() + 1];
    let mut best = Best::default();
    for (i, x) in (1..).zip(a) {
        let mut diagonal = 0;
        for (j, y) in b.iter().enumerate() {
            let pair = if x == y {
                scores.matched
            } else {
                scores.mismatched
            };
            let aligned = diagonal + pair;
            diagonal = row[j + 1];
            let skipped = row[j].max(row[j + 1]) + scores.gap;
            let score = aligned.max(skipped).max(0);
            row[j + 1] = score;
            if score > best.score {
                let column = j as u64 + 1;
                best = Best {
                    score,
                    row: i,
                    column,
                };
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::sequence::draw;
    use super::*;

    /// Computes all scores, as the recurrence is written.
    fn table(a: &[u8], b: &[u8], scores: Scores) -> Vec<Vec<i32>> {
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 1..=a.len() {
            for j in 1..=b.len() {
                let is_same = a[i - 1] == b[j - 1];
                let pair = [scores.mismatched, scores.matched][usize::from(is_same)];
                let gap = table[i - 1][j].max(table[i][j - 1]) + scores.gap;
                table[i][j] = 0.max(table[i - 1][j - 1] + pair).max(gap);
            }
        }
        table
    }

    fn best(table: &[Vec<i32>]) -> Best {
        let mut best = Best::default();
        for (row, scores) in (0..).zip(table) {
            for (column, &score) in (0..).zip(scores) {
                best = best.or(Best { score, row, column });
            }
        }
        match best.score {
            0 => Best::default(),
            _ => best,
        }
    }

    const SCORES: [Scores; 3] = [
        Scores {
            matched: 2,
            mismatched: -1,
            gap: -1,
        },
        Scores {
            matched: 5,
            mismatched: -4,
            gap: -7,
        },
        Scores {
            matched: 1,
            mismatched: 0,
            gap: 0,
        },
    ];

    #[test]
    fn a_row_at_a_time_finds_what_the_table_has() {
        for (lengths, seed) in [(0, 0), (0, 5), (1, 1), (7, 30), (64, 41)]
            .into_iter()
            .zip(1..)
        {
            let (a, b) = draw(lengths.0, lengths.1, seed);
            for scores in SCORES {
                let expected = best(&table(&a, &b, scores));
                assert_eq!(sequential(&a, &b, scores), expected, "{lengths:?}");
            }
        }
        let known = sequential(b"TGTTACGG", b"GGTTGACTA", SCORES_OF_WIKIPEDIA);
        assert_eq!((known.score, known.row, known.column), (13, 6, 7));
    }

    /// The example of the encyclopedia's page.
    const SCORES_OF_WIKIPEDIA: Scores = Scores {
        matched: 3,
        mismatched: -3,
        gap: -2,
    };

    #[test]
    fn a_tile_has_the_scores_of_the_table() {
        let (a, b) = draw(40, 33, 9);
        for scores in SCORES {
            let table = table(&a, &b, scores);
            for (rows, columns) in [
                (0..40, 0..33),
                (3..17, 8..9),
                (39..40, 1..33),
                (5..25, 7..30),
            ] {
                let left = (rows.start..=rows.end).map(|i| table[i][columns.start]);
                let left: Vec<_> = left.collect();
                let mut row = table[rows.start][columns.start + 1..=columns.end].to_vec();
                let (a, b) = (&a[rows.clone()], &b[columns.clone()]);
                let (right, found) = tile(a, b, scores, &mut row, &left);
                assert_eq!(row, table[rows.end][columns.start + 1..=columns.end]);
                let expected: Vec<_> = (rows.start..=rows.end)
                    .map(|i| table[i][columns.end])
                    .collect();
                assert_eq!(right, expected);
                let inner = table[rows.start + 1..=rows.end].iter();
                let inner: Vec<_> = inner
                    .map(|row| row[columns.start + 1..=columns.end].to_vec())
                    .collect();
                let expected = best(&inner).moved(1, 1);
                assert_eq!(found, expected);
            }
        }
    }
}
