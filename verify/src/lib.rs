//! Filled in below.

pub mod explore;
