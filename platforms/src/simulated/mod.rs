//! Machines that are simulated.
#![forbid(unsafe_code)]

pub mod costs;
pub mod machines;
