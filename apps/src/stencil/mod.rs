//! Heat on a plate: each step replaces each cell by the mean of its four neighbours, a stencil of
//! five points.
//!
//! The work is regular and known in advance. What costs is that each step needs the border rows of
//! others, so this is the test of messages that are in flight while tasks compute.
//!
//! # Algorithm
//! Jacobi's method. A rank has a block of rows, and a task for each band of rows. A task gives its
//! border rows to its neighbours, computes the rows that need none of theirs, and waits for the
//! rows of the neighbours: in a cell of data flow if these are bands of the same rank, in a request
//! otherwise, which is such a cell. No step has a barrier: a band may be a step ahead of its
//! neighbour, and two of the next one.
//!
//! The cells between two bands are a stream, each with a row and the next cell, so one that both
//! have left is freed.
//!
//! An error of a message goes the same way as the rows do: a band that cannot continue puts it in
//! its cells, and its neighbours end with it.
//!
//! # Proved
//! The same bits as [`sequential`], whose kernel is compared with one that indexes the plate,
//! however the rows are divided (`apps/tests/messages.rs`).
#![forbid(unsafe_code)]

mod band;
mod plate;

pub use band::across;
pub(crate) use plate::relax;
pub use plate::{Heat, Part, Plate, sequential};
