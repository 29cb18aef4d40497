//! Observation of workers, and its files.
#![forbid(unsafe_code)]

#[cfg(feature = "story")]
pub mod story;
pub mod watch;
