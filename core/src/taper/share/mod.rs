//! Division of the processors among concurrent loops.
//!
//! | part | what it is |
//! |---|---|
//! | [`Demand`], [`FinishTime`] | what is left of a loop; when it would end on some processors |
//! | [`Allocator`], [`Allocation`] | processors for two loops that are to end together, or for more |
//!
//! # Algorithm
//! Lucco 1995, 003:823-866, with the definitions of spec 2.13 for what the source leaves open.

mod divide;
mod finish;

pub use divide::{Allocation, Allocator};
pub use finish::{Demand, FinishTime};
