//! Processes of one machine as ranks of a program: a [link](tautline_core::port::Link) of rings in
//! shared memory, and the launcher that starts them.
//!
//! | part | what it does |
//! |---|---|
//! | [`Launch`] | starts a program several times, as as many ranks, and watches them until all have ended |
//! | [`join()`] | connects the calling process to the ranks that were launched with it |
//! | [`links`] | connects ranks inside one process over a segment, for tests |
//!
//! # Algorithm
//! The launcher creates a segment of memory without a name, which its children inherit; it exists
//! while one of these processes does. Each pair of ranks has a ring in each direction, and
//! each rank a bell to sleep on. The launcher is the parent of all ranks: it waits for their end,
//! states it in the segment, and rings all bells, so that a rank that is killed is lost for the
//! others at once. When the launcher ends, however it does, the system kills the ranks. A program
//! that a rank starts has its variables, but neither the segment nor a place in the launch.
//!
//! A heartbeat would be a time-out: too long for a user, too short for a busy machine (decision 37
//! in `docs/decisions`).
//!
//! Other systems than Linux are refused with an error: there, a program runs as a single process.

mod descent;
#[cfg(target_os = "linux")]
mod descriptor;
mod error;
mod join;
mod launch;
#[cfg(target_os = "linux")]
mod segment;
mod variables;

pub use descent::{is_started_by_rank, set_joined};
pub use error::Error;
pub use join::join;
pub use launch::{End, Ended, Launch, Output};
#[cfg(target_os = "linux")]
pub use segment::{SegmentLink, links};
pub use variables::{RANK_VARIABLE, RANKS_VARIABLE, SEGMENT_VARIABLE};
