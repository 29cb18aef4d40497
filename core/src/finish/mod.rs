//! Termination.
#![forbid(unsafe_code)]
