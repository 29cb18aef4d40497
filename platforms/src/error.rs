//! What can go wrong before a computation starts.

use std::borrow::Cow;

/// A computation that could not be started. Once started it ends with its result or with the panic of
/// one of its tasks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting outside its bounds.
    #[error("{setting} {value}: {allowed}")]
    Setting {
        /// The setting, named as the builder's method.
        setting: &'static str,
        /// What was asked for.
        value: String,
        /// What is allowed, as a sentence.
        allowed: Cow<'static, str>,
    },
    /// The system would not start so many threads.
    #[error("cannot start {threads} threads: {source}")]
    Threads {
        /// How many were needed.
        threads: usize,
        /// What the system said.
        source: std::io::Error,
    },
    /// A misuse of a phaser.
    #[error(transparent)]
    Phaser(#[from] tautline_core::phaser::PhaserError),
}

/// What the facade's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;
