//! Heat on a plate whose upper edge is hot, until no temperature changes by much: Jacobi's method
//! with a test of convergence in each step.
//!
//! The step of a cell is that of [`stencil`](crate::stencil), which has no barrier. Here a step
//! ends for all tasks of all ranks together, so this is the test of phasers and accumulators of a
//! team.
//!
//! # Algorithm
//! A rank has a block of rows, in [`Bands`](tautline::phaser::Bands), one for each worker, with a
//! task each. A task computes a step of its band, contributes its largest change to an accumulator
//! of the team, and signals. The first and the last task of a rank then exchange border rows with
//! the neighbour ranks while the changes of all ranks are combined. After the wait each task has
//! the largest change of the plate, so either all tasks continue or all end.
//!
//! # Proved
//! The same bits as [`sequential`], which has neither bands nor ranks, for all shapes; a plate of
//! one cell and one of four against values computed by hand (`apps/tests/teams.rs`).
#![forbid(unsafe_code)]

mod bands;
mod plate;

pub use bands::{Measured, across};
pub use plate::{HotPlate, Settled, sequential};
