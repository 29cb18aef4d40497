//! Machines that are simulated.
#![forbid(unsafe_code)]

pub mod machines;
