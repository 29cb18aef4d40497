//! Errors of the library.

use std::borrow::Cow;
use std::fmt;

/// A computation that could not be started, or that ended without a result over ranks. Within one
/// process a computation that was started ends with its result or with the panic of one of its
/// tasks.
#[non_exhaustive]
pub enum Error {
    /// A setting outside its bounds.
    Setting {
        /// The setting, named as the builder's method.
        setting: &'static str,
        /// The requested value.
        value: String,
        /// The allowed values, as a sentence.
        allowed: Cow<'static, str>,
    },
    /// Threads that the system refused.
    Threads {
        /// The required number.
        threads: usize,
        /// The system's error.
        source: std::io::Error,
    },
    /// A misuse of a phaser.
    Phaser(tautline_core::phaser::PhaserError),
    /// A tree of memories that cannot be built.
    Hierarchy(tautline_core::hierarchy::Fault),
    /// A computation over ranks that ended without a result. Feature `serde`.
    #[cfg(feature = "serde")]
    Rank(crate::ranks::error::RankError),
    /// The error of one of the library's modules: a file, the parameters of a tree, a board, a
    /// graph, a list.
    Invalid(Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting {
                setting,
                value,
                allowed,
            } => write!(f, "{setting} {value}: {allowed}"),
            Self::Threads { threads, source } => {
                let plural = if *threads == 1 { "" } else { "s" };
                write!(f, "cannot start {threads} thread{plural}: {source}")
            }
            Self::Phaser(error) => error.fmt(f),
            Self::Hierarchy(fault) => fault.fmt(f),
            #[cfg(feature = "serde")]
            Self::Rank(error) => error.fmt(f),
            Self::Invalid(refusal) => refusal.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    /// Returns the cause of what is displayed: an error that is displayed unchanged has its own
    /// cause.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Setting { .. } => None,
            Self::Threads { source, .. } => Some(source),
            Self::Phaser(error) => error.source(),
            Self::Hierarchy(fault) => fault.source(),
            #[cfg(feature = "serde")]
            Self::Rank(error) => error.source(),
            Self::Invalid(refusal) => refusal.source(),
        }
    }
}

impl From<tautline_core::phaser::PhaserError> for Error {
    fn from(error: tautline_core::phaser::PhaserError) -> Self {
        Self::Phaser(error)
    }
}

impl From<tautline_core::hierarchy::Fault> for Error {
    fn from(fault: tautline_core::hierarchy::Fault) -> Self {
        Self::Hierarchy(fault)
    }
}

/// The message itself: it is what a `main` that returns an error prints.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Returns an error that displays as `refusal`. A program's error type converts by it, so that
    /// `?` yields [`tautline::Result`](Result).
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

/// Returns the error of a setting out of its bounds.
pub(crate) fn refuse<T>(setting: &'static str, value: impl ToString, allowed: String) -> Result<T> {
    Err(Error::Setting {
        setting,
        value: value.to_string(),
        allowed: Cow::from(allowed),
    })
}

/// The result type of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::pinning;

    /// Returns the message, once `?` has converted the error.
    fn line<T>(of: impl FnOnce() -> Result<T>) -> String {
        of().err().expect("a refusal").to_string()
    }

    #[test]
    fn every_error_of_the_library_converts() {
        #[cfg(feature = "sim")]
        assert!(
            line(|| Ok(crate::simulated::machines::find("nowhere")?))
                .starts_with("nowhere: no such")
        );
        #[cfg(feature = "describe")]
        assert!(line(|| Ok(crate::Platform::from_file("/no.xml")?)).starts_with("/no.xml: "));
        for (message, expected) in [
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
