//! The best local alignment of two sequences: the parts of them that are most alike, with gaps.
//!
//! The work is known in advance, but each part of it needs three others: this is the test of tasks
//! that wait for values, of which some come from other ranks.
//!
//! # Algorithm
//! Smith, Waterman 1981, with a score for each letter of a gap. The table of scores, a row for each
//! letter of the first sequence and a column for each of the second, is cut into tiles. A tile
//! needs the bottom row of the tile above and the right column of the tile to its left, with the
//! score in its corner, and is a task that begins when both are there: in cells of data flow, of
//! which some are requests of messages (Chatterjee 2013). Columns of tiles are distributed over the
//! ranks, in blocks or cyclically, so only right columns are sent, and a rank begins as soon as the
//! one before it has its first tile.
//!
//! A row is moved down a column of tiles, not copied, so what is kept is in proportion to the
//! lengths of the sequences and, if columns are distributed cyclically, to the number of columns.
//!
//! # Proved
//! The tiles against a table of all scores, the ranks against [`sequential`], which has one row at
//! a time (`apps/tests/messages.rs`).
#![forbid(unsafe_code)]

mod score;
mod sequence;
mod wave;

pub use score::{Best, Scores, sequential};
pub use sequence::{First, Pair, Sequence, draw, read, read_all};
pub use wave::{Distribution, Tiles, across};
