//! RandomAccess of the HPC Challenge, measured in giga-updates per second (GUPS): exclusive-or of
//! random numbers into random words of a table that is distributed over the ranks.
//!
//! Nothing is local and each update is a few bytes, so this is the test of short active messages:
//! their rate in batches, and the detection of the end of all.
//!
//! # Algorithm
//! The [stream](Stream) of HPCC: `x ← 2x`, modulo the primitive polynomial `x⁶⁴ + x² + x + 1`
//! (`POLY` is 7), from 1, whose position can be found by doubling (`HPCC_starts`). Ranks have
//! blocks of the table and of the stream. In a teamed finish, the tasks of a rank update its own
//! words and push the other values into batches for their owners. A word is updated by atomic
//! operations, so no update is lost: HPCC tolerates that up to 1 % of the words differ. Each of
//! them waits for its word, which most caches lack; so 16 words are loaded together, then updated.
//!
//! The verification is HPCC's: the stream is applied again, which takes all updates back, and words
//! that do not have their initial value, their index, are counted.
//!
//! HPCC permits a process to hold back 1024 updates. Here a task holds up to 4 KiB of them for each
//! other rank, which is more from four ranks on, or with several workers.
//!
//! # Proved
//! The table against a plain loop, for all shapes; the stream against its definition, step by step
//! (`apps/tests/teams.rs`).
#![forbid(unsafe_code)]

mod stream;
mod table;

pub use stream::Stream;
pub use table::{Measured, Table, Updated, across, sequential};
