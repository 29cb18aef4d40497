//! Errors of the library.

use std::borrow::Cow;
use std::fmt;

/// A computation that could not be started, or that ended without a result over ranks. Within one process a computation that was
/// started ends with its result or with the panic of one of its tasks.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting outside its bounds.
    #[error("{setting} {value}: {allowed}")]
    Setting {
        /// The setting, named as the builder's method.
        setting: &'static str,
        /// The requested value.
        value: String,
        /// What is allowed, as a sentence.
        allowed: Cow<'static, str>,
    },
    /// Threads that the system refused.
    #[error("cannot start {threads} threads: {source}")]
    Threads {
        /// The required number.
        threads: usize,
        /// The system's error.
        source: std::io::Error,
    },
    /// A misuse of a phaser.
    #[error(transparent)]
    Phaser(#[from] tautline_core::phaser::PhaserError),
    /// A tree of memories that cannot be built.
    #[error(transparent)]
    Hierarchy(#[from] tautline_core::hierarchy::Fault),
    /// A computation over ranks that ended without a result.
    #[error(transparent)]
    Ranks(tautline_core::task::Ended),
    /// The error of one of the library's modules: a file, the parameters of a tree, a board, a graph, a list.
    #[error(transparent)]
    Invalid(Box<dyn std::error::Error + Send + Sync>),
}

/// The message itself: it is what a `main` that returns an error prints.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Returns an error that displays as `refusal`. A program's error type converts by it, so that `?` yields
    /// [`tautline::Result`](Result).
    ///
    /// ```
    /// use std::num::ParseIntError;
    ///
    /// fn workers(text: &str) -> tautline::Result<u32> {
    ///     text.parse().map_err(|error: ParseIntError| tautline::Error::invalid(error))
    /// }
    /// assert_eq!(workers("many").unwrap_err().to_string(), "invalid digit found in string");
    /// ```
    pub fn invalid(refusal: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Invalid(Box::new(refusal))
    }
}

/// The result type of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the message, once `?` has converted the error.
    fn line<T>(of: impl FnOnce() -> Result<T>) -> String {
        of().err().expect("a refusal").to_string()
    }

    #[test]
    fn every_error_of_the_library_converts() {
        use crate::{Platform, machines, pinning};
        for (message, expected) in [
            (line(|| Ok(machines::find("nowhere")?)), "nowhere: no such"),
            (line(|| Ok(Platform::from_file("/no.xml")?)), "/no.xml: "),
            (
                line(|| Ok("{".parse::<pinning::PlaceList>()?)),
                "at character 2",
            ),
            (line(|| Ok(crate::hierarchy::Hierarchy::single(0)?)), "0 "),
        ] {
            assert!(message.contains(expected), "{message}");
        }
        fn converts<E: Into<Error>>() {}
        converts::<tautline_core::phaser::PhaserError>();
    }
}
